"""The command line of answer sets."""
