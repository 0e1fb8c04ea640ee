"""The files of a run: its examples, its shards and their index, and the user's corrections."""
