"""RAUQ itself: settings, Algorithm 1, the score of an answer, and what a report says of it."""
