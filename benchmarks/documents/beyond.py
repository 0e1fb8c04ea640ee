"""What a signal adds to controls that know no model: logistic fits on other documents, with it and without."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.documents.ranking import (
    BEST_HEAD,
    MEAN_SHARE,
    OWN,
    PREDICTING,
    TOKENS,
    Units,
    areas,
    best_head,
    documents_of,
    folds,
    of_query,
    units_of,
    units_of_heads,
)
from benchmarks.documents.reading import Reading

CONTROLS = "controls together, fitted on other documents"
_IS_CONTROL = "control: "
# Of the summaries that are not held out, the values (U,) of a signal in every summary.
Signal = Callable[[np.ndarray], Sequence[np.ndarray]]


class Found(NamedTuple):
    """ROC-AUC (A,) of a signal within each summary, and what it adds to the controls (A,), nan for these."""

    alone: np.ndarray
    beyond: np.ndarray


def with_controls(read: Sequence[Reading]) -> Mapping[str, Found]:
    """Every signal of tokens, alone and beside the controls."""
    controls = [units_of(one, _stacked(one, control=True), TOKENS) for one in read]
    signals = _signals(read)
    found = {name: Found(*np.full((2, len(read)), np.nan)) for name in (*signals, CONTROLS)}
    for others, held in folds(documents_of(read)):
        fit = _fit(controls, others)
        for own in held:
            found[CONTROLS].alone[own] = areas(Units(fit[own][None], controls[own].wrong))[0]
        for name, signal in signals.items():
            values = signal(others)
            added = fit if _IS_CONTROL in name else _fit(_joined(controls, values), others)
            for own in held:
                shown = np.stack([values[own], added[own], np.where(np.isnan(values[own]), np.nan, fit[own])])
                alone, both, without = areas(Units(shown, controls[own].wrong))
                found[name].alone[own] = alone
                found[name].beyond[own] = np.nan if _IS_CONTROL in name else both - without
    return found


def _stacked(reading: Reading, *, control: bool) -> np.ndarray:
    return np.stack([values for name, values in reading.signals.items() if (_IS_CONTROL in name) == control])


def _signals(read: Sequence[Reading]) -> Mapping[str, Signal]:
    signals = {
        name: _fixed([units_of(one, one.signals[name][None], TOKENS) for one in read]) for name in read[0].signals
    }
    for query, shift in ((PREDICTING, 0), (OWN, 1)):
        means = [units_of(one, -of_query(one.mean_share[None], shift), TOKENS) for one in read]
        signals[MEAN_SHARE.format(query)] = _fixed(means)
        signals[BEST_HEAD.format(query)] = _chosen(units_of_heads(read, shift, TOKENS))
    return signals


def _fixed(units: Sequence[Units]) -> Signal:
    values = [one.values[0] for one in units]
    return lambda _others: values


def _chosen(heads: Sequence[Units]) -> Signal:
    """The best head, and its direction, of the summaries that are not held out."""
    each = np.array([areas(one) for one in heads])

    def of(others: np.ndarray) -> Sequence[np.ndarray]:
        head, sign = best_head(each[others])
        return [sign * one.values[head] for one in heads]

    return of


def _joined(controls: Sequence[Units], values: Sequence[np.ndarray]) -> list[Units]:
    return [Units(np.vstack([one.values, own]), one.wrong) for one, own in zip(controls, values, strict=True)]


def _fit(units: Sequence[Units], others: np.ndarray) -> list[np.ndarray]:
    """The log-odds (U,) of each summary's tokens by a fit on the other ones; nan where a value is."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    given = np.hstack([units[one].values for one in others]).T
    wrong = np.concatenate([units[one].wrong for one in others])
    known = np.isfinite(given).all(axis=1)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(given[known], wrong[known])
    return [_log_odds(model.decision_function, one.values.T) for one in units]


def _log_odds(of: Callable[[np.ndarray], np.ndarray], given: np.ndarray) -> np.ndarray:
    known = np.isfinite(given).all(axis=1)
    found = np.full(len(given), np.nan)
    found[known] = of(given[known])
    return found
