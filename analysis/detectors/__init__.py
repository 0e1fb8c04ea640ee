"""Detectors fitted on the answers of a run."""
