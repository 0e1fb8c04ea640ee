"""Questions on plain facts, made from tables."""
