"""How many documents of the corpus contain each token: the token weights of Focus for the embedded model."""

from collections.abc import Iterator, Sequence

import numpy as np
from tokenizers import Tokenizer

from rauq.methods.pair_scorers.idf import idf_of

_CHUNK = 4096  # documents that are encoded at once


def frequencies(tokenizer: Tokenizer, documents: Sequence[str]) -> np.ndarray:
    """Return the inverse document frequencies (V,) of the tokenizer's tokens, the first special token included."""
    return idf_of(_encoded(tokenizer, documents), vocab_size=tokenizer.get_vocab_size())


def _encoded(tokenizer: Tokenizer, documents: Sequence[str]) -> Iterator[list[int]]:
    for start in range(0, len(documents), _CHUNK):
        for encoding in tokenizer.encode_batch(documents[start : start + _CHUNK]):
            yield encoding.ids
