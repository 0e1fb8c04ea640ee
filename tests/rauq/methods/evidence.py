"""Answers and judges without a model, for tests of methods."""

import string

import numpy as np

from rauq.detectors.attention import OFFSETS
from rauq.methods.pair_scorers.judges import Facts, Judges
from rauq.trace.trace import Alternative
from tests.detectors import MADE_UP, made_up_detector, read_arrays
from tests.traces import make_trace, with_offsets

NUM_PROMPT, LAYERS, HEADS, WIDTH = 3, 6, 4, 8
_SIZES = {"num_layers": LAYERS, "num_heads": HEADS}


def make_answer(text="Oslo is it", *, ended=True, seed=0, **changes):
    """An answer of these words with every extra, ended by an end token or cut off."""
    pieces = tuple(f" {word}".encode() for word in text.split()) + ((b"<end>",) if ended else ())
    rng = np.random.default_rng(seed)
    num_tokens = len(pieces)
    probabilities = rng.uniform(0.2, 0.9, num_tokens)
    alternatives = tuple(
        (Alternative(token, piece.decode(), float(np.log(p))), Alternative(90, "x", -3.0), Alternative(91, "y", -4.0))
        for token, (piece, p) in enumerate(zip(pieces, probabilities, strict=True))
    )
    extras = {
        "max_attention": np.tril(rng.uniform(0, 1, (num_tokens, num_tokens)), -1).astype(np.float32),
        "diagonal": rng.uniform(0.01, 1, (HEADS, NUM_PROMPT + num_tokens)).astype(np.float32),
        "hidden": rng.normal(size=WIDTH).astype(np.float32),
        "focus": np.stack([rng.uniform(0, 1, num_tokens), rng.uniform(0, 3, num_tokens)], axis=1),
        "part_shares": shares_of(num_tokens, *(changes.get(name, size) for name, size in _SIZES.items()), seed=seed),
        "mean_logprob": -rng.uniform(5, 9, num_tokens).astype(np.float32),
        **read_arrays(num_tokens, seed=seed, **{name: changes[name] for name in _SIZES if name in changes}),
    }
    fields = {"stop_reason": "eos" if ended else "length", "alternatives": alternatives, "extras": extras}
    return with_offsets(make_trace(pieces, probabilities=probabilities, seed=seed, **(fields | changes)), OFFSETS)


def shares_of(num_tokens, num_layers, num_heads, *, seed):
    """Shares of attention on the first token, the answer so far, the rest of the prompt and a document."""
    shares = np.random.default_rng(seed).dirichlet(np.ones(4), (num_layers, num_heads, num_tokens))
    shares[:, :, 0, 1] = 0.0  # no answer stands before its first token
    return shares.astype(np.float32)


def same_letter(firsts, seconds):
    """A consistent judge: texts mean the same if they begin with the same letter."""
    same = np.array([first[:1] == second[:1] for first, second in zip(firsts, seconds, strict=True)], dtype=float)
    return np.stack([0.7 - 0.6 * same, np.full(len(same), 0.2), 0.1 + 0.6 * same], axis=1)


def shared_words(firsts, seconds):
    """A judge of similarity: words in common, which order does not matter to."""
    pairs = [(set(first.split()), set(second.split())) for first, second in zip(firsts, seconds, strict=True)]
    return np.array([len(a & b) / max(1, len(a | b)) for a, b in pairs])


def first_word(text):
    return [(0, len(text.split()[0].rstrip(string.punctuation)))] if text.strip() else []


def length_is_truth(question, answer):
    """A judge of P(True)."""
    return -len(answer) / (1 + len(question))


FACTS = Facts(same=lambda first, second: first[:1] == second[:1], keywords=first_word)
JUDGES = Judges(
    nli=same_letter,
    similarity=shared_words,
    keywords=first_word,
    idf=np.ones(100),
    facts=FACTS,
    detectors=tuple(map(made_up_detector, MADE_UP)),
    p_true=length_is_truth,
)
