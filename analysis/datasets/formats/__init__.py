"""Files as programs write them, each kind read as a table."""
