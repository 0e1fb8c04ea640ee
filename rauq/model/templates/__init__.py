"""Chat templates: what they write of a conversation, and what is checked of them."""
