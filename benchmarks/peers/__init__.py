"""Beside the tools that others made: time, memory, agreement, and what the browser is sent."""
