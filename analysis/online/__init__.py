"""Scores of answers while they are written: how close they are to the final ones, and alarms by a threshold."""
