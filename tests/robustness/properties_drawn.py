"""Traces and settings as hypothesis draws them: plausible ones, and such as only broken models put out."""

from collections.abc import Callable
from typing import Any, get_args

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from rauq import Settings, Trace, score
from rauq.errors import RauqError
from rauq.scoring.score import Score
from rauq.scoring.settings import LayerAggregation, Signal, TokenAggregation, Update
from rauq.trace.trace import Alignment, Kind, StopReason
from tests.answers import VOCAB_SIZE, random_trace

_WEIGHTS = (0.0, 1.0, 1e-30, np.nan)
_LOGPROBS = (0.0, -np.inf, -1e-12, -700.0, np.nan)


def orders() -> st.SearchStrategy[int]:
    """The seed of an order."""
    return st.integers(0, 2**32 - 1)


@st.composite
def answers(draw: st.DrawFn) -> Trace:
    """A trace; here and there a weight, a log-probability or an entropy is extreme or missing."""
    num_layers = draw(st.integers(1, 7))
    layers = tuple(sorted(draw(st.sets(st.integers(0, num_layers - 1), min_size=1))))
    num_tokens = draw(st.integers(1, 9))
    trace = random_trace(
        num_tokens,
        seed=draw(orders()),
        num_layers=num_layers,
        num_heads=draw(st.integers(1, 6)),
        layers=layers,
        kind=draw(st.sampled_from(get_args(Kind))),
        stop_reason=draw(st.sampled_from(get_args(StopReason))),
        prompt=draw(st.text(max_size=20)),
        wrong=tuple(sorted(draw(st.sets(st.integers(0, num_tokens - 1))))),
        extras={name: np.arange(3.0) for name in draw(st.sets(st.sampled_from(("one", "two"))))},
    )
    return _with_extremes(trace, draw)


@st.composite
def chosen(draw: st.DrawFn) -> Settings:
    """Any settings; layers and heads may be named that a trace lacks."""
    numbers = st.integers(0, 6)
    named = st.dictionaries(numbers, st.integers(0, 5), min_size=1).map(lambda heads: tuple(heads.items()))
    return Settings(
        alpha=draw(st.none() | st.sampled_from((0.0, 1.0)) | st.floats(0, 1)),
        signal=draw(st.sampled_from((None, *get_args(Signal)))),
        layers=draw(st.sampled_from(("middle", "middle_five", "all")) | st.sets(numbers, min_size=1).map(tuple)),
        alignment=draw(st.sampled_from(get_args(Alignment))),
        heads=draw(st.sampled_from(("max", "mean", "top5")) | named),
        update=draw(st.sampled_from(get_args(Update))),
        token_aggregation=draw(st.sampled_from(get_args(TokenAggregation))),
        layer_aggregation=draw(st.sampled_from(get_args(LayerAggregation))),
    )


@st.composite
def scored_answers(draw: st.DrawFn) -> tuple[Trace, Score]:
    """A trace and its score, by settings that it can follow."""
    trace = draw(answers())
    try:
        return trace, score(trace, draw(chosen()))
    except RauqError:
        assume(condition=False)
        raise


def given_answers(first: st.SearchStrategy[Any], *others: st.SearchStrategy[Any]) -> Callable[..., Any]:
    """As hypothesis' `given`; a pair of a trace and its score is two arguments."""

    def of(test: Callable[..., None]) -> Callable[..., None]:
        @given(st.tuples(first, *others))
        def run(drawn: tuple[Any, ...]) -> None:
            head = drawn[0] if isinstance(drawn[0], tuple) else (drawn[0],)
            test(*head, *drawn[1:])

        run.__name__ = test.__name__
        return run

    return of


def _with_extremes(trace: Trace, draw: st.DrawFn) -> Trace:
    arrays = {name: np.array(getattr(trace, name)) for name in ("attention", "logprobs", "entropies")}
    extremes = {"attention": _WEIGHTS, "logprobs": _LOGPROBS, "entropies": (0.0, np.log(VOCAB_SIZE), np.nan)}
    for name in draw(st.lists(st.sampled_from(sorted(arrays)), max_size=3)):
        place = draw(st.integers(0, arrays[name].size - 1))
        arrays[name].flat[place] = draw(st.sampled_from(extremes[name]))
    return random_trace(
        len(trace.pieces),
        **arrays,
        **{
            name: getattr(trace, name)
            for name in ("num_layers", "num_heads", "layers", "kind", "stop_reason", "prompt", "wrong", "extras")
        },
    )
