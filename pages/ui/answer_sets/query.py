"""What the URL of the page Answer sets asks for, as far as the run can follow."""

from dataclasses import dataclass, replace
from typing import Annotated, Literal, NamedTuple, get_args

from analysis.quality.judgement import Thresholds
from analysis.runs.arrays import TokenChoice
from analysis.runs.opened import Run
from analysis.runs.shard import OFFSETS
from pages.ui.shared import run_filters, state, url_state
from pages.ui.shared.run_filters import FILTERS, NUMBER_PATTERN, Filters, groups, marks_facts
from pages.ui.shared.url_state import (
    CORRECT,
    GROUP,
    INCORRECT,
    LAYER,
    LAYERS,
    TOKENS,
    Codec,
    Number,
    Read,
    matching,
    one_of,
)
from rauq.errors import InvalidInput
from rauq.scoring.settings import Settings, window

View = Literal["best", "gap", "bins", "further", "picked", "separation", "meaning", "answers"]
MOST_ROWS = 50  # best and worst answers, of each
OF_ONE_RUN = (LAYER, TOKENS, CORRECT, INCORRECT, *FILTERS)

_Quality = Annotated[float | None, Codec(matching(NUMBER_PATTERN, float))]


@dataclass(frozen=True, kw_only=True)
class Asked(Filters):
    """What is to be shown; a layer of None is the middle one, thresholds of None are those of the run's measure."""

    view: Annotated[View, one_of(get_args(View))] = "gap"
    layer: Number = None
    tokens: Annotated[TokenChoice, one_of(get_args(TokenChoice))] = "all"
    offset: Annotated[int, one_of(OFFSETS)] = 1
    k: Annotated[int, one_of(range(1, MOST_ROWS + 1))] = 10
    above: _Quality = None
    below: _Quality = None


def asked(run: Run, usual: Thresholds) -> Asked:
    """What the URL asks for; unusable parameters are removed with a notice."""
    return run_filters.asked(Asked(), lambda found: fitted(found, run, usual))


def fitted(asked: Asked, run: Run, usual: Thresholds) -> Read[Asked]:
    """The same as far as the run can follow: unavailable layers, groups and tokens are replaced by defaults."""
    chosen = thresholds(asked, usual)
    crossed = chosen.incorrect > chosen.correct
    lacking = {
        LAYER: asked.layer not in (None, *run.answerer.layers),
        TOKENS: asked.tokens != "all" and not marks_facts(run),
        GROUP: asked.group not in (None, *groups(run)),
        CORRECT: crossed,
        INCORRECT: crossed,
    }
    return url_state.without(asked, Asked(), lacking)


def thresholds(asked: Asked, usual: Thresholds) -> Thresholds:
    """The thresholds that are asked for, else the measure's."""
    return replace(
        usual,
        correct=usual.correct if asked.above is None else asked.above,
        incorrect=usual.incorrect if asked.below is None else asked.below,
    )


class _Captured(NamedTuple):
    """What settings have to suit: the layers that a run keeps token by token."""

    layers: tuple[int, ...]
    num_layers: int
    num_heads: int


def settings(run: Run) -> Settings:
    """The settings of the URL, as far as the layers that the run keeps can follow them."""
    captured = _Captured(run.stored_layers, run.answerer.num_layers, run.answerer.num_heads)
    found = state.settings(captured)
    if _needs_others(found, run):
        state.notify("This run does not store all layers per token, so the score uses the middle layers.")
        url_state.drop(LAYERS)
        return settings(run)
    return found


def _needs_others(settings: Settings, run: Run) -> bool:
    """Whether a rule of layers takes in some that the model has and the run does not keep."""
    if settings.layers not in ("all", "middle_five"):
        return False
    try:
        wanted = window(settings, captured=run.answerer.layers, num_layers=run.answerer.num_layers)
    except InvalidInput:  # the model has none of them: the score says so
        return False
    return not set(wanted) <= set(run.stored_layers)
