"""What some methods need besides the language model: entailment, similarity, keywords, word frequencies, facts."""
