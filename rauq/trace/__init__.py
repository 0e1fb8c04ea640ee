"""What one generation left behind: the trace, its file, its parts, and batches of traces. No model is needed."""
