"""A detector: a supervised method fitted on labelled answers of one model; its file, and its score of an answer."""

import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, Self

import numpy as np
from safetensors.numpy import save

from rauq.detectors import attention, factoscope, hidden_states
from rauq.detectors.checks import OfModel, check_layers, check_name, is_number, is_whole, require
from rauq.errors import InvalidInput
from rauq.labels import shortened
from rauq.layout import ANALYSIS_COMMAND
from rauq.trace.extras import BY_LAYER
from rauq.trace.file import arrays_and_texts, header_length, write
from rauq.trace.parts import NO_PART, part_of
from rauq.trace.trace import Extra, Trace

SCHEMA = 2
LARGEST_FILE = 4 * 2**30  # bytes: two covariances of d x d in each layer are the most that a method keeps
LARGEST_HEADER = 2**20
MOST_ANSWERS, MOST_SETS = 10_000_000, 1_000
_METADATA_KEY, _QUESTIONS = "rauq_detector", "questions"
_AGAIN = f"Train the detector again: {ANALYSIS_COMMAND} train."


class Fitted(Protocol):
    """What is fitted: a frozen dataclass of arrays, ints, floats and strs, which checks them."""

    def value(self, features: np.ndarray, /) -> float:
        """The uncertainty of an answer, higher is less certain; InvalidInput where it is undefined."""


@dataclass(frozen=True, kw_only=True)
class FittedMethod:
    """How a method scores: the `features` of a trace, which needs its `extras`, and the class that is `fitted` on them.

    `reads_attention`: the features are those of certain layers' attention, so that a trace has to have these layers.
    """

    fitted: type[Any]
    features: Callable[[Trace], np.ndarray]
    extras: tuple[Extra, ...] = ()
    reads_attention: bool = False


