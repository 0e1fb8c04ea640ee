"""Measurements, kept with the commands that made them."""
