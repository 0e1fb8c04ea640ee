"""A language model at work: prompts and tokens, generating, reading, sampling."""
