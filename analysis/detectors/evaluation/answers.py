"""Answers of one model to one or several data sets: what detectors are fitted on, and judged by."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from analysis.quality.measures import measure
from analysis.questions import as_first_asked
from analysis.runs.opened import Run
from analysis.runs.traces import traces_of
from rauq.errors import InvalidInput, NotCaptured, RauqError
from rauq.labels import running
from rauq.trace.parts import NO_PART, part_of
from rauq.trace.trace import Trace

BESIDE = ("rauq", "msp")  # methods that are not fitted


class Fitted(Protocol):
    """A method fitted on answers."""

    def value(self, features: np.ndarray, /) -> float:
        """The uncertainty of an answer with these features, higher for a more uncertain one.

        Raises:
            InvalidInput: it is undefined; the message says why.
        """


class SupervisedMethod(Protocol):
    """A method that is fitted on answers: its features of a trace, its search of settings if it has one, and its fit.

    `extras`: the arrays that a trace must have captured. Answers are correct where quality is above `threshold`.
    """

    @property
    def id(self) -> str:
        """The id of the method."""

    @property
    def extras(self) -> tuple[str, ...]:
        """The extras that a trace must have."""

    @property
    def features(self) -> Callable[[Trace], np.ndarray]:
        """The features of an answer."""

    @property
    def search(self) -> Callable[..., Any] | None:
        """Settings from (features, quality, *, threshold, seed, full); None where nothing is searched."""

    @property
    def fit(self) -> Callable[..., Fitted]:
        """The fitted method from (features, quality, *, threshold, settings, seed)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Answers:
    """A answers of one model, all with a quality.

    `data` and `families` (A,): the names of the data set and of the family of each. `questions` (A,): what is asked;
    near-duplicates, in other data sets too, have one text, unless the user treats them as different in a run. `texts`
    (A,): question and answer. `lengths` (A, 2): characters of the prompt and tokens of the answer. `quality` (A,):
    correct above `threshold`. `beside`: by id, the uncertainty (A,) of methods that are not fitted; nan where a run
    lacks it.
    """

    data: tuple[str, ...]
    families: tuple[str, ...]
    questions: tuple[str, ...]
    texts: tuple[str, ...]
    lengths: np.ndarray
    quality: np.ndarray
    threshold: float
    beside: Mapping[str, np.ndarray]

    @cached_property
    def clusters(self) -> np.ndarray:
        """Answers to one question have one label (A,)."""
        return np.asarray(np.unique(self.questions, return_inverse=True)[1])

    @property
    def correct(self) -> np.ndarray:
        """Which answers are correct (A,)."""
        return self.quality > self.threshold

    @property
    def data_sets(self) -> tuple[str, ...]:
        """The names of the data sets, in their order."""
        return tuple(dict.fromkeys(self.data))


@dataclass(frozen=True, eq=False)
class Features:
    """The features of A answers for one method, None where an answer has none, and then the reason; else ""."""

    values: tuple[np.ndarray | None, ...]
    reasons: tuple[str, ...]


def common_threshold(runs: Sequence[Run]) -> float:
    """The quality above which the runs' measures call an answer correct.

    Raises:
        InvalidInput: they have different ones.
    """
    found = {measure(run.manifest.request.quality).thresholds.roc for run in runs}
    if len(found) > 1:
        listed = ", ".join(f"{one:g}" for one in sorted(found))
        message = f"The measures of quality of these runs have different thresholds: {listed}. Give one: --threshold."
        raise InvalidInput(message)
    return found.pop()


def rows_with_quality(run: Run) -> np.ndarray:
    """The rows of a run's table that have a quality."""
    return np.flatnonzero(np.isfinite(run.answers["quality"].to_numpy(dtype=float)))


def answers_of(runs: Sequence[Run], *, threshold: float | None = None) -> Answers:
    """All answers with a quality, run by run; without a threshold, that of the runs' measures is used.

    Raises:
        InvalidInput: no run, runs of different models, two runs of one data set, measures with different thresholds, or
            a threshold that is not from 0 to 1.
    """
    _check_runs(runs)
    level = common_threshold(runs) if threshold is None else threshold
    if not 0 <= level < 1:
        message = f"The threshold of quality must be at least 0 and below 1; got {level:g}."
        raise InvalidInput(message)
    parts = [(run, rows_with_quality(run)) for run in runs]
    tables = [run.answers.iloc[rows] for run, rows in parts]
    questions = [run.questions[row] for run, rows in parts for row in rows]
    texts = [text for table in tables for text in table["answer"]]
    prompts = [len(prompt) for table in tables for prompt in table["prompt"]]
    return Answers(
        data=tuple(name for name, (_, rows) in zip(names_of_data(runs), parts, strict=True) for _ in rows),
        families=tuple(name for table in tables for name in table["group"]),
        questions=as_first_asked(questions, apart=any(run.apart for run in runs)),
        texts=tuple(f"{question}\n{text}" for question, text in zip(questions, texts, strict=True)),
        lengths=np.column_stack([prompts, np.concatenate([run.lengths[rows] for run, rows in parts])]).astype(float),
        quality=np.concatenate([table["quality"].to_numpy(dtype=float) for table in tables]),
        threshold=level,
        beside={name: np.concatenate([run.uncertainty(name)[rows] for run, rows in parts]) for name in BESIDE},
    )


def names_of_data(runs: Sequence[Run]) -> tuple[str, ...]:
    """The names of the runs' data sets, each on one line; of different ones with one name, with the run's name too."""
    names = [running(run.manifest.request.data) for run in runs]
    return tuple(
        f"{name} ({running(run.folder.name)})" if names.count(name) > 1 else name
        for name, run in zip(names, runs, strict=True)
    )


def _check_runs(runs: Sequence[Run]) -> None:
    if not runs:
        message = "No run was given: detectors are fitted on the answers of at least one."
        raise InvalidInput(message)
    if other := next((run for run in runs if run.answerer != runs[0].answerer), None):
        models = " and ".join(running(run.answerer.name) for run in (runs[0], other))
        message = f"The runs are of different models or revisions, {models}: a detector is fitted on one model."
        raise InvalidInput(message)
    contents = [run.manifest.request.data_sha256 for run in runs]
    if twice := next((run for run, own in zip(runs, contents, strict=True) if contents.count(own) > 1), None):
        name = running(twice.manifest.request.data)
        message = f"Two runs are of the data set {name}: give one run for each data set."
        raise InvalidInput(message)


def features_of(runs: Sequence[Run], method: SupervisedMethod) -> Features:
    """The features of the answers of `answers_of`, in their order.

    Raises:
        RunError: a shard can no longer be read.
    """
    found = [_features(trace, method) for run in runs for trace in traces_of(run, rows_with_quality(run).tolist())]
    return Features(tuple(value for value, _ in found), tuple(reason for _, reason in found))


def _features(trace: Trace, method: SupervisedMethod) -> tuple[np.ndarray | None, str]:
    if (answer := part_of(trace, "answer")) is None:
        return None, NO_PART["answer"]
    try:
        return method.features(answer), ""
    except NotCaptured as error:
        kept = f" In a run: score it again with --keep {','.join(method.extras)}." if method.extras else ""
        return None, f"{error}{kept}"
    except RauqError as error:
        return None, str(error)
