"""One answer as files."""
