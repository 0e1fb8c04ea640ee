"""Two answers compared."""
