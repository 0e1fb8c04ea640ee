"""How a setting is declared, once for every surface: its words, the values it takes, and their form as text."""

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from numbers import Real
from types import MappingProxyType, NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from rauq.errors import InvalidInput


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What is said of a field of `Settings`, which is annotated with it; its kinds say which values it takes.

    `label`, `help` and `unit` are shown. `folded`: the form shows it in a section that is closed at first. `names` and
    `optional` follow from the type of the field: the names that it allows, and whether None stands for the paper's.
    """

    label: str
    help: str
    unit: str = ""
    folded: bool = False
    names: tuple[str, ...] = ()
    optional: bool = False

    @property
    def about(self) -> str:
        """What it is, and in which unit."""
        return f"{self.help} Unit: {self.unit}." if self.unit else self.help

    def checked(self, name: str, value: Any) -> Any:  # noqa: ANN401 - whatever a caller gave
        """The value as it is kept.

        Raises:
            InvalidInput: it is not allowed; the message has `name` and what is.
        """
        check_name(name, value, self.names)
        return value

    def read(self, text: str) -> Any:  # noqa: ANN401 - whatever the setting holds
        """The value of a text, as in a URL; None where the text cannot be used."""
        return text if text in self.names else None

    def write(self, value: Any) -> str:  # noqa: ANN401 - whatever the setting holds
        """The text of a value, which `read` takes back."""
        return str(value)


@dataclass(frozen=True, kw_only=True)
class Choice(Setting):
    """One of a few names; `is_menu`: they are too many to stand side by side."""

    is_menu: bool = False


@dataclass(frozen=True, kw_only=True)
class Share(Setting):
    """A number from 0 to 1."""

    def checked(self, name: str, value: Any) -> float:  # noqa: ANN401
        """As of `Setting`."""
        # nan fails every comparison
        if isinstance(value, bool) or not isinstance(value, float | Real) or not 0 <= float(value) <= 1:
            or_none = ", or None for the paper's" if self.optional else ""
            message = f"{name} is {value!r}; give a number from 0 to 1{or_none}."
            raise InvalidInput(message)
        return float(value)

    def read(self, text: str) -> float | None:
        """As of `Setting`; at most four decimals."""
        return float(text) if re.fullmatch(r"0(\.\d{1,4})?|1(\.0{1,4})?", text, re.ASCII) else None

    def write(self, value: float) -> str:
        """As of `Setting`."""
        return f"{value:.4g}"


@dataclass(frozen=True, kw_only=True)
class Layers(Setting):
    """A name, or a tuple of layers, each once; as a text 3.4.5."""

    def checked(self, name: str, value: Any) -> Any:  # noqa: ANN401
        """As of `Setting`."""
        if isinstance(value, str):
            return super().checked(name, value)
        indices = _indices(value, name, f"{', '.join(self.names)} or a tuple of layer indices")
        if not indices or len(set(indices)) < len(indices):
            message = f"{name} is {value!r}; name at least one layer, and each one once."
            raise InvalidInput(message)
        return indices

    def read(self, text: str) -> Any:  # noqa: ANN401
        """As of `Setting`."""
        return text if text in self.names else _listed(text, r"\d{1,4}", int)

    def write(self, value: Any) -> str:  # noqa: ANN401
        """As of `Setting`."""
        return value if isinstance(value, str) else ".".join(map(str, value))


@dataclass(frozen=True, kw_only=True)
class Heads(Setting):
    """A name, or a tuple of pairs of layer and head, one a layer; as a text 3-0.4-2."""

    def checked(self, name: str, value: Any) -> Any:  # noqa: ANN401
        """As of `Setting`."""
        if isinstance(value, str):
            return super().checked(name, value)
        allowed = f"{', '.join(self.names)} or a tuple of (layer, head) pairs"
        pairs = tuple(_indices(pair, name, allowed) for pair in value) if isinstance(value, Iterable) else ()
        if not pairs or any(len(pair) != 2 for pair in pairs) or len({layer for layer, _ in pairs}) < len(pairs):
            message = f"{name} is {value!r}; choose {allowed}, one pair a layer."
            raise InvalidInput(message)
        return pairs

    def read(self, text: str) -> Any:  # noqa: ANN401
        """As of `Setting`."""
        return text if text in self.names else _listed(text, r"\d{1,4}-\d{1,4}", _pair)

    def write(self, value: Any) -> str:  # noqa: ANN401
        """As of `Setting`."""
        return value if isinstance(value, str) else ".".join(f"{layer}-{head}" for layer, head in value)


def declared(settings: type) -> Mapping[str, Setting]:
    """By the name of a field of the dataclass, the setting that it is annotated with."""
    return _declared(settings)


@cache
def _declared(settings: type) -> Mapping[str, Setting]:
    hints = get_type_hints(settings, include_extras=True)
    return MappingProxyType(
        {name: _of_hint(hint) for name, hint in hints.items() if isinstance(_metadata(hint), Setting)}
    )


def _metadata(hint: object) -> object:
    return getattr(hint, "__metadata__", (None,))[0]


def _of_hint(hint: Any) -> Setting:  # noqa: ANN401 - an annotation
    held = hint.__origin__
    kinds = (held,) if get_origin(held) is Literal else get_args(held)
    names = tuple(name for kind in kinds if get_origin(kind) is Literal for name in get_args(kind))
    return replace(hint.__metadata__[0], names=names, optional=NoneType in kinds)


def check_name(option: str, given: object, allowed: tuple[str, ...]) -> None:
    """Check that a name is among those that are allowed.

    Raises:
        InvalidInput: it is not.
    """
    if given not in allowed:
        message = f"Unknown {option} {given!r}; choose one of {', '.join(allowed)}."
        raise InvalidInput(message)


_MOST_LISTED = 256


def _listed(text: str, item: str, read: Callable[[str], Any]) -> tuple[Any, ...] | None:
    """The items of a text with dots between them; None where it has another form."""
    form = rf"{item}(\.{item}){{0,{_MOST_LISTED - 1}}}"
    return tuple(map(read, text.split("."))) if re.fullmatch(form, text, re.ASCII) else None


def _pair(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split("-")))


def _indices(values: Any, option: str, allowed: str) -> tuple[int, ...]:  # noqa: ANN401 - whatever a caller gave
    """A tuple of Python integers from 0 up, or InvalidInput."""
    message = f"{option} is {values!r}; choose {allowed}, counted from 0."
    try:
        indices = tuple(operator.index(value) for value in values)
    except TypeError as error:
        raise InvalidInput(message) from error
    if any(index < 0 for index in indices):
        raise InvalidInput(message)
    return indices
