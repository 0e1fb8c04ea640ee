"""What a link to the page Methods asks for: which run, which view of it, of which answers and methods."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, get_args

from analysis.methods.ablations import ablations
from analysis.methods.attention_permutation import TokensScored
from analysis.methods.comparison import Metric
from analysis.paper import Published, published_tables
from analysis.runs.opened import Run
from pages.ui.shared import url_state
from pages.ui.shared.run_filters import Filters, ReadAsked, groups, marks_facts, read
from pages.ui.shared.url_state import ALIGNMENT, GROUP, METHOD, METHODS, METRIC, PUBLISHED, SIGNAL, TABLE, TOKENS, VIEW
from rauq.scoring.settings import Signal
from rauq.trace.trace import Alignment

View = Literal["ranking", "rejection", "alpha", "ablations", "attention", "scores", "agreement", "errors"]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is to be shown; None stands for the usual.

    `method` is the one that is looked at, or set beside RAUQ, and `methods` are drawn together. `table` is one of the
    ablations, `published` one of the paper's tables. The usual signal is the paper's for the kind of model.
    """

    view: View = "ranking"
    metric: Metric = "prr"
    method: str | None = None
    methods: tuple[str, ...] | None = None
    table: str | None = None
    published: str | None = None
    tokens: TokensScored = "all"
    signal: Signal | None = None
    alignment: Alignment = "predicting"
    filters: Filters = field(default_factory=Filters)


def read_asked(query: Mapping[str, str]) -> ReadAsked[Asked]:
    """What the parameters of a URL ask for, whatever run it is of."""
    return read(query, _PARSERS, Asked)


def fitted(asked: Asked, run: Run) -> ReadAsked[Asked]:
    """The same as far as the run can follow: methods, groups and tokens that it lacks give way to the usual."""
    unfit: dict[str, Any] = {}
    if asked.method is not None and asked.method not in run.methods:
        unfit[METHOD] = None
    if asked.methods is not None and not set(asked.methods) <= set(run.methods):
        unfit[METHODS] = None
    if asked.table is not None and asked.table not in {one.id for one in ablations(run.answerer.layers)}:
        unfit[TABLE] = None
    if asked.tokens != "all" and not marks_facts(run):
        unfit[TOKENS] = "all"
    wrong = tuple(unfit)
    if asked.filters.group is not None and asked.filters.group not in groups(run):
        unfit["filters"] = replace(asked.filters, group=None)
        wrong += (GROUP,)
    return ReadAsked(replace(asked, **unfit), wrong)


def ref(one: Published) -> str:
    """A table of the paper as it stands in a URL."""
    return f"{one.table}.{one.model}"


def written_methods(methods: tuple[str, ...]) -> str:
    """Methods as they stand in a URL."""
    return ".".join(methods)


def read_ref(text: str) -> str | None:
    """The same as `ref` wrote it; None where the paper has no such table."""
    return text if text in {ref(one) for one in published_tables()} else None


def _methods(text: str) -> tuple[str, ...] | None:
    return tuple(dict.fromkeys(text.split("."))) if text else None


_PARSERS: Mapping[str, Callable[[str], Any]] = MappingProxyType(
    {
        VIEW: url_state.one_of(get_args(View)),
        METRIC: url_state.one_of(get_args(Metric)),
        METHOD: str,
        METHODS: _methods,
        TABLE: str,
        PUBLISHED: read_ref,
        TOKENS: url_state.one_of(get_args(TokensScored)),
        SIGNAL: url_state.one_of(get_args(Signal)),
        ALIGNMENT: url_state.one_of(get_args(Alignment)),
    }
)
