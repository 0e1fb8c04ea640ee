"""Measures of whether an answer is correct."""
