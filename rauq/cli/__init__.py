"""The command line, and what all command lines of the project share."""
