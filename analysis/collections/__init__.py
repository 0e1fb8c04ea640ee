"""Several runs side by side: the tables of the paper over models and data sets."""
