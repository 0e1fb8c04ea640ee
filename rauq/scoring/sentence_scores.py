"""The score of an answer by its sentences, or by other spans of it: where the uncertainty of a long answer comes from.

The recurrence is that of the whole answer, so that confidence flows from each sentence into the next.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import index
from typing import NamedTuple

import numpy as np

from rauq.errors import InvalidInput
from rauq.scoring.algorithm import log_of
from rauq.scoring.score import Score
from rauq.sentences import Span, sentences
from rauq.trace.parts import shows_text
from rauq.trace.trace import Trace


@dataclass(frozen=True, kw_only=True)
class SentenceScore:
    """One sentence of an answer, one line of a list, or another span of it, with its scores; higher is less certain.

    Attributes:
        start: Its first character, in code points of the answer.
        end: Its end, exclusive.
        tokens: Its first token and the one after its last. A token that crosses a border belongs to the sentence of its
            first character that is not white space; to a span belong all that it shares such a character with.
        uncertainty: Mean of -log c over its tokens, c being the confidence in the layer that gives the answer's score;
            of the mean over layers, the mean over these as well. Of a score by surprisal, the largest that is compared.
        mean_surprisal: Mean of -log p over its tokens, in nats.
        mean_entropy: Mean entropy before its tokens, in nats.
        weakest_token: The token with the largest `Score.collapse`, of those that show text if any has one; None where
            the collapse is undefined.
        reason: Why `uncertainty` is nan, or else one of the means; empty where all three are defined.
    """

    start: int
    end: int
    tokens: tuple[int, int]
    uncertainty: float
    mean_surprisal: float
    mean_entropy: float
    weakest_token: int | None
    reason: str


class Borders(NamedTuple):
    """The first characters (S,) and the first tokens (S,) of S sentences, counted from the first of the tokens."""

    characters: np.ndarray
    tokens: np.ndarray


def sentence_borders(texts: Sequence[str]) -> Borders:
    """Where the sentences of an answer begin, given the texts of its N tokens; each sentence has a token.

    A sentence in which no token begins belongs to the one before. No sentence without tokens.
    """
    answer = "".join(texts)
    starts = np.array([start for start, _ in sentences(answer)] or [0])
    owners = np.searchsorted(starts, _places(texts), side="right") - 1
    kept, first_tokens = np.unique(owners, return_index=True)
    return Borders(starts[kept], first_tokens)


def _places(texts: Sequence[str]) -> np.ndarray:
    """The first character (N,) that each token shows, or, if it shows none, where it stands."""
    return np.cumsum([0, *map(len, texts)])[:-1] + np.array([_leading_space(text) for text in texts], dtype=int)


def _leading_space(text: str) -> int:
    """Characters of white space before what a token shows; 0 if it shows nothing."""
    return len(text) - len(text.lstrip()) if text.strip() else 0


def sentence_scores(trace: Trace, score: Score) -> tuple[SentenceScore, ...]:
    """The sentences of the scored part of an answer in order, each with its score: their tokens are all of that part.

    Raises:
        InvalidInput: the score is not one of this answer.

    Example:
        >>> trace = rauq.load_model("atlas").generate("Q: In which country is Kyoto? A:")
        >>> sentence, *_ = rauq.sentence_scores(trace, rauq.score(trace))
        >>> sentence.tokens, round(sentence.uncertainty, 3)
        ((0, 7), 1.436)
    """
    _check_pair(trace, score)
    start, stop = score.span
    if start == stop:
        return ()
    characters, firsts = sentence_borders(trace.answer_tokens[start:stop])
    before, end = _scored_characters(trace, score)
    spans, tokens = _ranges(characters + before, end), _ranges(firsts, stop - start)
    return _scored(trace, score, spans, tokens)


def _ranges(starts: np.ndarray, end: int) -> np.ndarray:
    """First and end (S, 2) of parts that follow each other."""
    return np.stack([starts, np.append(starts[1:], end)], axis=1)


def span_scores(trace: Trace, score: Score, spans: Iterable[Span]) -> tuple[SentenceScore, ...]:
    """Any spans of an answer, such as its claims, each with its score; they may overlap.

    `spans` are first characters and ends (exclusive), in code points of `trace.answer`. A token belongs to each span
    that has one of its characters, white space aside; an end token belongs to a span that reaches the end.

    Raises:
        InvalidInput: a span that is empty, reversed, white space alone or beyond the scored part; a score of another
            answer.

    Example:
        >>> trace = rauq.load_model("atlas").generate("Q: In which country is Kyoto? A:")
        >>> (claim,) = rauq.span_scores(trace, rauq.score(trace), [(13, 18)])
        >>> trace.answer[13:18], claim.tokens, round(claim.uncertainty, 3)
        ('Japan', (4, 5), 1.608)
    """
    _check_pair(trace, score)
    bounds = _scored_characters(trace, score)
    checked = [checked_span(trace.answer, one, bounds) for one in spans]
    if not checked:
        return ()
    found = np.array(checked)
    return _scored(trace, score, found, _touched(trace.answer_tokens[slice(*score.span)], found - bounds[0]))


def _scored_characters(trace: Trace, score: Score) -> Span:
    """First character and end of the scored part of an answer, in code points of it."""
    start, stop = score.span
    before, part = (sum(map(len, trace.answer_tokens[tokens])) for tokens in (slice(start), slice(start, stop)))
    return before, before + part


def checked_span(text: str, span: Span, bounds: Span) -> Span:
    """The span of a text as two integers.

    Raises:
        InvalidInput: it is not within `bounds`, or holds nothing but white space.
    """
    try:
        start, end = map(index, span)
    except (TypeError, ValueError) as error:
        message = f"Got the span {span!r}; give its first character and its end as two integers."
        raise InvalidInput(message) from error
    if not bounds[0] <= start < end <= bounds[1]:
        message = (
            f"Got a span from {start} to {end}; it must have at least one character, and be within {bounds[0]} to "
            f"{bounds[1]}, counted in code points."
        )
        raise InvalidInput(message)
    if text[start:end].isspace():
        message = f"The span from {start} to {end} is white space alone. Give the characters of a text."
        raise InvalidInput(message)
    return start, end


def _touched(texts: Sequence[str], spans: np.ndarray) -> np.ndarray:
    """First and end (S, 2) of the tokens, of these texts, that each span (S, 2) has a character of."""
    starts = np.cumsum([0, *map(len, texts)])
    shown = np.array([len(text.strip()) for text in texts])
    # A token that shows nothing stands at its first character, and an end token at the last one of the answer.
    begins = np.minimum(_places(texts), starts[-1] - 1)
    ends = begins + np.maximum(shown, 1)
    firsts, lasts = np.searchsorted(ends, spans[:, 0], side="right"), np.searchsorted(begins, spans[:, 1])
    return np.stack([firsts, lasts], axis=1)


def _check_pair(trace: Trace, score: Score) -> None:
    if len(score.signal) != len(trace.answer_ids):
        message = (
            f"The score has {len(score.signal)} tokens and the answer {len(trace.answer_ids)}; "
            "give the answer that was scored."
        )
        raise InvalidInput(message)


def _scored(trace: Trace, score: Score, spans: np.ndarray, tokens: np.ndarray) -> tuple[SentenceScore, ...]:
    """Spans (S, 2) of the answer with the scores of their tokens (S, 2), which count from the first scored one."""
    start, stop = score.span
    columns = (
        _uncertainties(score, tokens),
        *(_means(values[start:stop], tokens) for values in (0.0 - trace.logprobs, trace.entropies)),
    )
    rows = zip(
        spans.tolist(),
        (tokens + start).tolist(),
        *(values.tolist() for values in columns),
        _weakest(trace, score, tokens + start),
        _reasons(score, columns),
        strict=True,
    )
    return tuple(
        SentenceScore(
            start=begin,
            end=end,
            tokens=(first, last),
            uncertainty=uncertainty,
            mean_surprisal=surprisal,
            mean_entropy=entropy,
            weakest_token=weakest,
            reason=reason,
        )
        for (begin, end), (first, last), uncertainty, surprisal, entropy, weakest, reason in rows
    )


def _uncertainties(score: Score, tokens: np.ndarray) -> np.ndarray:
    """(S,): means of -log c, or the largest compared surprisals; nan where they are undefined."""
    part = slice(*score.span)
    if score.by == "surprisal":
        return _reduced(np.fmax, score.collapse[part], tokens)
    logs = 0.0 - log_of(score.confidence[:, part])
    if score.layer is not None:
        return _means(logs[score.layers.index(score.layer)], tokens)
    is_mean = score.settings.layer_aggregation == "mean" and not np.isnan(score.uncertainty)
    return _means(logs.mean(axis=0), tokens) if is_mean else np.full(len(tokens), np.nan)


def _means(values: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """The mean (S,) of the values (N,) of the tokens (S, 2) of each span."""
    with np.errstate(invalid="ignore"):  # inf - inf = nan
        return _reduced(np.add, values.astype(np.float64), tokens) / np.diff(tokens)[:, 0]


def _reduced(how: np.ufunc, values: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    # Of [first, end, first, end, ...], every other result is that of a span; one more value lets a span end with them.
    return np.asarray(how.reduceat(np.append(values, np.nan), tokens.reshape(-1))[::2])


def _weakest(trace: Trace, score: Score, tokens: np.ndarray) -> list[int | None]:
    shown = np.where(shows_text(trace), score.collapse, np.nan)
    both = zip(_largest(shown, tokens), _largest(score.collapse, tokens), strict=True)
    return [any_token if with_text is None else with_text for with_text, any_token in both]


def _largest(values: np.ndarray, tokens: np.ndarray) -> list[int | None]:
    """The token with the largest value (N,) of each span, the first of equal ones; None where all are nan."""
    known = np.where(np.isnan(values), -np.inf, values)
    largest = [first + int(known[first:end].argmax()) for first, end in tokens.tolist()]
    return [None if np.isnan(values[place]) else place for place in largest]


def _reasons(score: Score, columns: Sequence[np.ndarray]) -> list[str]:
    whys = (
        _why_no_uncertainty(score),
        "a log-probability of these tokens is nan",
        "an entropy of these tokens is nan",
    )
    unknown = np.isnan(np.stack(columns))  # (3, S)
    return np.select(list(unknown), list(whys), default="").tolist()


def _why_no_uncertainty(score: Score) -> str:
    if score.by == "surprisal":
        return score.reasons.uncertainty or "none of these tokens is compared"
    if score.layer is None and score.settings.layer_aggregation == "median":
        return "a median over layers does not belong to a single layer"
    return score.reasons.confidence or score.reasons.uncertainty or "infinite terms cancel"
