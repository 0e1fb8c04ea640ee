"""What runs a model: what generation needs of an engine, and the two that there are."""
