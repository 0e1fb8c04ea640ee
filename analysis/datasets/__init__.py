"""Data sets: files of the user, DataFrames, the embedded sets, facts, and the paper's sets."""
