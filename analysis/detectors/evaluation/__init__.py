"""Judging supervised methods on answers that they were not fitted on."""
