"""Fitting the supervised methods that the paper compares RAUQ with."""
