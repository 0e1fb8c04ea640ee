"""Training a detector on the labelled answers of one model, to one or several data sets.

The supervised methods by id: what each reads of an answer, how its settings are searched, and how it is fitted.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np

from analysis.detectors.supervised import attention, factoscope, hidden_layers, hidden_states
from analysis.detectors.supervised.training_set import usable
from analysis.questions import hashes_of
from rauq.detectors.checks import OfModel
from rauq.detectors.detector import FITTED, Detector, Fitted, features_of
from rauq.errors import InvalidInput, RauqError
from rauq.trace.parts import part_of
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


def _of_fitted(method: str, search: Search, fit: Fit) -> SupervisedMethod:
    own = FITTED[method]
    return SupervisedMethod(id=method, features=own.features, extras=own.extras, search=search, fit=fit)


_ROWS = (
    _of_fitted("lookback_lens", attention.search_lookback_lens, attention.fit_lookback_lens),
    _of_fitted("saplma", hidden_states.search_saplma, hidden_states.fit_saplma),
    _of_fitted("mind", hidden_states.search_mind, hidden_states.fit_mind),
    _of_fitted("sheeps", hidden_layers.search_sheeps, hidden_layers.fit_sheeps),
    _of_fitted("satrmd", hidden_layers.search_satrmd, hidden_layers.fit_satrmd),
    _of_fitted("tad", attention.search_tad, attention.fit_tad),
    _of_fitted("factoscope", factoscope.search, factoscope.fit),
    _of_fitted("head_entropy_linear", attention.search_head_entropy, attention.fit_head_entropy),
)

SUPERVISED: Mapping[str, SupervisedMethod] = MappingProxyType({row.id: row for row in _ROWS})
"""Each row under its id."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Answers:
    """A labelled answers of one model to the data set `data`, which errors call `name`; `questions` (A,) are its own.

    `traces`: one for each, read once, with the attention of `layers`. `quality` (A,), nan where it is unknown; an
    answer is correct where it is above `threshold`.
    """

    name: str
    data: str
    model: OfModel
    layers: tuple[int, ...]
    traces: Iterable[Trace]
    questions: Sequence[str]
    quality: np.ndarray
    threshold: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Trained:
    """A detector, and what it was trained on.

    `correct` and `incorrect`: the numbers of training answers; `left_out`: that of answers without a quality, or with a
    feature that is unknown. `settings` are what its search chose, None if it has none. `seconds`: search and fit.
    """

    detector: Detector
    correct: int
    incorrect: int
    left_out: int
    settings: Any
    seconds: float


def train(method: str, given: Sequence[Answers], *, full: bool = False, seed: int = 42) -> Trained:
    """Search the settings of a supervised method by its id, and fit it on all answers with quality and features.

    `full` searches the whole grid of the reference; `seed` is that of networks.

    Raises:
        InvalidInput: unknown method, nothing to train on, answers of different models or thresholds, traces that lack
            what the method reads, or too few answers of a class.
    """
    row, first = _row(method), _first_of_one_model(given)
    layers = _common_layers(given) if FITTED[method].reads_attention else ()
    used = _used([pair for own in given for pair in _with_features(row, own, layers)])
    correct = int(np.count_nonzero(used.quality > first.threshold))
    begun = time.perf_counter()
    settings = row.search(*used, threshold=first.threshold, seed=seed, full=full)
    fitted = row.fit(*used, threshold=first.threshold, settings=settings, seed=seed)
    seconds = time.perf_counter() - begun
    detector = Detector(
        **vars(first.model),
        method=method,
        layers=layers,
        data=tuple(dict.fromkeys(own.data for own in given)),
        answers=len(used.quality),
        threshold=first.threshold,
        fitted=fitted,
        questions=np.unique(hashes_of([question for own in given for question in own.questions])),
    )
    return Trained(
        detector=detector,
        correct=correct,
        incorrect=len(used.quality) - correct,
        left_out=sum(len(own.quality) for own in given) - len(used.quality),
        settings=settings,
        seconds=seconds,
    )


class _Used(NamedTuple):
    """The answers that are trained on: their features, and their quality (n,)."""

    features: list[np.ndarray]
    quality: np.ndarray


def _used(found: Sequence[tuple[np.ndarray, float]]) -> _Used:
    features, quality = [values for values, _ in found], np.array([value for _, value in found], dtype=float)
    rows = np.flatnonzero(usable(features, quality))
    return _Used([features[row] for row in rows], quality[rows])


def _row(method: str) -> SupervisedMethod:
    if method not in SUPERVISED:
        message = f"Unknown supervised method {method!r}; choose one of {', '.join(SUPERVISED)}."
        raise InvalidInput(message)
    return SUPERVISED[method]


def _first_of_one_model(given: Sequence[Answers]) -> Answers:
    if not given:
        message = "There are no answers to train on. Give at least one run."
        raise InvalidInput(message)
    first = given[0]
    for other in given[1:]:
        for name, one in vars(first.model).items():
            another = getattr(other.model, name)
            if one != another:
                message = (
                    f"{other.name} is of {name.replace('_', ' ')} {another}, {first.name} of {one}. A detector is "
                    "trained on answers of one model: give runs of the same one."
                )
                raise InvalidInput(message)
        if other.threshold != first.threshold:
            message = (
                f"An answer of {other.name} is correct above {other.threshold:g}, one of {first.name} above "
                f"{first.threshold:g}. Give runs whose measures have the same threshold."
            )
            raise InvalidInput(message)
    return first


def _common_layers(given: Sequence[Answers]) -> tuple[int, ...]:
    layers = tuple(sorted(set.intersection(*(set(own.layers) for own in given))))
    if not layers:
        message = "These runs kept the attention of different layers, and have none in common. Score one again."
        raise InvalidInput(message)
    return layers


def _with_features(
    row: SupervisedMethod, given: Answers, layers: tuple[int, ...]
) -> Iterator[tuple[np.ndarray, float]]:
    """Features and quality of the answers that have features.

    Raises:
        InvalidInput: none has, since the traces lack what the method reads, or for another reason.
    """
    reason, known = "it has no answers", False
    for trace, quality in zip(given.traces, given.quality.tolist(), strict=True):
        if missing := [extra for extra in row.extras if extra not in trace.extras]:
            message = (
                f"{given.name} did not keep {', '.join(missing)}, which {row.id} reads. Score the data set again with "
                f"--keep {','.join(row.extras)}."
            )
            raise InvalidInput(message)
        try:
            features = _features(row, trace, layers)
        except RauqError as error:
            reason = str(error)
            continue
        known = True
        yield features, quality
    if not known:
        message = f"{given.name} has no answer to train {row.id} on: {reason}"
        raise InvalidInput(message)


def _features(row: SupervisedMethod, trace: Trace, layers: tuple[int, ...]) -> np.ndarray:
    if (answer := part_of(trace, "answer")) is None:
        message = "the answers have no answer part, only thinking."
        raise InvalidInput(message)
    return features_of(answer, row.id, layers)
