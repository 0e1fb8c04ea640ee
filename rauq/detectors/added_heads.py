"""RAUQ + heads: RAUQ minus the attention of a few heads, chosen on labelled answers. Ours, not the paper's."""

import json
import math
import reprlib
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rauq.detectors.checks import (
    LONGEST_NAME,
    OfModel,
    are_pairs,
    check_layers,
    check_name,
    is_name,
    is_number,
    is_whole,
    require,
)
from rauq.errors import InvalidInput
from rauq.scoring.score import score
from rauq.scoring.settings import Settings
from rauq.trace.batch import batch
from rauq.trace.trace import Trace

SCHEMA, FORMAT = 1, "rauq + heads"
LARGEST_FILE = 4 * 2**20  # bytes
MOST_CHOSEN, MOST_ANSWERS, MOST_GROUPS = 1_000, 100_000, 1_000


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Mean and standard deviation of a measurement over the answers that a detector was fitted on."""

    mean: float
    std: float

    def __post_init__(self) -> None:
        require(fits=is_number(self.mean), name="mean", got=self.mean, allowed="a finite number")
        fits = is_number(self.std) and self.std > 0
        require(fits=fits, name="std", got=self.std, allowed="a finite number above 0")

    def standardised(self, value: float) -> float:
        """The distance of a value from the mean, in standard deviations."""
        return (value - self.mean) / self.std


@dataclass(frozen=True, kw_only=True)
class AddedHeads(OfModel):
    """RAUQ + k heads, fitted on labelled answers of one model to the data set `data`.

    `heads` are k (layer, head), absolute. The score is RAUQ under `settings`, standardised by `uncertainty`, minus the
    mean of the heads' mean attention to the previous token, standardised by `attention`; higher is more uncertain.
    `reference` are the scores of the answers that it was fitted on, ascending, and `groups` the number of answers of
    each group of them.

    Raises:
        InvalidInput: a value that is not allowed; the message says which, and what is allowed.
    """

    heads: tuple[tuple[int, int], ...]
    settings: Settings
    uncertainty: Scale
    attention: Scale
    reference: tuple[float, ...]
    groups: tuple[tuple[str, int], ...]
    data: str

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name(self.data, "data")
        _check_heads(self)
        _check_answers(self)
        fits = self.settings.alpha is not None and self.settings.signal is not None
        require(fits=fits, name="settings", got=self.settings, allowed="a signal and its alpha")

    @property
    def k(self) -> int:
        """How many heads are added."""
        return len(self.heads)

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers of the heads, ascending, each once."""
        return tuple(sorted({layer for layer, _ in self.heads}))

    def score(self, trace: Trace) -> float:
        """The score of an answer, higher for a more uncertain one; see `added_heads_score`."""
        return added_heads_score(self, trace)

    def rank(self, value: float) -> float:
        """The percentage (0 to 100) of the answers it was fitted on with a lower score; equal ones count half."""
        below, up_to = bisect_left(self.reference, value), bisect_right(self.reference, value)
        return 50 * (below + up_to) / len(self.reference)

    def to_json(self) -> str:
        """The content of the file that `read` reads."""
        groups = [{"name": name, "answers": answers} for name, answers in self.groups]
        return json.dumps({"format": FORMAT, "schema": SCHEMA, **asdict(self), "groups": groups}, indent=1)


def _check_heads(detector: AddedHeads) -> None:
    sizes = (detector.num_layers, detector.num_heads)
    fits = are_pairs(detector.heads, MOST_CHOSEN) and len(set(detector.heads)) == len(detector.heads)
    fits = fits and all(
        is_whole(at, 0, size - 1) for pair in detector.heads for at, size in zip(pair, sizes, strict=True)
    )
    allowed = f"different pairs of a layer and a head, counted from 0, of {sizes[0]:,} layers and {sizes[1]:,} heads"
    require(fits=fits, name="heads", got=detector.heads, allowed=allowed)


