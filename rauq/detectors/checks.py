"""What the fields of a detector may hold, since its file may come from anyone, and which answers it may score."""

import reprlib
from collections.abc import Collection, Iterable, Sized
from dataclasses import dataclass, fields
from typing import get_args

import numpy as np

from rauq.errors import InvalidInput, NotCaptured
from rauq.labels import shortened
from rauq.trace.file import MOST_HEADS, MOST_LAYERS
from rauq.trace.trace import Kind, Trace

LONGEST_NAME = 1_000  # characters


@dataclass(frozen=True, eq=False, kw_only=True)
class OfModel:
    """The model whose answers a detector was fitted on; it scores no other's.

    Raises:
        InvalidInput: a value that is not allowed; the message says which, and what is allowed.
    """

    model: str
    revision: str
    kind: Kind
    num_layers: int
    num_heads: int

    def __post_init__(self) -> None:
        for name in ("model", "revision"):
            check_name(getattr(self, name), name)
        kinds = get_args(Kind)
        require(fits=self.kind in kinds, name="kind", got=self.kind, allowed=" or ".join(kinds))
        for name, most in (("num_layers", MOST_LAYERS), ("num_heads", MOST_HEADS)):
            own = getattr(self, name)
            require(fits=is_whole(own, 1, most), name=name, got=own, allowed=f"a whole number from 1 to {most:,}")

    def check_model(self, trace: Trace) -> None:
        """Refuse a trace of another model.

        Raises:
            InvalidInput: another model, revision, kind or shape.
        """
        for name in (field.name for field in fields(OfModel)):
            own, other = getattr(self, name), getattr(trace, name)
            if own != other:
                message = (
                    f"This detector was fitted on {name.replace('_', ' ')} {own}, and the answer is of {other}. "
                    "Use a detector that was fitted on answers of the same model."
                )
                raise InvalidInput(message)


def check_layers(layers: Collection[int], trace: Trace) -> None:
    """Refuse a trace without the attention of these layers.

    Raises:
        NotCaptured: it lacks a layer.
    """
    if missing := sorted(set(layers) - set(trace.layers)):
        listed = ", ".join(map(str, missing))
        message = f"The trace has no attention of layer {listed}, which the detector needs. Generate the answer again."
        raise NotCaptured(message)


def check_name(value: object, name: str) -> None:
    """Refuse anything but a text of at most LONGEST_NAME characters.

    Raises:
        InvalidInput: it is something else.
    """
    allowed = f"a text of at most {LONGEST_NAME:,} characters"
    require(fits=is_name(value, LONGEST_NAME), name=name, got=value, allowed=allowed)


def require(*, fits: bool, name: str, got: object, allowed: str) -> None:
    """Refuse a value that is not allowed.

    Raises:
        InvalidInput: it does not fit; the message says what was got and what is allowed.
    """
    if not fits:
        message = f"{name} is {shortened(reprlib.repr(got), longest=80)}; give {allowed}."
        raise InvalidInput(message)


_LARGEST = 1e150  # the quotient and the product of two such numbers are finite


def is_number(value: object) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -_LARGEST < value < _LARGEST


def is_whole(value: object, low: int, high: int) -> bool:
    """Whether a value is a whole number from `low` to `high`, both included."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def is_name(value: object, longest: int) -> bool:
    """Whether a value is a text of at most `longest` characters that can be encoded."""
    return isinstance(value, str) and len(value) <= longest and value == value.encode("utf-8", "replace").decode()


def are_pairs(values: object, most: int) -> bool:
    """Whether values are at least one and at most `most` pairs."""
    return (
        isinstance(values, Iterable)
        and isinstance(values, Sized)
        and 0 < len(values) <= most
        and all(isinstance(pair, tuple) and len(pair) == 2 for pair in values)
    )


def require_array(value: object, shape: tuple[int | None, ...], *, name: str) -> None:
    """Refuse what is not an array of finite numbers of this shape, where None is any size from 1 on.

    Raises:
        InvalidInput: another type, another shape, or a number that is not finite.
    """
    fits = (
        isinstance(value, np.ndarray)
        and value.dtype.kind in "iuf"
        and value.ndim == len(shape)
        and all(
            size >= 1 if wanted is None else size == wanted for size, wanted in zip(value.shape, shape, strict=True)
        )
        and bool(np.isfinite(value).all())
    )
    sizes = ", ".join("any" if size is None else str(size) for size in shape)
    got = f"{value.dtype} {value.shape}" if isinstance(value, np.ndarray) else value
    require(fits=fits, name=name, got=got, allowed=f"an array ({sizes}) of finite numbers")


def require_features(features: np.ndarray, shape: tuple[int | None, ...], *, method: str) -> None:
    """Refuse features of an answer that a fitted detector has no value for; None in `shape` is any size from 1 on.

    Raises:
        InvalidInput: another shape than that of the answers the detector was fitted on, or not all are finite.
    """
    fits = features.ndim == len(shape) and all(
        size >= 1 if wanted is None else size == wanted for size, wanted in zip(features.shape, shape, strict=True)
    )
    if not fits:
        sizes = ", ".join("any" if size is None else str(size) for size in shape)
        message = (
            f"{method} was fitted on features of shape ({sizes}), and this answer's are {features.shape}. Use a "
            "detector that was fitted on answers of the same model, captured in the same way."
        )
        raise InvalidInput(message)
    if not np.isfinite(features).all():
        message = f"{method} is undefined for this answer: its features hold nan or infinity. Generate it again."
        raise InvalidInput(message)
