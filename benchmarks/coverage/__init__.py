"""Statements that hold when they are simulated: coverage of intervals, and claims without an effect."""
