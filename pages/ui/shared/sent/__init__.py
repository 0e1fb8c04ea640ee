"""What a browser sent, as the page's own types; anything else is ignored, with one line in the log."""
