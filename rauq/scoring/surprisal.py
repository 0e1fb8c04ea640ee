"""How surprising a text is to the model that reads it: what finds errors in an answer that the model did not write.

The confidence of RAUQ, and entropy above all, is that before a token, and does not know that somebody else wrote
another. `python -m benchmarks written` compares this score with others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rauq.scoring.report import was_given
from rauq.trace.parts import span_of
from rauq.trace.trace import Trace
from rauq.trace.words import content_tokens, named_tokens, word_tokens

Unit = Literal["name or number", "word", "token"]
_MOST_CHOSEN = 1  # tokens that a person chose in an answer that the model went on with


@dataclass(frozen=True, eq=False, kw_only=True)
class Surprisal:
    """The surprisal of N answer tokens in nats, and the largest among those that are compared.

    `values` (N,): -log p; of the first token -log p minus the entropy there, which is the surprisal to be expected of
    what begins an answer. `compared` (N,): the tokens of names and numbers that are not in the question, if the answer
    has any; else of words that carry content, else of words, else all. `unit` says which. `token`: the one with the
    largest value, which is `uncertainty`: higher is less certain. Tokens outside the answer part are nan. Where a value
    is undefined, `uncertainty` is nan and `reason` says why.
    """

    values: np.ndarray
    compared: np.ndarray
    unit: Unit
    token: int | None
    uncertainty: float
    reason: str = ""

    def most_surprising(self, most: int = 3) -> tuple[int, ...]:
        """The compared tokens of the largest values, the largest first, one of each name or word."""
        found: list[int] = []
        ranked = np.argsort(-np.where(self.compared, self.values, -np.inf), kind="stable")
        for token in ranked[: int(self.compared.sum())].tolist() if self.token is not None else ():
            if len(found) < most and not any(token in range(*self.span(other)) for other in found):
                found.append(token)
        return tuple(found)

    def span(self, token: int) -> tuple[int, int]:
        """The tokens, from a first to before a last, that are compared without a gap around this one."""
        gaps = np.flatnonzero(~self.compared)
        before, after = gaps[gaps < token], gaps[gaps > token]
        return int(before[-1]) + 1 if before.size else 0, int(after[0]) if after.size else len(self.compared)


def surprisal(trace: Trace) -> Surprisal:
    """The surprisal of the answer part of a trace; no model is needed."""
    num_tokens = len(trace.answer_ids)
    start, stop = span_of(trace.thinking, num_tokens, "answer")
    values, compared = np.full(num_tokens, np.nan), np.zeros(num_tokens, dtype=bool)
    if start == stop:
        return Surprisal(
            values=values, compared=compared, unit="token", token=None, uncertainty=np.nan, reason="no answer part"
        )
    part = slice(start, stop)
    values[part] = token_surprisals(trace.logprobs[part], trace.entropies[part])
    unit, compared[part] = compared_tokens(trace.answer_tokens[part], trace.prompt)
    if np.isnan(values[compared]).any():
        reason = "a log-probability or the first entropy of this answer is nan"
        return Surprisal(values=values, compared=compared, unit=unit, token=None, uncertainty=np.nan, reason=reason)
    token = int(np.where(compared, values, -np.inf).argmax())
    return Surprisal(values=values, compared=compared, unit=unit, token=token, uncertainty=float(values[token]))


def token_surprisals(logprobs: np.ndarray, entropies: np.ndarray) -> np.ndarray:
    """-log p of each token (N,) in nats; of the first, how far it is above the entropy, its expected value."""
    values = 0.0 - logprobs.astype(np.float64)
    values[:1] -= entropies[:1]
    return values


def compared_tokens(texts: Sequence[str], question: str) -> tuple[Unit, np.ndarray]:
    """Which tokens (N,) of an answer are compared, and what they are part of."""
    named, content, words = named_tokens(texts, question), content_tokens(texts, question), word_tokens(texts)
    if named.any():
        return "name or number", named
    if words.any():
        return "word", content if content.any() else words
    return "token", np.ones(len(texts), dtype=bool)


def is_written(trace: Trace) -> bool:
    """Whether somebody else than the model wrote the answer: given, and not a branch that the model went on with.

    A branch ends as the model ended it, and few of its tokens are not the most probable ones.
    """
    if trace.stop_reason == "given" or not was_given(trace):
        return trace.stop_reason == "given"
    rows = zip(trace.answer_ids.tolist(), trace.alternatives, strict=True)
    return sum(bool(row) and row[0].id != token for token, row in rows) > _MOST_CHOSEN
