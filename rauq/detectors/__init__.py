"""Scoring with a fitted detector: a trace in, a number out, from a small file. Fitting is for `analysis`."""
