"""The supervised methods by id: what each reads of an answer, how its settings are searched, and how it is fitted."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from analysis.detectors.supervised import factoscope, head_entropy, hidden_layers, lookback_lens, mind, saplma, tad
from rauq.detectors.detector import FITTED, Fitted
from rauq.trace.trace import Extra, Trace


class Search(Protocol):
    """Choose the settings of a method by A answers with their features and quality (A,); None if it has none.

    An answer is correct where its quality is above `threshold`; `full`: the whole grid of the reference, not the
    reduced one.
    """

    def __call__(
        self, features: Sequence[np.ndarray], quality: np.ndarray, *, threshold: float, seed: int, full: bool
    ) -> Any:  # noqa: ANN401 - each method has settings of its own
        """Return the settings."""


class Fit(Protocol):
    """Fit a method to A answers with their features and quality (A,), under settings that its search chose."""

    def __call__(
        self,
        features: Sequence[np.ndarray],
        quality: np.ndarray,
        *,
        threshold: float,
        settings: Any,  # noqa: ANN401 - each method has settings of its own
        seed: int,
    ) -> Fitted:
        """Return what is fitted."""


@dataclass(frozen=True, kw_only=True)
class SupervisedMethod:
    """A row of the table: `features` of a trace, which has to have captured `extras`."""

    id: str
    features: Callable[[Trace], np.ndarray]
    extras: tuple[Extra, ...]
    search: Search
    fit: Fit


def settings_in_words(settings: object) -> str:
    """What a search chose, such as "epochs 10, batch size 64"; "none to search" where it chose nothing."""
    if settings is None:
        return "none to search"
    if isinstance(settings, tuple):  # the settings of each layer
        return "; ".join(map(settings_in_words, settings))
    if not is_dataclass(settings):
        return str(settings)
    parts = {field.name: getattr(settings, field.name) for field in fields(settings)}
    return ", ".join(
        settings_in_words(value) if isinstance(value, tuple) else f"{name.replace('_', ' ')} {value}"
        for name, value in parts.items()
    )


def _row(method: str, search: Search, fit: Fit) -> SupervisedMethod:
    own = FITTED[method]
    return SupervisedMethod(id=method, features=own.features, extras=own.extras, search=search, fit=fit)


_ROWS = (
    _row("lookback_lens", lookback_lens.search, lookback_lens.fit),
    _row("saplma", saplma.search, saplma.fit),
    _row("mind", mind.search, mind.fit),
    _row("sheeps", hidden_layers.search_sheeps, hidden_layers.fit_sheeps),
    _row("satrmd", hidden_layers.search_satrmd, hidden_layers.fit_satrmd),
    _row("tad", tad.search, tad.fit),
    _row("factoscope", factoscope.search, factoscope.fit),
    _row("head_entropy_linear", head_entropy.search, head_entropy.fit),
)

SUPERVISED: Mapping[str, SupervisedMethod] = MappingProxyType({row.id: row for row in _ROWS})
"""Each row under its id."""
