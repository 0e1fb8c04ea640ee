"""Side-by-side measurements: each prints a table, and fails where a bound is missed for sure."""
