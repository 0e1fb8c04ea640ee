"""How well signals rank the replaced detail of a summary above the rest: ROC-AUC within each summary, and its mean.

Within a summary, so that neither the length of a document nor its subject counts. A head is chosen on other documents.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.documents.reading import LOGPROB, Reading

DETAILS, TOKENS = "names", "all tokens"
PREDICTING, OWN = "query that predicts it", "its own query"
MEAN_SHARE = "share of the document, mean of the window's heads, {}"
BEST_HEAD = "share of the document, head chosen on other documents, {}"
BOTH = "-log p with that head, both standardised, {}"
_FOLDS, _RESAMPLES = 5, 2000


class Units(NamedTuple):
    """What is ranked in one summary: values (S, U) of S signals, and which units are those to be found (U,)."""

    values: np.ndarray
    wrong: np.ndarray


class Interval(NamedTuple):
    """A mean with its 95 % interval."""

    value: float
    low: float
    high: float


UNKNOWN = Interval(math.nan, math.nan, math.nan)


def areas(units: Units) -> np.ndarray:
    """ROC-AUC (S,) of the units to be found against the others; units at which a signal is nan do not count."""
    positive, negative = units.values[:, units.wrong], units.values[:, ~units.wrong]
    differences = positive[:, :, None] - negative[:, None, :]
    known = ~np.isnan(differences)
    won = np.where(known, (differences > 0) + 0.5 * (differences == 0), 0).sum(axis=(1, 2))
    counts = known.sum(axis=(1, 2))
    return np.divide(won, counts, out=np.full(len(won), np.nan), where=counts > 0)


def units_of(reading: Reading, signals: np.ndarray, among: str) -> Units:
    """Signals (S, N) of tokens as those of names, by their means, or of all tokens that count."""
    if among == TOKENS:
        return Units(signals[:, reading.counted], reading.details[reading.wrong][reading.counted])
    means = np.stack([signals[:, tokens].mean(axis=1) for tokens in reading.details], axis=1)
    return Units(means, np.arange(len(reading.details)) == reading.wrong)


def ranked(read: Sequence[Reading], among: str) -> Mapping[str, np.ndarray]:
    """ROC-AUC (A,) of every signal in each of these summaries."""
    names = list(read[0].signals)
    plain = np.array([areas(units_of(one, np.stack([one.signals[name] for name in names]), among)) for one in read])
    found = dict(zip(names, plain.T, strict=True))
    for query, shift in ((PREDICTING, 0), (OWN, 1)):
        means = [units_of(one, -of_query(one.mean_share[None], shift), among) for one in read]
        found[MEAN_SHARE.format(query)] = np.array([areas(one)[0] for one in means])
        found |= _with_best_head(read, query, shift, among)
    return found


def documents_of(read: Sequence[Reading]) -> np.ndarray:
    """The document of each summary (A,)."""
    return np.array([one.document for one in read])


def interval(values: np.ndarray, documents: np.ndarray) -> Interval:
    """The mean over summaries (A,), with an interval by resampling documents; those without a value do not count."""
    known = ~np.isnan(values)
    _, place = np.unique(documents[known], return_inverse=True)
    sums, counts = np.bincount(place, values[known]), np.bincount(place)
    drawn = np.random.default_rng(0).integers(len(sums), size=(_RESAMPLES, len(sums)))
    low, high = np.quantile(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1), (0.025, 0.975))
    return Interval(float(values[known].mean()), float(low), float(high))


def folds(documents: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Which summaries (A,) are held out, five times, and which are not: a document is held out as a whole."""
    _, place = np.unique(documents, return_inverse=True)
    for fold in range(_FOLDS):
        held = place % _FOLDS == fold
        yield np.flatnonzero(~held), np.flatnonzero(held)


def of_query(shares: np.ndarray, shift: int) -> np.ndarray:
    """Shares (S, N) of the queries so many positions after those that predict; the last have none."""
    kept = shares[:, shift:].astype(np.float64)
    return np.pad(kept, [(0, 0), (0, shift)], constant_values=np.nan)


def units_of_heads(read: Sequence[Reading], shift: int, among: str) -> list[Units]:
    """Of each summary, the shares of all heads (heads, U), negative."""
    return [units_of(one, -of_query(one.heads.reshape(-1, one.heads.shape[-1]), shift), among) for one in read]


def best_head(each: np.ndarray) -> tuple[int, int]:
    """The head whose mean of these ROC-AUC (A, heads) is furthest from chance, and 1, or -1 if it is below."""
    means = np.nanmean(each, axis=0)
    head = int(np.abs(means - 0.5).argmax())
    return head, 1 if means[head] >= 0.5 else -1


def _with_best_head(read: Sequence[Reading], query: str, shift: int, among: str) -> Mapping[str, np.ndarray]:
    """The head and the direction with the largest mean on the documents of other folds, alone and beside -log p."""
    heads = units_of_heads(read, shift, among)
    of_token = [units_of(one, one.signals[LOGPROB][None], among).values[0] for one in read]
    each = np.array([areas(one) for one in heads])  # (A, heads)
    alone, both = np.empty(len(heads)), np.empty(len(heads))
    for others, held in folds(documents_of(read)):
        head, sign = best_head(each[others])
        of_head = [sign * one.values[head] for one in heads]
        scales = [np.nanstd(np.concatenate([values[one] for one in others])) for values in (of_head, of_token)]
        for own in held:
            summed = of_head[own] / scales[0] + of_token[own] / scales[1]
            alone[own], both[own] = areas(Units(np.stack([of_head[own], summed]), heads[own].wrong))
    return {BEST_HEAD.format(query): alone, BOTH.format(query): both}
