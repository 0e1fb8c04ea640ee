"""Records out of JSON: every field is of the type that it is annotated with, or the record is refused."""

from collections.abc import Mapping
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Record = TypeVar("Record")


def typed(kind: type[Record], row: Mapping[str, Any]) -> Record:
    """A dataclass out of a JSON object; lists become tuples.

    Raises:
        ValueError: a field of another type.
        TypeError: a field that is missing, or none of its own.
    """
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
    kinds = get_type_hints(kind)
    for name, value in values.items():
        if name in kinds and not _fits(value, kinds[name]):
            message = f"{name} is {value!r}"
            raise ValueError(message)
    return kind(**values)


def _fits(value: object, kind: Any) -> bool:  # noqa: ANN401 - a type as it is annotated
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Literal:
        return value in parts
    if origin in (Union, UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(item, parts[0]) for item in value)
    return type(value) is kind  # True is no whole number here
