"""What some methods ask besides the model itself: entailment, similarity, word classes, word frequencies, facts."""
