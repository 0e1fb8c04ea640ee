"""What a link to the page Answer sets asks for: which run, which view of it, of which answers, tokens and layer."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, get_args

from analysis.quality.judgement import Thresholds
from analysis.runs.arrays import TokenChoice
from analysis.runs.opened import Run
from analysis.runs.shard import OFFSETS
from pages.ui import links
from pages.ui.links import CORRECT, COUNT, GROUP, INCORRECT, LAYER, OFFSET, TOKENS, VIEW
from pages.ui.of_run.filters import NUMBER, Filters, ReadAsked, groups, marks_facts, read

View = Literal["best", "gap", "bins", "further", "picked", "separation", "meaning", "answers"]
MOST_ROWS = 50  # best and worst answers, of each

_QUALITY = re.compile(NUMBER, re.ASCII)


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


def read_asked(query: Mapping[str, str]) -> ReadAsked[Asked]:
    """What the parameters of a URL ask for, whatever run it is of."""
    return read(query, _PARSERS, Asked)


def fitted(asked: Asked, run: Run, usual: Thresholds) -> ReadAsked[Asked]:
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


def _threshold(text: str) -> float | None:
    return float(text) if _QUALITY.fullmatch(text) else None


_PARSERS: Mapping[str, Callable[[str], Any]] = MappingProxyType(
    {
        VIEW: links.one_of(get_args(View)),
        LAYER: links.number,
        TOKENS: links.one_of(get_args(TokenChoice)),
        OFFSET: links.one_of(OFFSETS),
        COUNT: links.one_of(tuple(range(1, MOST_ROWS + 1))),
        CORRECT: _threshold,
        INCORRECT: _threshold,
    }
)
