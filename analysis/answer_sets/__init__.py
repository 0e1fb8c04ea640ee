"""Correct vs incorrect answers of a run: computations, with their figures and sentences."""
