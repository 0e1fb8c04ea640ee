"""Helpers for tests of tiny models: models with a given answer, and comparison of traces."""

from itertools import pairwise

import numpy as np
import torch
from scipy.special import log_softmax

PROMPT = "Where is it?"
END = 2  # the end token of the byte tokenizer
CONTEXT = 256


def chained(lm, answer, *, end=False):
    """Make the model answer so: each byte calls for the next one, the question mark for the first."""
    ids = [*lm.tokens.encode("?" + answer, special=False), *([END] if end else [])]
    return in_order(lm, ids, otherwise=0)


def in_order(lm, ids, *, otherwise):
    """Make each of these tokens call for the next one, and every other token for `otherwise`."""
    following = dict(pairwise(ids))
    assert len(following) == len(ids) - 1, "no token may occur twice"

    def raise_next(_module, _args, kwargs, output):
        tail = kwargs["input_ids"][:, -output.logits.shape[1] :]
        for item, place in np.ndindex(*tail.shape):
            output.logits[item, place, following.get(int(tail[item, place]), otherwise)] += 1000

    lm.model.register_forward_hook(raise_next, with_kwargs=True)
    return lm


def counted(lm):
    """The shapes of all forward passes from here on."""
    shapes = []
    lm.model.register_forward_pre_hook(
        lambda _module, _args, kwargs: shapes.append(tuple(kwargs["input_ids"].shape)), with_kwargs=True
    )
    return shapes


def raw_logprobs(lm, trace):
    """Log-probabilities (N, V) of a plain forward pass over everything, in float64."""
    ids = torch.tensor([[*trace.prompt_ids, *trace.answer_ids]])
    with torch.inference_mode():
        logits = lm.model(input_ids=ids, use_cache=False).logits[0]
    first = len(trace.prompt_ids) - 1
    return log_softmax(logits[first:-1].double().numpy(), axis=-1)


def assert_close(first, second, *, rows=None):
    """The same ids and text, and numbers within 1e-5; `rows` limits the compared rows of attention."""
    assert first.answer_ids.tolist() == second.answer_ids.tolist()
    assert (first.answer_tokens, first.pieces) == (second.answer_tokens, second.pieces)
    np.testing.assert_allclose(first.logprobs, second.logprobs, atol=1e-5)
    np.testing.assert_allclose(first.entropies, second.entropies, atol=1e-5)
    np.testing.assert_allclose(first.attention[:, :, :rows], second.attention[:, :, :rows], atol=1e-5)