FITTED: Mapping[str, FittedMethod] = MappingProxyType(
    {
        "lookback_lens": FittedMethod(
            fitted=attention.LookbackLens,
            features=attention.lookback_lens_features,
            extras=attention.LOOKBACK_EXTRAS,
            reads_attention=True,
        ),
        "saplma": FittedMethod(
            fitted=hidden_states.Saplma, features=hidden_states.saplma_features, extras=hidden_states.SAPLMA_EXTRAS
        ),
        "mind": FittedMethod(
            fitted=hidden_states.Mind, features=hidden_states.mind_features, extras=hidden_states.LAYER_EXTRAS
        ),
        "sheeps": FittedMethod(
            fitted=hidden_states.Sheeps, features=hidden_states.layer_features, extras=hidden_states.LAYER_EXTRAS
        ),
        "satrmd": FittedMethod(
            fitted=hidden_states.Satrmd, features=hidden_states.layer_features, extras=hidden_states.LAYER_EXTRAS
        ),
        "tad": FittedMethod(fitted=attention.Tad, features=attention.tad_features, reads_attention=True),
        "factoscope": FittedMethod(
            fitted=factoscope.Factoscope, features=factoscope.features, extras=factoscope.EXTRAS
        ),
        "head_entropy_linear": FittedMethod(
            fitted=attention.HeadEntropy,
            features=attention.head_entropy_features,
            extras=attention.ENTROPY_EXTRAS,
            reads_attention=True,
        ),
    }
)
"""Each supervised method, by its id."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Detector(OfModel):
    """A method of `FITTED` by its id, fitted on `answers` answers of one model to the data sets named in `data`.

    `layers` are the absolute indices of those whose attention it reads, none for a method of hidden states. In training
    an answer was correct where its quality was above `threshold`. `questions` (Q,): hashes of what was asked,
    ascending, by which `rauq score` refuses answers to the same questions; none where unknown.

    Raises:
        InvalidInput: a value that is not allowed; the message says which, and what is allowed.
    """

    method: str
    layers: tuple[int, ...]
    data: tuple[str, ...]
    answers: int
    threshold: float
    fitted: Fitted
    questions: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint64))

    def __post_init__(self) -> None:
        super().__post_init__()
        row = _row(self.method)
        require(fits=isinstance(self.fitted, row.fitted), name="fitted", got=self.fitted, allowed=row.fitted.__name__)
        _check_layers(self, row)
        fits = type(self.data) is tuple and 0 < len(self.data) <= MOST_SETS
        require(fits=fits, name="data", got=self.data, allowed=f"1 to {MOST_SETS:,} names")
        for name in self.data:
            check_name(name, "data")
        fits = is_whole(self.answers, 1, MOST_ANSWERS)
        require(fits=fits, name="answers", got=self.answers, allowed=f"a whole number from 1 to {MOST_ANSWERS:,}")
        require(fits=is_number(self.threshold), name="threshold", got=self.threshold, allowed="a finite number")
        require(fits=_are_hashes(self.questions), name="questions", got=self.questions, allowed="ascending uint64 (Q,)")

    def __repr__(self) -> str:
        """One line: the method, the model, and what it was fitted on."""
        return f"Detector({self.method}, {self.model}, fitted on {self.answers:,} answers to {', '.join(self.data)})"

    def score(self, trace: Trace) -> float:
        """The uncertainty of an answer, higher is less certain, each method on a scale of its own.

        Of an answer with thinking the answer part is scored.

        Raises:
            InvalidInput: the trace is of another model, or its answer has no score; the message says why.
            NotCaptured: the trace lacks what the method reads; the message says how to capture it.
        """
        self.check_model(trace)
        check_layers(self.layers, trace)
        if (answer := part_of(trace, "answer")) is None:
            message = f"This answer has no score: {NO_PART['answer']}."
            raise InvalidInput(message)
        with np.errstate(all="ignore"):  # a file may hold any finite numbers
            found = self.fitted.value(features_of(answer, self.method, self.layers))
        if not math.isfinite(found):
            message = f"The score of this answer is {found}: the numbers of the detector are too large. {_AGAIN}"
            raise InvalidInput(message)
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one .safetensors file, whole or not at all: arrays, and JSON metadata with a schema number.

        Raises:
            InvalidInput: no file can be written there.
        """
        parts = {one.name: getattr(self.fitted, one.name) for one in fields(FITTED[self.method].fitted)}
        arrays = {name: np.ascontiguousarray(part) for name, part in parts.items() if isinstance(part, np.ndarray)}
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.name != _QUESTIONS}
        own["fitted"] = {name: part for name, part in parts.items() if name not in arrays}
        write(
            Path(path),
            save(arrays | {_QUESTIONS: self.questions}, {_METADATA_KEY: json.dumps({"schema": SCHEMA} | own)}),
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file that `save` wrote, with every check: the file may come from anyone.

        Raises:
            InvalidInput: no such file, too large, not a detector, truncated, damaged, or of another schema; the message
                says which.
        """
        arrays, own = _parts(_content(Path(path)), str(path))
        try:
            known = {"layers": tuple(own["layers"]), "data": tuple(own["data"]), _QUESTIONS: arrays.pop(_QUESTIONS)}
            return cls(**{**own, **known, "fitted": _fitted(own["method"], own["fitted"], arrays)})
        except (InvalidInput, TypeError, KeyError, AttributeError, ValueError) as error:
            message = f"{path} is damaged ({_short(error)}). {_AGAIN}"
            raise InvalidInput(message) from error


def _are_hashes(found: object) -> bool:
    return (
        isinstance(found, np.ndarray)
        and (found.dtype, found.ndim) == (np.dtype(np.uint64), 1)
        and len(found) <= MOST_ANSWERS
        and bool((found[1:] > found[:-1]).all())
    )


def features_of(trace: Trace, method: str, layers: tuple[int, ...]) -> np.ndarray:
    """The features that a method of `FITTED` has of an answer; of its attention only these layers' are read.

    Raises:
        NotCaptured: the trace lacks what the method reads; the message says how to capture it.
        InvalidInput: an extra does not fit the answer.
    """
    row = FITTED[method]
    return row.features(_with_layers(trace, layers) if row.reads_attention else trace)


def _with_layers(trace: Trace, layers: tuple[int, ...]) -> Trace:
    """The trace with the attention of these layers alone."""
    rows, size = [trace.layers.index(layer) for layer in layers], len(trace.layers)
    extras = {
        name: array[rows] if name in BY_LAYER and array.shape[:1] == (size,) else array
        for name, array in trace.extras.items()
    }
    return replace(trace, layers=layers, attention=trace.attention[rows], extras=extras)


def _row(method: object) -> FittedMethod:
    known = isinstance(method, str) and method in FITTED
    require(fits=known, name="method", got=method, allowed=f"one of {', '.join(FITTED)}")
    return FITTED[str(method)]


def _check_layers(detector: Detector, row: FittedMethod) -> None:
    given, most = detector.layers, detector.num_layers
    fits = type(given) is tuple and all(is_whole(layer, 0, most - 1) for layer in given)
    fits = fits and list(given) == sorted(set(given)) and bool(given) == row.reads_attention
    allowed = (
        f"ascending numbers of layers below {most:,}" if row.reads_attention else "(), since it reads no attention"
    )
    require(fits=fits, name="layers", got=given, allowed=allowed)


def _content(path: Path) -> bytes:
    if not path.is_file():
        message = f"There is no file {path}. Give the path of a detector that {ANALYSIS_COMMAND} train wrote."
        raise InvalidInput(message)
    try:
        if (size := path.stat().st_size) > LARGEST_FILE:
            message = f"{path} is too large for a detector: {size:,} bytes, and at most {LARGEST_FILE:,} are read."
            raise InvalidInput(message)
        return path.read_bytes()
    except OSError as error:
        message = f"{path} cannot be read ({error.strerror}). Check its permissions."
        raise InvalidInput(message) from error


def _check_header(content: bytes) -> None:
    if len(content) > header_length(content) > LARGEST_HEADER:
        message = f"its header has {header_length(content):,} bytes, and at most {LARGEST_HEADER:,} are read"
        raise ValueError(message)


def _parts(content: bytes, name: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays of a detector's file, and the fields of its metadata but for the schema number."""
    try:
        _check_header(content)
        arrays, texts = arrays_and_texts(content)
        own = json.loads(texts[_METADATA_KEY])
        schema = own.pop("schema")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        message = f"{name} is not a detector, or it is truncated ({_short(error)}). {_AGAIN}"
        raise InvalidInput(message) from error
    if type(schema) is not int or schema != SCHEMA:
        message = f"{name} has detector schema {shortened(repr(schema))}; this version reads schema {SCHEMA}. {_AGAIN}"
        raise InvalidInput(message)
    return arrays, own


def _fitted(method: str, scalars: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Fitted:
    """The fitted dataclass of a method from the parts of its file, each of the type that the field has."""
    made, given = _row(method).fitted, {**scalars, **arrays}
    for one in fields(made):
        if type(given[one.name]) is not one.type:
            message = f"{one.name} is {type(given[one.name]).__name__}, not {getattr(one.type, '__name__', '')}"
            raise TypeError(message)
    found: Fitted = made(**given)
    return found


def _short(error: Exception) -> str:
    text = f"there is no {error}" if isinstance(error, KeyError) else str(error)
    return shortened(text.rstrip("."), longest=200)
