"""Every uncertainty that the paper compares, one family per file; `table` lists them all."""
