"""The recipe that makes `rauq/atlas`: corpus, tokenizer, training and evaluation, from this repository alone."""
