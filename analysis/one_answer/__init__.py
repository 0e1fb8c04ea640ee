"""The figures of one answer."""
