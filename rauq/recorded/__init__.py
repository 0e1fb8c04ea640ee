"""Recorded answers, of real models and of the embedded one, that the app opens on without a model."""
