"""What a link to the page Methods asks for: which run, which view of it, of which answers and methods."""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from analysis.methods.ablations import ablations
from analysis.methods.attention_permutation import TokensScored
from analysis.methods.comparison import Metric
from analysis.paper import published_ref
from analysis.runs.opened import Run
from pages.ui.shared import url_state
from pages.ui.shared.run_filters import FILTERS, Filters, groups, marks_facts
from pages.ui.shared.url_state import GROUP, METHOD, METHODS, TABLE, TOKENS, Codec, Name, Read, one_of
from rauq.scoring.settings import Signal
from rauq.trace.trace import Alignment

View = Literal["ranking", "rejection", "alpha", "ablations", "attention", "scores", "agreement", "errors"]
OF_ONE_RUN = (METHOD, METHODS, TOKENS, *FILTERS)


def _read_methods(text: str) -> tuple[str, ...] | None:
    return tuple(dict.fromkeys(text.split("."))) if text else None


@dataclass(frozen=True, kw_only=True)
class Asked(Filters):
    """What is to be shown; None means the default.

    `method` is the one shown, or compared with RAUQ, and `methods` are drawn together. `table` is one of the
    ablations, `published` one of the paper's tables. The default signal is the paper's for the kind of model.
    """

    view: Annotated[View, one_of(get_args(View))] = "ranking"
    metric: Annotated[Metric, one_of(get_args(Metric))] = "prr"
    method: Name = None
    methods: Annotated[tuple[str, ...] | None, Codec(_read_methods)] = None
    table: Name = None
    published: Annotated[str | None, Codec(published_ref)] = None
    tokens: Annotated[TokensScored, one_of(get_args(TokensScored))] = "all"
    signal: Annotated[Signal | None, one_of(get_args(Signal))] = None
    alignment: Annotated[Alignment, one_of(get_args(Alignment))] = "predicting"


def fitted(asked: Asked, run: Run) -> Read[Asked]:
    """The same as far as the run can follow: unavailable methods, groups and tokens are replaced by defaults."""
    lacking = {
        METHOD: asked.method not in (None, *run.methods),
        METHODS: not set(asked.methods or ()) <= set(run.methods),
        TABLE: asked.table not in (None, *(one.id for one in ablations(run.answerer.layers))),
        TOKENS: asked.tokens != "all" and not marks_facts(run),
        GROUP: asked.group not in (None, *groups(run)),
    }
    return url_state.without(asked, Asked(), lacking)
