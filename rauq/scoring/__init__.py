"""RAUQ itself: settings, Algorithm 1, the score of an answer, and the sentences of a report."""
