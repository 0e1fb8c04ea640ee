"""How surprising a text is to the model that reads it: this finds errors in answers that the model did not write.

RAUQ's confidence, and entropy above all, is known before the token, so it does not depend on which token was
written. `python -m benchmarks written` compares this score with others.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from rauq.scoring.score import Reasons, Score, score
from rauq.scoring.settings import Settings
from rauq.trace.parts import span_of
from rauq.trace.trace import Trace
from rauq.trace.words import content_tokens, named_tokens, word_tokens

Unit = Literal["name or number", "word", "token"]


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


def score_surprisal(trace: Trace) -> Score:
    """The score of an answer that the model did not write: its largest surprisal, in place of RAUQ.

    The steps of RAUQ are those of alpha 1 with the probability, so that confidence is the probability of a token.
    `collapse` holds the surprisals that are compared, and nan elsewhere; `contributions` are 0 but for the largest. No
    layer gives the score.

    Raises:
        InvalidInput: no attention in the middle layers.

    Example:
        >>> lm = rauq.load_model("atlas")
        >>> answers = (" Kyoto is in Japan.", " Kyoto is in Peru.")
        >>> traces = [lm.read("Q: In which country is Kyoto? A:", answer) for answer in answers]
        >>> [round(rauq.score_surprisal(trace).uncertainty, 1) for trace in traces]
        [0.0, 17.2]
    """
    found, beside = surprisal(trace), score(trace, Settings(alpha=1.0, signal="probability"))
    values = np.where(found.compared, found.values, np.nan)
    start, stop = beside.span
    contributions = np.full(len(values), np.nan)
    contributions[start:stop] = 0.0 if found.token is not None else np.nan
    if found.token is not None:
        contributions[found.token] = found.uncertainty
    return replace(
        beside,
        by="surprisal",
        uncertainty=found.uncertainty,
        layer=None,
        layer_scores=np.full(len(beside.layers), np.nan),
        collapse=values,
        collapse_shares=np.stack([values, 0.0 * values], axis=-1),
        contributions=contributions,
        reasons=_reasons(found),
    )


def _reasons(found: Surprisal) -> Reasons:
    why = found.reason
    left_out = f"this token is not part of a {found.unit}, and only those are compared in this answer"
    return Reasons(
        uncertainty=why,
        confidence=why,
        contributions=why,
        collapse=why or left_out,
        collapse_shares=why or left_out,
    )
