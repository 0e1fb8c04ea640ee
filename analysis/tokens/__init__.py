"""Which signal of a token finds those that state something incorrect."""
