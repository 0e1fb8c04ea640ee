"""Properties of scoring and of files over traces and settings of any kind, drawn by hypothesis.

A law is a function whose docstring says it; hypothesis drives it.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import fields, replace
from tempfile import TemporaryDirectory
from typing import get_args

import numpy as np
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st

from analysis.evidence.record import Bound, Record
from benchmarks.support.recording import measured
from rauq import METHODS, Settings, Trace, batch, evaluate, score, score_arrays, score_many
from rauq.errors import RauqError
from rauq.scoring.score import Score
from rauq.scoring.settings import LayerAggregation, Signal, TokenAggregation, Update
from rauq.trace.trace import Alignment, Kind, StopReason
from tests.answers import VOCAB_SIZE, random_trace

COUNT = 1_000

Law = Callable[[], None]
Scored = tuple[Trace, Score]

_SEEDS = st.integers(0, 2**32 - 1)
_EXTREMES = {
    "attention": (0.0, 1.0, 1e-30, np.nan),
    "logprobs": (0.0, -np.inf, -1e-12, -700.0, np.nan),
    "entropies": (0.0, np.log(VOCAB_SIZE), np.nan),
}
_PER_TOKEN = ("answer_ids", "answer_tokens", "pieces", "logprobs", "entropies", "alternatives")

_NUMBERS = st.integers(0, 6)
_NAMED_HEADS = st.dictionaries(_NUMBERS, st.integers(0, 5), min_size=1).map(lambda heads: tuple(heads.items()))
# Some name layers and heads that a trace lacks.
_SETTINGS = st.builds(
    Settings,
    alpha=st.none() | st.sampled_from((0.0, 1.0)) | st.floats(0, 1),
    signal=st.sampled_from((None, *get_args(Signal))),
    layers=st.sampled_from(("middle", "middle_five", "all")) | st.sets(_NUMBERS, min_size=1).map(tuple),
    alignment=st.sampled_from(get_args(Alignment)),
    heads=st.sampled_from(("max", "mean", "top5")) | _NAMED_HEADS,
    update=st.sampled_from(get_args(Update)),
    token_aggregation=st.sampled_from(get_args(TokenAggregation)),
    layer_aggregation=st.sampled_from(get_args(LayerAggregation)),
)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """A trace; up to three of its weights, log-probabilities and entropies are extreme or missing."""
    num_layers, num_tokens = draw(st.integers(1, 7)), draw(st.integers(1, 9))
    trace = random_trace(
        num_tokens,
        seed=draw(_SEEDS),
        num_layers=num_layers,
        num_heads=draw(st.integers(1, 6)),
        layers=tuple(sorted(draw(st.sets(st.integers(0, num_layers - 1), min_size=1)))),
        kind=draw(st.sampled_from(get_args(Kind))),
        stop_reason=draw(st.sampled_from(get_args(StopReason))),
        prompt=draw(st.text(max_size=20)),
        wrong=tuple(sorted(draw(st.sets(st.integers(0, num_tokens - 1))))),
        extras={name: np.arange(3.0) for name in draw(st.sets(st.sampled_from(("one", "two"))))},
    )
    arrays = {name: np.array(getattr(trace, name)) for name in _EXTREMES}
    for name in draw(st.lists(st.sampled_from(sorted(arrays)), max_size=3)):
        place = draw(st.integers(0, arrays[name].size - 1))
        arrays[name].flat[place] = draw(st.sampled_from(_EXTREMES[name]))
    return replace(trace, **arrays)


@st.composite
def scored_traces(draw: st.DrawFn, chosen: st.SearchStrategy[Settings] = _SETTINGS) -> Scored:
    """A trace and its score, by settings that apply to it."""
    trace = draw(traces())
    try:
        return trace, score(trace, draw(chosen))
    except RauqError:
        reject()


def _perplexity(chosen: Settings) -> Settings:
    """The same settings with alpha 1 and probability, and an update rule that uses alpha."""
    update = chosen.update if chosen.update in ("rauq", "no_attention", "previous_probability") else "rauq"
    return replace(chosen, alpha=1.0, signal="probability", token_aggregation="mean_log", update=update)


@given(scored_traces())
def defined_or_reasoned(drawn: Scored) -> None:
    """What a score leaves undefined is nan and has a reason, and nothing else does"""
    trace, scored = drawn
    for name in (field.name for field in fields(scored.reasons)):
        value = np.asarray(getattr(scored, name))
        assert np.isnan(value).any() == bool(getattr(scored.reasons, name)), name
    if np.isinf(scored.uncertainty):
        assert (scored.confidence <= 0).any() or np.isinf(trace.logprobs).any()


@given(scored_traces())
def contributions_sum(drawn: Scored) -> None:
    """Contributions of tokens sum to the score"""
    _, scored = drawn
    assume(np.isfinite(scored.contributions).all())
    _assert_same(scored.contributions.sum(), scored.uncertainty)


@given(scored_traces())
def shares_sum(drawn: Scored) -> None:
    """The shares of signal and attention sum to the collapse"""
    _, scored = drawn
    known = np.isfinite(scored.collapse_shares).all(axis=-1)
    np.testing.assert_allclose(scored.collapse_shares[known].sum(axis=-1), scored.collapse[known], rtol=1e-9, atol=1e-9)


@given(scored_traces(_SETTINGS.map(_perplexity)))
def alpha_1_is_perplexity(drawn: Scored) -> None:
    """With alpha 1 and probability, the score is the log of the perplexity"""
    trace, scored = drawn
    assume(not np.isnan(scored.attention).any())
    _assert_same(scored.uncertainty, -trace.logprobs.mean())


@given(scored_traces(), _SEEDS)
def order_of_heads(drawn: Scored, seed: int) -> None:
    """The order of heads changes nothing"""
    trace, scored = drawn
    assume(not isinstance(scored.settings.heads, tuple))
    order = np.random.default_rng(seed).permutation(trace.num_heads)
    _assert_scores_alike(replace(trace, attention=np.asarray(trace.attention)[:, order]), scored)


@given(scored_traces())
def layers_outside(drawn: Scored) -> None:
    """Layers outside the window change nothing"""
    trace, scored = drawn
    attention = np.array(trace.attention)
    attention[[row for row, layer in enumerate(trace.layers) if layer not in scored.layers]] = 0.25
    _assert_scores_alike(replace(trace, attention=attention), scored)


@given(scored_traces())
def offsets_unused(drawn: Scored) -> None:
    """Offsets and rows that are not looked at change nothing"""
    trace, scored = drawn
    attention = np.array(trace.attention)
    attention[..., 2:], attention[:, :, 0] = 0.75, 0.75  # further back, and the query of the first token
    _assert_scores_alike(replace(trace, attention=attention), scored)


@given(scored_traces(), _SEEDS)
def other_answers(drawn: Scored, seed: int) -> None:
    """Other answers of a batch, and their order, change nothing"""
    trace, scored = drawn
    rng = np.random.default_rng(seed)
    answers = [trace, *(_cut(trace, int(rng.integers(1, len(trace.pieces) + 1))) for _ in range(3))]
    order = rng.permutation(4).tolist()
    together = score_many(batch([answers[i] for i in order], scored.settings.alignment), scored.settings)
    assert together.reasons[order.index(0)] == scored.reasons.uncertainty
    for place, i in enumerate(order):
        _assert_same(together.uncertainty[place], score(answers[i], scored.settings).uncertainty)


@given(scored_traces())
def bare_arrays(drawn: Scored) -> None:
    """Bare arrays score as the trace that they come from"""
    trace, scored = drawn
    alone = score_arrays(
        trace.previous_token_attention(scored.settings.alignment),
        trace.logprobs,
        scored.settings,
        entropies=trace.entropies,
        vocab_size=trace.vocab_size,
        layer_ids=trace.layers,
        num_layers=trace.num_layers,
    )
    _assert_same(alone.uncertainty, scored.uncertainty)
    assert (alone.layer, alone.heads.tolist(), alone.reasons) == (scored.layer, scored.heads.tolist(), scored.reasons)


@given(traces())
def saved_and_loaded(trace: Trace) -> None:
    """A trace that is saved and loaded is the same"""
    with TemporaryDirectory() as folder:
        trace.save(f"{folder}/file")
        loaded = Trace.load(f"{folder}/file")
    for name in (field.name for field in fields(Trace)):
        one, other = getattr(trace, name), getattr(loaded, name)
        if isinstance(one, np.ndarray):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
        elif name == "extras":
            np.testing.assert_equal(dict(one), dict(other))
        else:
            assert one == other, name
    assert loaded.to_bytes() == Trace.from_bytes(loaded.to_bytes()).to_bytes()


@given(traces())
def every_method(trace: Trace) -> None:
    """Every method is a number, or nan with a reason"""
    for name, found in evaluate(trace, tuple(METHODS)).items():
        assert np.isnan(found) == bool(found.reason), name


LAWS: tuple[Law, ...] = (
    *(defined_or_reasoned, contributions_sum, shares_sum, alpha_1_is_perplexity, order_of_heads, layers_outside),
    *(offsets_unused, other_answers, bare_arrays, saved_and_loaded, every_method),
)


def counterexample(law: Law, *, count: int) -> str:
    """The smallest example found that breaks a law, and how; "" where none was found."""
    run = settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )(law)
    try:
        run()
    except Exception as error:  # noqa: BLE001 - a failed assertion, or any other error in the code under test
        return "\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
    return ""


def measure(count: int = COUNT) -> Record:
    """All laws; counterexamples go to stderr."""
    rows = []
    for law in LAWS:
        begun = time.perf_counter()
        broken = counterexample(law, count=count)
        rows.append((law.__doc__, count, "broken" if broken else "holds", time.perf_counter() - begun))
        if broken:
            sys.stderr.write(f"{law.__doc__}:\n{broken}\n")
    held = sum(row[2] == "holds" for row in rows)
    return measured(
        "properties",
        title="Properties of scoring and of files",
        about=(
            "Each law is tried on traces and settings that hypothesis draws: 1 to 9 tokens, any window, heads, update "
            "rule and aggregation, probabilities of 0, attention of 0 and 1, numbers that are missing."
        ),
        columns=("law", "examples", "outcome", "seconds"),
        rows=rows,
        bounds=[Bound(text=f"{held} of {len(LAWS)} laws hold on {count:,} examples each", met=held == len(LAWS))],
        finding=f"{held} of {len(LAWS)} laws hold on {count:,} examples each.",
        packages=("numpy", "hypothesis"),
    )


def _assert_same(one: float, other: float) -> None:
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12, equal_nan=True)


def _assert_scores_alike(trace: Trace, scored: Score) -> None:
    _assert_same(score(trace, scored.settings).uncertainty, scored.uncertainty)


def _cut(trace: Trace, num_tokens: int) -> Trace:
    """The first tokens of an answer."""
    changes = {name: getattr(trace, name)[:num_tokens] for name in _PER_TOKEN}
    return replace(trace, attention=trace.attention[:, :, : num_tokens + 1], wrong=(), **changes)
