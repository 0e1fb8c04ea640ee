"""A run as tables, figures, and one offline page."""
