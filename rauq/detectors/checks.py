"""What the fields of a detector may hold: its file may come from anyone."""

import reprlib
from collections.abc import Iterable, Sized

import numpy as np

from rauq.errors import InvalidInput
from rauq.labels import shortened


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
