"""What a link to the page Answer sets asks for: which run, which view of it, of which answers, tokens and layer."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from analysis.quality.judgement import Thresholds
from analysis.runs.arrays import TokenChoice
from analysis.runs.opened import Run
from analysis.runs.shard import OFFSETS
from pages.ui import links
from pages.ui.links import (
    CORRECT,
    COUNT,
    FILTERS,
    GROUP,
    INCORRECT,
    LAYER,
    LENGTH,
    OFFSET,
    QUALITY,
    TEXT,
    TOKENS,
    VIEW,
)

View = Literal["best", "gap", "bins", "further", "picked", "separation", "meaning", "answers"]
MOST_ROWS = 50  # best and worst answers, of each
LONGEST_TEXT = 200

_NUMBER = r"-?\d{1,9}(?:\.\d{1,6})?"
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})", re.ASCII)
_QUALITY = re.compile(_NUMBER, re.ASCII)


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


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is to be shown; a layer of None is the middle one, thresholds of None are those of the run's measure."""

    view: View = "gap"
    layer: int | None = None
    tokens: TokenChoice = "all"
    offset: int = 1
    k: int = 10
    above: float | None = None
    below: float | None = None
    filters: Filters = field(default_factory=Filters)


class ReadAsked(NamedTuple):
    """What a link asks for, and the names of what in it cannot be used: there the usual stands in."""

    asked: Asked
    wrong: tuple[str, ...]


def read_asked(query: Mapping[str, str]) -> ReadAsked:
    """What the parameters of a URL ask for, whatever run it is of."""
    found = {name: parse(query[name]) for name, parse in _PARSERS.items() if name in query}
    wrong = tuple(name for name, value in found.items() if value is None)
    usable = {name: value for name, value in found.items() if value is not None}
    filters = Filters(**{name: usable.pop(name) for name in FILTERS if name in usable})
    return ReadAsked(Asked(**usable, filters=filters), wrong)


def fitted(asked: Asked, run: Run, usual: Thresholds) -> ReadAsked:
    """The same as far as the run can follow: layers, groups and tokens that it lacks give way to the usual."""
    wrong = []
    if asked.layer is not None and asked.layer not in run.answerer.layers:
        wrong.append(LAYER)
        asked = replace(asked, layer=None)
    if asked.tokens != "all" and not marks_facts(run):
        wrong.append(TOKENS)
        asked = replace(asked, tokens="all")
    if asked.filters.group is not None and asked.filters.group not in groups(run):
        wrong.append(GROUP)
        asked = replace(asked, filters=replace(asked.filters, group=None))
    chosen = thresholds(asked, usual)
    if chosen.incorrect > chosen.correct:
        wrong += [CORRECT, INCORRECT]
        asked = replace(asked, above=None, below=None)
    return ReadAsked(asked, tuple(wrong))


def thresholds(asked: Asked, usual: Thresholds) -> Thresholds:
    """The thresholds that are asked for, else the measure's."""
    return replace(
        usual,
        correct=usual.correct if asked.above is None else asked.above,
        incorrect=usual.incorrect if asked.below is None else asked.below,
    )


def groups(run: Run) -> tuple[str, ...]:
    """The groups of the run's answers, in the order of their names."""
    return tuple(sorted(set(run.answers["group"])))


def marks_facts(run: Run) -> bool:
    """Whether it is known of any answer which tokens carry the fact."""
    return bool(np.asarray(run.answers["num_fact_tokens"] > 0).any())


def written_span(span: Span) -> str:
    """A range as it stands in a URL."""
    return f"{span.low:.6g}..{span.high:.6g}"


def _one_of(allowed: tuple[Any, ...]) -> Callable[[str], Any]:
    return {str(value): value for value in allowed}.get


def _threshold(text: str) -> float | None:
    return float(text) if _QUALITY.fullmatch(text) else None


def _span(text: str) -> Span | None:
    ends = _RANGE.fullmatch(text)
    if ends is None or float(ends[1]) > float(ends[2]):
        return None
    return Span(float(ends[1]), float(ends[2]))


def _text(text: str) -> str | None:
    return text if 0 < len(text) <= LONGEST_TEXT else None


_PARSERS: Mapping[str, Callable[[str], Any]] = MappingProxyType(
    {
        VIEW: _one_of(get_args(View)),
        LAYER: links.number,
        TOKENS: _one_of(get_args(TokenChoice)),
        OFFSET: _one_of(OFFSETS),
        COUNT: _one_of(tuple(range(1, MOST_ROWS + 1))),
        CORRECT: _threshold,
        INCORRECT: _threshold,
        GROUP: str,
        QUALITY: _span,
        LENGTH: _span,
        TEXT: _text,
    }
)