def _check_answers(detector: AddedHeads) -> None:
    given = detector.reference
    fits = 0 < len(given) <= MOST_ANSWERS and all(map(is_number, given)) and list(given) == sorted(given)
    allowed = f"1 to {MOST_ANSWERS:,} finite numbers, ascending"
    require(fits=fits, name="reference", got=given, allowed=allowed)
    fits = are_pairs(detector.groups, MOST_GROUPS) and all(
        is_name(name, LONGEST_NAME) and is_whole(answers, 1, MOST_ANSWERS) for name, answers in detector.groups
    )
    allowed = f"1 to {MOST_GROUPS:,} names of groups with their number of answers"
    require(fits=fits, name="groups", got=detector.groups, allowed=allowed)


def read(content: str | bytes, *, name: str = "the file") -> AddedHeads:
    """Read what `AddedHeads.to_json` gave, with every check: the content may come from anyone.

    Raises:
        InvalidInput: no such file, too large, damaged, or of another schema; the message says which, and calls the
            content `name`.
    """
    if len(content) > LARGEST_FILE:
        message = f"{name} is too large: {len(content):,} bytes, and at most {LARGEST_FILE:,} are accepted."
        raise InvalidInput(message)
    fields = _loaded(content, name)
    got = fields.pop("schema", None), fields.pop("format", None)
    if got != (SCHEMA, FORMAT):
        message = (
            f"{name} is of format {reprlib.repr(got[1])}, schema {reprlib.repr(got[0])}; this version reads "
            f"{FORMAT!r}, schema {SCHEMA}. {_SAVE_AGAIN}"
        )
        raise InvalidInput(message)
    try:
        return _of_fields(fields)
    except (InvalidInput, TypeError, KeyError, AttributeError, ValueError) as error:
        message = f"{name} is damaged ({_short(error)}). {_SAVE_AGAIN}"
        raise InvalidInput(message) from error


def _of_fields(fields: Mapping[str, Any]) -> AddedHeads:
    known = {
        "heads": tuple(map(tuple, fields["heads"])),
        "settings": Settings(**fields["settings"]),
        "uncertainty": Scale(**fields["uncertainty"]),
        "attention": Scale(**fields["attention"]),
        "reference": tuple(fields["reference"]),
        "groups": tuple((group["name"], group["answers"]) for group in fields["groups"]),
    }
    return AddedHeads(**{**fields, **known})


_SAVE_AGAIN = "Save the detector again, on the page Answer sets, Heads."


def _loaded(content: str | bytes, name: str) -> dict[str, Any]:
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError) as error:
        message = f"{name} is not JSON, or it is truncated ({_short(error)}). {_SAVE_AGAIN}"
        raise InvalidInput(message) from error
    if not isinstance(fields, dict):
        message = f"{name} holds {type(fields).__name__}, not an object with the fields of a detector. {_SAVE_AGAIN}"
        raise InvalidInput(message)
    return fields


def _short(error: Exception) -> str:
    text = f"missing field {error}" if isinstance(error, KeyError) else str(error)
    return text.rstrip(".")[:200]


def added_heads_score(detector: AddedHeads, trace: Trace) -> float:
    """RAUQ minus the mean attention of the detector's heads, each in standard deviations; higher is more uncertain.

    Raises:
        InvalidInput: the trace is of another model, or its answer has no score; the message says why.
        NotCaptured: the trace lacks the attention of a layer or of the last token.
    """
    check_fits(detector, trace)
    found = score(trace, detector.settings)
    attention = _mean_attention(detector, trace)
    value = detector.uncertainty.standardised(found.uncertainty) - detector.attention.standardised(attention)
    if not math.isfinite(value):
        reason = found.reasons.uncertainty or "an answer of one token has no attention between tokens"
        message = f"RAUQ + heads is undefined for this answer: {reason}."
        raise InvalidInput(message)
    return value


def check_fits(detector: AddedHeads, trace: Trace) -> None:
    """Refuse a trace of another model than the detector's.

    Raises:
        InvalidInput: another model, revision, kind or shape.
        NotCaptured: the trace lacks a layer of the heads, or its weights are attributions.
    """
    detector.check_model(trace)
    check_layers(detector.layers, trace)


def _mean_attention(detector: AddedHeads, trace: Trace) -> float:
    settings = detector.settings
    means = batch([trace], settings.alignment, settings.part).head_means(detector.layers)[0]
    chosen = [float(means[detector.layers.index(layer), head]) for layer, head in detector.heads]
    return math.fsum(chosen) / len(chosen)
