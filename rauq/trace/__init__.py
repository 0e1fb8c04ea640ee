"""The record of one generation: the trace, its file, its parts, and batches of traces. No model is needed."""
