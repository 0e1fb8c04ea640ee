"""Which answers of a run are looked at: as a URL says it, and as rows of the run's table."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from analysis.runs.opened import Run
from pages.ui import links
from pages.ui.links import FILTERS, GROUP, LENGTH, QUALITY, TEXT

Asked = TypeVar("Asked")

LONGEST_TEXT = 200
NUMBER = r"-?\d{1,9}(?:\.\d{1,6})?"

_RANGE = re.compile(rf"({NUMBER})\.\.({NUMBER})", re.ASCII)


class Span(NamedTuple):
    """A range of numbers, both ends included."""

    low: float = -math.inf
    high: float = math.inf


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Which answers are looked at; a group of None and an empty text leave all in."""

    group: str | None = None
    quality: Span = field(default_factory=Span)
    length: Span = field(default_factory=Span)
    text: str = ""


class ReadAsked(NamedTuple, Generic[Asked]):
    """What a link asks for, and the names of what in it cannot be used: there the usual stands in."""

    asked: Asked
    wrong: tuple[str, ...]


def groups(run: Run) -> tuple[str, ...]:
    """The groups of the run's answers, in the order of their names."""
    return tuple(sorted(set(run.answers["group"])))


def marks_facts(run: Run) -> bool:
    """Whether it is known of any answer which tokens carry the fact."""
    return bool(np.asarray(run.answers["num_fact_tokens"] > 0).any())


def passing(run: Run, filters: Filters) -> np.ndarray:
    """Which answers pass: (A,) of True and False. A quality that is undefined lies in no range but the whole one."""
    table = run.answers
    passed = np.ones(len(table), dtype=bool)
    if filters.group is not None:
        passed &= np.asarray(table["group"] == filters.group)
    for name, span in (("quality", filters.quality), ("num_tokens", filters.length)):
        if span != Span():
            passed &= np.asarray(table[name].between(*span))
    if wanted := filters.text.casefold():
        texts = zip(table["prompt"], table["answer"], strict=True)
        passed &= np.array(
            [wanted in prompt.casefold() or wanted in answer.casefold() for prompt, answer in texts], bool
        )
    return passed


def read(
    query: Mapping[str, str], parsers: Mapping[str, Callable[[str], Any]], asked: Callable[..., Asked]
) -> ReadAsked[Asked]:
    """What the parameters of a URL ask for, whatever run it is of; `parsers` are those of the page itself."""
    usable, wrong = links.read(query, {**parsers, **_PARSERS})
    filters = Filters(**{name: usable.pop(name) for name in FILTERS if name in usable})
    return ReadAsked(asked(**usable, filters=filters), wrong)


def written_span(span: Span) -> str:
    """A range as it stands in a URL."""
    return f"{span.low:.6g}..{span.high:.6g}"


def _span(text: str) -> Span | None:
    ends = _RANGE.fullmatch(text)
    if ends is None or float(ends[1]) > float(ends[2]):
        return None
    return Span(float(ends[1]), float(ends[2]))


def _text(text: str) -> str | None:
    return text if 0 < len(text) <= LONGEST_TEXT else None


_PARSERS: Mapping[str, Callable[[str], Any]] = MappingProxyType(
    {GROUP: str, QUALITY: _span, LENGTH: _span, TEXT: _text}
)
"""By the name of a URL parameter of a filter: its text to its value, or None where the text cannot be used."""
