"""Exact attention weights while a model runs: the only code of this package that touches attention."""
