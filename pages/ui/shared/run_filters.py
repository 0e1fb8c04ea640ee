"""Which run a page shows, and which of its answers: as the URL says it, and as rows of its table."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import streamlit as st

from analysis.runs.opened import Run
from pages.ui.host import runs
from pages.ui.shared import state, url_state
from pages.ui.shared.url_state import FILTERS, GROUP, LENGTH, QUALITY, RUN, TEXT, put_in_url


def picker(page: str) -> str:
    """The key of the list of runs on the page of that address."""
    return f"{page}_run"


def bring_back_url(page: str) -> None:
    """A switch of pages empties the URL: bring back what it said when this page was left."""
    if picker(page) not in st.session_state and not st.query_params and (last := st.session_state.get(_last(page))):
        st.query_params.from_dict(last)


def remember_url(page: str) -> None:
    """Keep the URL for `bring_back_url`."""
    st.session_state[_last(page)] = st.query_params.to_dict()


def run_name() -> str | None:
    """The run that the URL names, else the first one; None where there is none at all."""
    names = runs.names()
    name = st.query_params.get(RUN)
    if name is not None and name not in names:
        state.notify("There is no run of that name here." + (" The first one is shown." if names else ""))
        put_in_url(RUN, None)
    return name if name in names else next(iter(names), None)


def forget(names: Iterable[str]) -> None:
    """Take parameters out of the URL."""
    for name in names:
        put_in_url(name, None)


def mend(names: Iterable[str]) -> None:
    """Take out what a link asks for and cannot have, and tell the user."""
    if wrong := tuple(dict.fromkeys(names)):
        forget(wrong)
        state.notify(f"The link's {', '.join(wrong)} cannot be used here: the usual is shown.")


def _last(page: str) -> str:
    return f"_{page}_query"


Asked = TypeVar("Asked")

LONGEST_TEXT = 200
NUMBER_PATTERN = r"-?\d{1,9}(?:\.\d{1,6})?"

_RANGE = re.compile(rf"({NUMBER_PATTERN})\.\.({NUMBER_PATTERN})", re.ASCII)


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
    usable, wrong = url_state.read(query, {**parsers, **_PARSERS})
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
