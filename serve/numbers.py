"""RAUQ's numbers of an answer, ready for JSON: of each token, and of the whole as a dict without a list of dicts.

Clients merge the parts of a stream: in a list of dicts they look for an index, and fail.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rauq.scoring.report import cautions, why_empty
from rauq.scoring.score import Score, score
from rauq.scoring.sentence_scores import sentence_scores
from rauq.scoring.settings import Settings
from rauq.trace.parts import shows_text
from rauq.trace.trace import Trace
from serve.job import Ended

_OF_TOKEN = ("confidence", "collapse", "entropy")


@dataclass(frozen=True, eq=False, kw_only=True)
class Scored:
    """An answer with its score; `texts` are those of the tokens that a client sees, without the stop text."""

    trace: Trace
    score: Score
    texts: tuple[str, ...]

    @property
    def starts(self) -> list[int]:
        """Where each of these tokens begins, in code points of the answer."""
        return np.cumsum([0, *map(len, self.texts)])[:-1].tolist()


def scored(trace: Trace, settings: Settings, length: int) -> Scored:
    """The score of an answer of which the client sees so many code points."""
    return Scored(trace=trace, score=score(trace, settings), texts=seen_texts(trace.answer_tokens, length))


def seen_texts(texts: Sequence[str], length: int) -> tuple[str, ...]:
    """The texts of the tokens that begin before this place, the last one cut there."""
    ends = np.cumsum([0, *map(len, texts)]).tolist()
    return tuple(text[: length - start] for text, start in zip(texts, ends[:-1], strict=True) if start < length)


def token_numbers(found: Scored, token: int) -> dict[str, float | None]:
    """Confidence in the layer that gives the score, collapse and entropy in nats; null where they are undefined."""
    layer = found.score.layer
    row = None if layer is None else found.score.layers.index(layer)
    confidence = math.nan if row is None else found.score.confidence[row, token]
    values = (confidence, found.score.collapse[token], found.trace.entropies[token])
    return {name: _finite(value) for name, value in zip(_OF_TOKEN, values, strict=True)}


def answer_numbers(found: Scored, ended: Ended, rank: Mapping[str, object]) -> dict[str, Any]:
    """The numbers of a whole answer; what is null or missing has its reason in `reason` or `no_rank`."""
    about = {
        "settings": asdict(found.score.settings),
        "engine": found.trace.engine,
        "ended": ended.ending,
        **({"alarm": ended.alarm} if ended.alarm else {}),
    }
    reason = _why_not_applicable(found, ended)
    if reason:
        return {"uncertainty": None, "reason": reason, **about}
    cautious = list(cautions(found.trace, found.score))
    return {
        "uncertainty": _finite(found.score.uncertainty),
        **({"reason": found.score.reasons.uncertainty} if found.score.reasons.uncertainty else {}),
        **rank,
        "layer": found.score.layer,
        "layers": list(found.score.layers),
        "heads": found.score.heads.tolist(),
        "weakest": _weakest(found),
        "sentences": _sentences(found),
        **({"cautions": cautious} if cautious else {}),
        **about,
    }


def _why_not_applicable(found: Scored, ended: Ended) -> str:
    if not ended.text.strip():
        why = why_empty(found.trace, found.score.settings.part) or "The stop text came before any other text."
        return f"Not applicable: the answer is empty. {why}"
    why = why_empty(found.trace, found.score.settings.part)
    return f"Not applicable: {why}" if why else ""


def _weakest(found: Scored) -> dict[str, object] | None:
    """The token with the largest collapse, of those that the client sees; null where the collapse is undefined."""
    count = len(found.texts)
    values = np.where(shows_text(found.trace), found.score.collapse, np.nan)[:count]
    if not count or np.isnan(values).all():
        return None
    token = int(np.nanargmax(values))
    start = found.starts[token]
    return {
        "token": token,
        "text": found.texts[token],
        "start": start,
        "end": start + len(found.texts[token]),
        "collapse": _finite(values[token]),
    }


def _sentences(found: Scored) -> dict[str, list[Any]]:
    """The sentences that the client sees, as lists of the same length."""
    length = sum(map(len, found.texts))
    rows = [one for one in sentence_scores(found.trace, found.score) if one.start < length]
    return {
        "start": [one.start for one in rows],
        "end": [min(one.end, length) for one in rows],
        "uncertainty": [_finite(one.uncertainty) for one in rows],
        "weakest": [_within(one.weakest_token, len(found.texts)) for one in rows],
    }


def _within(token: int | None, count: int) -> int | None:
    """A token, unless it is part of the stop text."""
    return token if token is not None and token < count else None


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
