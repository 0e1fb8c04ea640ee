"""An answer of random numbers, in the shape of a model of 8 billion parameters, whose text is as long as a real one."""

import numpy as np

from rauq.trace.trace import NUM_BANDS, Alternative, Trace

LAYERS, HEADS, VOCABULARY = 32, 32, 128_256
SENTENCE = 12  # tokens


def random_trace(num_tokens: int, *, seed: int = 0, num_heads: int = HEADS) -> Trace:
    """So many tokens, each with ten alternatives, after a prompt of 100."""
    rng = np.random.default_rng(seed)
    words = [f" {_word(place, int(rng.integers(1000)))}" for place in range(num_tokens)]
    ids = rng.integers(VOCABULARY, size=(num_tokens, 10))
    return Trace(
        prompt="Where?",
        model="random",
        revision="0",
        kind="base",
        chat_applied=False,
        stop_reason="length",
        layers=tuple(range(LAYERS)),
        num_layers=LAYERS,
        vocab_size=VOCABULARY,
        prompt_ids=rng.integers(VOCABULARY, size=100),
        answer_ids=ids[:, 0],
        answer_tokens=tuple(words),
        pieces=tuple(word.encode() for word in words),
        logprobs=np.log(rng.uniform(0.05, 1, num_tokens)),
        entropies=rng.uniform(0, 5, num_tokens),
        alternatives=tuple(tuple(Alternative(int(id_), f" w{id_}", -rng.uniform(0, 9)) for id_ in row) for row in ids),
        attention=rng.random((LAYERS, num_heads, num_tokens + 1, NUM_BANDS), dtype=np.float32),
    )


def _word(place: int, number: int) -> str:
    """A word of a sentence, with its capital and its full stop."""
    first, last = place % SENTENCE == 0, place % SENTENCE == SENTENCE - 1
    return f"{'Word' if first else 'word'}{number}{'.' if last else ''}"
