"""Scoring with a fitted detector: a trace in, a number out, from a small JSON file. Fitting is for `analysis`."""
