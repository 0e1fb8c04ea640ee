"""Real weights for tests that random ones would pass: `make test` gets them."""

from rauq.checkpoints.named import NAMED_MODELS

SMOLLM2 = NAMED_MODELS[0].path  # where the user has it: tests have a store of their own
