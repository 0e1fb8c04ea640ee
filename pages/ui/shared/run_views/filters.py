"""Which run a page shows, and which of its answers: as the URL says it, and as rows of its table."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
import streamlit as st

from analysis.runs.opened import Run
from pages.ui.host import runs
from pages.ui.shared import state, url_state
from pages.ui.shared.url_state import RUN, Codec, Form, Name, Read, codecs_of, matching, text_of


def picker(page: str) -> str:
    """The key of the list of runs on the page of that address."""
    return f"{page}_run"


def is_arriving(page: str) -> bool:
    """Whether the user comes from another page: a switch drops the widgets."""
    return picker(page) not in st.session_state


def run_name() -> str | None:
    """The run that the URL names, else the first one; None where there is none at all."""
    names = runs.names()
    name = st.query_params.get(RUN)
    if name is not None and name not in names:
        state.notify("There is no run of that name here." + (" The first one is shown." if names else ""))
        url_state.drop(RUN)
    return name if name in names else next(iter(names), None)


def asked(usual: Form, fitted: Callable[[Form], Read[Form]]) -> Form:
    """The query of the URL; parameters that are unusable or do not fit are removed with a notice."""
    found, wrong = url_state.read(st.query_params.to_dict(), usual)
    found, unfit = fitted(found)
    mend((*wrong, *unfit))
    return found


def mend(names: Iterable[str]) -> None:
    """Remove unusable parameters of a link from the URL, and show a notice."""
    if wrong := tuple(dict.fromkeys(names)):
        url_state.drop(*wrong)
        state.notify(f"In the link, {', '.join(wrong)} cannot be used on this page; the default is used instead.")


LONGEST_TEXT = 200
NUMBER_PATTERN = r"-?\d{1,9}(?:\.\d{1,6})?"


class Span(NamedTuple):
    """A range of numbers, both ends included."""

    low: float = -math.inf
    high: float = math.inf


_WHOLE = Span()


def _span(text: str) -> Span | None:
    span = Span(*map(float, text.split("..")))
    return span if span.low <= span.high else None


def written_span(span: Span) -> str:
    """A range as written in a URL."""
    return "..".join(map(text_of, span))


_Range = Annotated[Span, Codec(matching(rf"{NUMBER_PATTERN}\.\.{NUMBER_PATTERN}", _span), written_span)]


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Which answers are shown; a group of None and an empty text leave all in."""

    group: Name = None
    quality: _Range = _WHOLE
    length: _Range = _WHOLE
    text: Annotated[str, Codec(lambda text: text if 0 < len(text) <= LONGEST_TEXT else None)] = ""


FILTERS = tuple(codecs_of(Filters))


def groups(run: Run) -> tuple[str, ...]:
    """The groups of the run's answers, in the order of their names."""
    return tuple(sorted(run.answers["group"].unique()))


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
        if span != _WHOLE:
            passed &= np.asarray(table[name].between(*span))
    if wanted := filters.text.casefold():
        texts = zip(table["prompt"], table["answer"], strict=True)
        passed &= np.array(
            [wanted in prompt.casefold() or wanted in answer.casefold() for prompt, answer in texts], bool
        )
    return passed
