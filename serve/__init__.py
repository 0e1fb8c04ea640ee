"""The OpenAI-compatible endpoint, which gives RAUQ's numbers with its answers: `rauq serve`."""

LOG = "serve"  # the name of its logger
