"""Does a signal survive? What is left of how it ranks answers once simpler explanations are controlled."""
