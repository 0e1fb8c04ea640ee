"""What some methods ask besides the model: entailment, similarity, word classes, word frequencies, facts."""
