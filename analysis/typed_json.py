"""Typed records out of JSON that anyone may have written."""

import reprlib
from functools import cache
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

Record = TypeVar("Record")

_adapter = cache(TypeAdapter)  # it takes milliseconds to build


def parsed(kind: type[Record], text: str | bytes) -> Record:
    """A dataclass, or a tuple of them, out of JSON; nothing is converted, but lists become tuples.

    Raises:
        ValueError: no JSON, or a field that is missing, unknown, of another type or out of its bounds; the message says
            for the first one what was got and what is allowed.
    """
    try:
        adapter = _adapter(kind)  # type: ignore[arg-type]  # a type can be hashed
        return adapter.validate_json(text, strict=True, extra="forbid")
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the text"
        message = f"{where} is {reprlib.repr(first['input'])}: {first['msg']}"
        raise ValueError(message) from error
