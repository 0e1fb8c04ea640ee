"""The command line, and what the command lines of the project share."""
