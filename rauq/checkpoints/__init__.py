"""Models before their weights are read, and the store of dequantised weights."""
