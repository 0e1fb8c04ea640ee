"""Running a language model: prompts and tokens, generating, reading, sampling."""
