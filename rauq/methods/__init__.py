"""Every uncertainty that the paper compares, one family a file; `table` lists them all."""
