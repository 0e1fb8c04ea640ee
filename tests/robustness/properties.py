"""Properties of scoring and of files over traces and settings of any kind, drawn by hypothesis."""

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from hypothesis import HealthCheck, assume, reject, settings

from analysis.evidence.record import Bound, Record
from benchmarks.recording import measured
from rauq import METHODS, Trace, batch, evaluate, score, score_arrays, score_many
from rauq.errors import RauqError
from rauq.scoring.score import Score
from rauq.scoring.settings import Settings
from tests.robustness.properties_drawn import answers, chosen, given_answers, orders, scored_answers

COUNT = 1_000
_ARRAYS = ("prompt_ids", "answer_ids", "logprobs", "entropies", "attention")


class Law(NamedTuple):
    """A law in words, and the test that hypothesis drives."""

    says: str
    test: Callable[..., None]


def _same(one: float, other: float) -> bool:
    return bool(np.isclose(one, other, rtol=1e-9, atol=1e-12, equal_nan=True))


@given_answers(scored_answers())
def defined_or_reasoned(trace: Trace, scored: Score) -> None:
    for name in (field.name for field in fields(scored.reasons)):
        value = np.asarray(getattr(scored, name))
        assert np.isnan(value).any() == bool(getattr(scored.reasons, name)), name
    if np.isinf(scored.uncertainty):
        assert (scored.confidence <= 0).any() or np.isinf(trace.logprobs).any()


@given_answers(scored_answers())
def contributions_sum(_trace: Trace, scored: Score) -> None:
    assume(np.isfinite(scored.contributions).all())
    assert _same(scored.contributions.sum(), scored.uncertainty)


@given_answers(scored_answers())
def shares_sum(_trace: Trace, scored: Score) -> None:
    known = np.isfinite(scored.collapse_shares).all(axis=-1)
    np.testing.assert_allclose(scored.collapse_shares[known].sum(axis=-1), scored.collapse[known], rtol=1e-9, atol=1e-9)


@given_answers(answers(), chosen())
def alpha_1_is_perplexity(trace: Trace, settings_drawn: Settings) -> None:
    plain = {"alpha": 1.0, "signal": "probability", "token_aggregation": "mean_log"}
    recurrent = {} if settings_drawn.update in ("rauq", "no_attention", "previous_probability") else {"update": "rauq"}
    scored = _scored(trace, replace(settings_drawn, **plain, **recurrent))
    if scored is None or np.isnan(scored.attention).any():
        reject()
    assert _same(scored.uncertainty, -trace.logprobs.mean())


@given_answers(scored_answers(), orders())
def order_of_heads(trace: Trace, scored: Score, seed: int) -> None:
    assume(not isinstance(scored.settings.heads, tuple))
    order = np.random.default_rng(seed).permutation(trace.num_heads)
    shuffled = replace(trace, attention=np.asarray(trace.attention)[:, order])
    assert _same(score(shuffled, scored.settings).uncertainty, scored.uncertainty)


@given_answers(scored_answers())
def layers_outside(trace: Trace, scored: Score) -> None:
    attention = np.array(trace.attention)
    attention[[row for row, layer in enumerate(trace.layers) if layer not in scored.layers]] = 0.25
    assert _same(score(replace(trace, attention=attention), scored.settings).uncertainty, scored.uncertainty)


@given_answers(scored_answers())
def offsets_unused(trace: Trace, scored: Score) -> None:
    attention = np.array(trace.attention)
    attention[..., 2:], attention[:, :, 0] = 0.75, 0.75  # further back, and the query of the first token
    assert _same(score(replace(trace, attention=attention), scored.settings).uncertainty, scored.uncertainty)


