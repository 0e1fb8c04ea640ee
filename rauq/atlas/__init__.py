"""The embedded model: weights, tokenizer, model card, held-out prompts and the judge of their answers."""
