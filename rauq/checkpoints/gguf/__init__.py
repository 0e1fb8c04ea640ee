"""Models in GGUF files: what the header says, and the weights and the tokenizer as transformers takes them."""