@given_answers(scored_answers(), orders())
def other_answers(trace: Trace, scored: Score, seed: int) -> None:
    rng = np.random.default_rng(seed)
    others = [_cut(trace, int(rng.integers(1, len(trace.pieces) + 1))) for _ in range(3)]
    traces = [trace, *others]
    order = rng.permutation(4).tolist()
    together = score_many(batch([traces[i] for i in order], scored.settings.alignment), scored.settings)
    place = order.index(0)
    assert _same(together.uncertainty[place], scored.uncertainty)
    assert together.reasons[place] == scored.reasons.uncertainty
    for i, other in enumerate(others, start=1):
        assert _same(together.uncertainty[order.index(i)], score(other, scored.settings).uncertainty)


@given_answers(scored_answers())
def bare_arrays(trace: Trace, scored: Score) -> None:
    alone = score_arrays(
        trace.previous_token_attention(scored.settings.alignment),
        trace.logprobs,
        scored.settings,
        entropies=trace.entropies,
        vocab_size=trace.vocab_size,
        layer_ids=trace.layers,
        num_layers=trace.num_layers,
    )
    assert _same(alone.uncertainty, scored.uncertainty)
    assert (alone.layer, alone.heads.tolist(), alone.reasons) == (scored.layer, scored.heads.tolist(), scored.reasons)


@given_answers(answers())
def saved_and_loaded(trace: Trace) -> None:
    with TemporaryDirectory() as folder:
        trace.save(f"{folder}/file")
        loaded = Trace.load(f"{folder}/file")
    for field in fields(Trace):
        one, other = getattr(trace, field.name), getattr(loaded, field.name)
        if field.name in _ARRAYS:
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
        elif field.name == "extras":
            assert _lists(one) == _lists(other)
        else:
            assert one == other, field.name
    assert loaded.to_bytes() == Trace.from_bytes(loaded.to_bytes()).to_bytes()


@given_answers(answers())
def every_method(trace: Trace) -> None:
    for name, found in evaluate(trace, tuple(METHODS)).items():
        assert np.isnan(found) == bool(found.reason), name


LAWS = (
    Law("What a score leaves undefined is nan and has a reason, and nothing else does", defined_or_reasoned),
    Law("Contributions of tokens sum to the score", contributions_sum),
    Law("The shares of signal and attention sum to the collapse", shares_sum),
    Law("With alpha 1 and probability, the score is the log of the perplexity", alpha_1_is_perplexity),
    Law("The order of heads changes nothing", order_of_heads),
    Law("Layers outside the window change nothing", layers_outside),
    Law("Offsets and rows that are not looked at change nothing", offsets_unused),
    Law("Other answers of a batch, and their order, change nothing", other_answers),
    Law("Bare arrays score as the trace that they come from", bare_arrays),
    Law("A trace that is saved and loaded is the same", saved_and_loaded),
    Law("Every method is a number, or nan with a reason", every_method),
)


def prove(law: Law, *, count: int) -> str:
    """What breaks a law, with the smallest example that does; "" where nothing was found to."""
    run = settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )(law.test)
    try:
        run()
    except Exception as error:  # noqa: BLE001 - an assertion, or whatever a law runs into
        return "\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
    return ""


def measure(count: int = COUNT) -> Record:
    """All laws; what breaks one goes to stderr."""
    rows = []
    for law in LAWS:
        begun = time.perf_counter()
        broken = prove(law, count=count)
        rows.append((law.says, count, "broken" if broken else "holds", time.perf_counter() - begun))
        if broken:
            sys.stderr.write(f"{law.says}:\n{broken}\n")
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


def _scored(trace: Trace, chosen_settings: Settings) -> Score | None:
    try:
        return score(trace, chosen_settings)
    except RauqError:
        return None


def _lists(arrays: Mapping[str, np.ndarray]) -> dict[str, list[Any]]:
    return {name: array.tolist() for name, array in arrays.items()}


def _cut(trace: Trace, num_tokens: int) -> Trace:
    """The first tokens of an answer."""
    changes: dict[str, Any] = {
        name: getattr(trace, name)[:num_tokens]
        for name in ("answer_ids", "answer_tokens", "pieces", "logprobs", "entropies", "alternatives")
    }
    return replace(trace, attention=trace.attention[:, :, : num_tokens + 1], wrong=(), **changes)
