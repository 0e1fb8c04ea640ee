"""How well signals rank the replaced detail of a summary above the rest: ROC-AUC within each summary, and its mean.

Within a summary, so that neither the length of a document nor its subject counts. A head is chosen on other documents.
"""

from collections.abc import Mapping, Sequence
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
    """What is ranked in one summary: values (S, U) of S signals, and which units are the replaced detail (U,)."""

    values: np.ndarray
    replaced: np.ndarray


class Interval(NamedTuple):
    """A mean with its 95 % interval."""

    value: float
    low: float
    high: float


def areas(units: Units) -> np.ndarray:
    """ROC-AUC (S,) of replaced units against the others; units at which a signal is nan do not count."""
    positive, negative = units.values[:, units.replaced], units.values[:, ~units.replaced]
    differences = positive[:, :, None] - negative[:, None, :]
    known = ~np.isnan(differences)
    won = np.where(known, (differences > 0) + 0.5 * (differences == 0), 0).sum(axis=(1, 2))
    counts = known.sum(axis=(1, 2))
    return np.divide(won, counts, out=np.full(len(won), np.nan), where=counts > 0)


def units_of(reading: Reading, signals: np.ndarray, among: str) -> Units:
    """Signals (S, N) of tokens as those of names, by their means, or of all tokens that show text."""
    replaced = reading.summary.replaced
    if among == TOKENS:
        return Units(signals[:, reading.with_text], reading.details[replaced][reading.with_text])
    means = np.stack([signals[:, tokens].mean(axis=1) for tokens in reading.details], axis=1)
    return Units(means, np.arange(len(reading.details)) == replaced)


def ranked(read: Sequence[Reading], among: str) -> Mapping[str, np.ndarray]:
    """ROC-AUC (A,) of every signal in each of these summaries."""
    names = list(read[0].signals)
    plain = np.array([areas(units_of(one, np.stack([one.signals[name] for name in names]), among)) for one in read])
    found = dict(zip(names, plain.T, strict=True))
    for query, shift in ((PREDICTING, 0), (OWN, 1)):
        means = [units_of(one, -_of_query(one.mean_share[None], shift), among) for one in read]
        found[MEAN_SHARE.format(query)] = np.array([areas(one)[0] for one in means])
        heads = [units_of(one, -_of_query(one.heads.reshape(-1, one.heads.shape[-1]), shift), among) for one in read]
        logprobs = [units_of(one, one.signals[LOGPROB][None], among) for one in read]
        found |= _with_best_head(heads, logprobs, query)
    return found


def interval(values: np.ndarray) -> Interval:
    """The mean over documents (A,), with an interval by resampling them."""
    known = values[~np.isnan(values)]
    drawn = np.random.default_rng(0).integers(len(known), size=(_RESAMPLES, len(known)))
    low, high = np.quantile(known[drawn].mean(axis=1), (0.025, 0.975))
    return Interval(float(known.mean()), float(low), float(high))


def _of_query(shares: np.ndarray, shift: int) -> np.ndarray:
    """Shares (S, N) of the queries so many positions after those that predict; the last have none."""
    kept = shares[:, shift:].astype(np.float64)
    return np.pad(kept, [(0, 0), (0, shift)], constant_values=np.nan)


def _with_best_head(heads: Sequence[Units], logprobs: Sequence[Units], query: str) -> Mapping[str, np.ndarray]:
    """The head and the direction with the largest mean on the documents of other folds, alone and beside -log p."""
    each = np.array([areas(one) for one in heads])  # (A, heads)
    alone, both = np.empty(len(heads)), np.empty(len(heads))
    for fold in range(_FOLDS):
        others = [one for one in range(len(heads)) if one % _FOLDS != fold]
        means = np.nanmean(each[others], axis=0)
        head = int(np.abs(means - 0.5).argmax())
        sign = 1 if means[head] >= 0.5 else -1
        of_head = [sign * one.values[head] for one in heads]
        of_token = [one.values[0] for one in logprobs]
        scales = [np.nanstd(np.concatenate([values[one] for one in others])) for values in (of_head, of_token)]
        for own in range(fold, len(heads), _FOLDS):
            summed = of_head[own] / scales[0] + of_token[own] / scales[1]
            alone[own], both[own] = areas(Units(np.stack([of_head[own], summed]), heads[own].replaced))
    return {BEST_HEAD.format(query): alone, BOTH.format(query): both}
