"""Answers on disk, resumable."""
