"""A part of an answer is scored as if it were the whole answer, and everything else is left out of it."""

from dataclasses import fields, replace

import numpy as np
import pytest

import rauq
from rauq import Settings, Trace
from rauq.arguments import Sampling
from rauq.errors import InvalidInput, TraceFileError
from rauq.methods.evaluate import evaluate
from rauq.model.loading import wrap
from rauq.scoring.algorithm import score_grid
from rauq.scoring.report import as_json, collapse, selected_heads, sentence
from rauq.trace.parts import NO_PART, answer_text, part_of
from tests.answers import random_trace
from tests.architectures import byte_tokenizer, named, tiny_model
from tests.tiny import PROMPT, assert_close

N = 9
SPANS = [(0, 4), (2, 6), (0, N - 1), (0, N), (3, N)]
PER_TOKEN = ("signal", "confidence", "reference_confidence", "contributions", "collapse")


def thinking_trace(span=(2, 6), **changes):
    return random_trace(N, thinking=span, **changes)


@pytest.fixture(scope="module")
def lm():
    """Its tokenizer's "(" and ")" stand for nothing: spans are given by hand."""
    return wrap(tiny_model(named("llama")), byte_tokenizer(), name="tiny")


@pytest.mark.parametrize("part", ["answer", "thinking"])
@pytest.mark.parametrize("alignment", ["predicting", "own"])
def test_a_cut_trace_is_what_the_model_gives_for_a_longer_prompt(lm, part, alignment):
    """The source that is independent of the cut: the model reads the part after prompt and thinking as one prompt."""
    extras = ("max_attention", "diagonal", "hidden", "lookback", "attention_entropy", "mean_logprob")
    extras += ("hidden_layers", "hidden_mean", "logit_lens")
    whole = replace(lm.read(PROMPT, "Thinking aloud. Answer", extras=extras), thinking=(3, 15))
    cut = part_of(whole, part)
    start, stop = (3, 15) if part == "thinking" else (15, 22)
    again = lm.read(
        [*whole.prompt_ids, *whole.answer_ids[:start]], whole.answer_ids[start:stop].tolist(), extras=extras
    )
    assert_close(cut, again)
    np.testing.assert_array_equal(cut.prompt_ids, again.prompt_ids)
    for offset in (1, 3):
        for into_prompt in (False, True):
            first, second = (t.previous_token_attention(alignment, offset, into_prompt) for t in (cut, again))
            np.testing.assert_allclose(first, second, atol=1e-5)
    kept = {"max_attention", "diagonal", "attention_entropy", "mean_logprob", "hidden_layers", "logit_lens"}
    assert set(cut.extras) == kept | ({"hidden", "hidden_mean"} if part == "answer" else set())
    np.testing.assert_array_equal(cut.extras["logit_lens"], whole.extras["logit_lens"][:, start:stop])
    for name in set(cut.extras) - {"logit_lens"}:  # its ranks differ where scores are nearly equal
        np.testing.assert_allclose(cut.extras[name], again.extras[name], atol=1e-5, err_msg=name)
    settings = Settings(part=part, alignment=alignment)
    assert rauq.score(whole, settings).uncertainty == pytest.approx(
        rauq.score(again, settings if part == "answer" else replace(settings, part="all")).uncertainty, abs=1e-5
    )


def test_the_mean_of_all_positions_is_that_of_a_part_of_one_token_too(lm):
    whole = lm.read(PROMPT, "Thinking aloud. Answer", extras=("hidden_mean",))
    cut = part_of(replace(whole, thinking=(0, 21)), "answer")
    again = lm.read(
        [*whole.prompt_ids, *whole.answer_ids[:21]], whole.answer_ids[21:].tolist(), extras=("hidden_mean",)
    )
    np.testing.assert_allclose(cut.extras["hidden_mean"], again.extras["hidden_mean"], atol=1e-5)


@pytest.mark.parametrize(
    ("part", "start", "stop"), [("answer", 21, 22), ("answer", 20, 22), ("thinking", 0, 9), ("thinking", 0, 22)]
)
def test_extras_of_a_part_are_those_that_the_model_gives_for_it(lm, part, start, stop):
    """Each extra that a part keeps is the one of the part read by itself, or nan; each that can be known is kept."""
    extras = ("hidden", "lookback")
    whole = lm.read(PROMPT, "Thinking aloud. Answer", extras=extras)
    cut = part_of(replace(whole, thinking=(0, start) if part == "answer" else (start, stop)), part)
    prompt, answer = [*whole.prompt_ids, *whole.answer_ids[:start]], whole.answer_ids[start:stop].tolist()
    again = lm.read(prompt, answer, extras=extras)
    assert set(cut.extras) == ({"hidden"} if stop == 22 else set()) | ({"lookback"} if start == 0 else set())
    for name, array in cut.extras.items():
        if stop - start > 1:
            np.testing.assert_allclose(array, again.extras[name], atol=1e-5)
        else:
            assert np.isnan(array).all()
            assert array.shape == again.extras[name].shape


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("part", ["answer", "thinking", "all"])
@pytest.mark.parametrize("heads", ["max", "mean", "top5"])
def test_the_columns_of_a_part_are_those_of_its_own_score(span, part, heads):
    trace, settings = thinking_trace(span), Settings(part=part, heads=heads)
    found, cut = rauq.score(trace, settings), part_of(trace, part)
    start, stop = found.span
    assert [len(getattr(found, name).T) for name in PER_TOKEN] == [N] * 5
    assert found.attention.shape[1] == N - 1
    outside = np.ones(N, dtype=bool)
    outside[start:stop] = False
    for name in (*PER_TOKEN, "collapse_shares"):
        values = getattr(found, name) if name == "collapse_shares" else getattr(found, name).T
        assert np.isnan(values[outside]).all()
    if cut is None:
        assert np.isnan(found.uncertainty)
        assert found.layer is None
        assert found.reasons.uncertainty == NO_PART[part]
        return
    own = rauq.score(replace(cut, thinking=None), replace(settings, part="answer"))
    assert found.uncertainty == own.uncertainty
    assert (found.layer, found.heads.tolist()) == (own.layer, own.heads.tolist())
    for name in PER_TOKEN:
        np.testing.assert_array_equal(getattr(found, name).T[start:stop], getattr(own, name).T)
    np.testing.assert_array_equal(found.attention[:, start : stop - 1], own.attention)
    np.testing.assert_array_equal(found.collapse_shares[start:stop], own.collapse_shares)
    shown, own_heads = ([row.mean_attention for row in selected_heads(each)] for each in (found, own))
    np.testing.assert_array_equal(shown, own_heads)
    where, own_where = collapse(trace, found), collapse(cut, own)
    assert where is None or where.token == own_where.token + start


@pytest.mark.parametrize("part", ["answer", "thinking", "all"])
@pytest.mark.parametrize("alignment", ["predicting", "own"])
def test_a_batch_scores_parts_as_one_by_one(part, alignment):
    traces = [thinking_trace(span, seed=seed) for seed, span in enumerate([*SPANS, None])]
    settings = Settings(part=part, alignment=alignment)
    together = rauq.score_many(rauq.batch(traces, alignment, part), settings)
    for row, trace in enumerate(traces):
        alone = rauq.score(trace, settings)
        np.testing.assert_allclose(together.uncertainty[row], alone.uncertainty, rtol=1e-12)
        assert together.reasons[row] == alone.reasons.uncertainty
    assert sum(map(bool, together.reasons)) == {"answer": 2, "thinking": 1, "all": 0}[part]


def test_a_batch_of_another_part_is_refused():
    with pytest.raises(InvalidInput, match=r"batch\(traces, part='all'\)"):
        rauq.score_many(rauq.batch([thinking_trace()]), Settings(part="all"))
    with pytest.raises(InvalidInput, match="Unknown part 'thoughts'; choose one of answer, thinking, all"):
        Settings(part="thoughts")


def test_a_grid_of_settings_scores_parts():
    traces = [thinking_trace(span, seed=seed) for seed, span in enumerate(SPANS)]
    settings = [
        Settings(alpha=alpha, token_aggregation=rule) for alpha in (0.0, 0.4) for rule in ("mean_log", "median")
    ]
    batch = rauq.batch(traces)
    np.testing.assert_allclose(
        score_grid(batch, settings), [rauq.score_many(batch, one).uncertainty for one in settings], rtol=1e-12
    )


def test_methods_see_the_answer_part_alone():
    trace = thinking_trace(extras={"max_attention": np.tril(np.full((N, N), 0.1, np.float32), -1)})
    samples = [thinking_trace((0, 4), seed=3), thinking_trace((0, N), seed=4), random_trace(5, seed=5)]
    ids = ("rauq", "msp", "perplexity", "mean_token_entropy", "simple_focus", "lexical_similarity")
    cuts = [part_of(sample, "answer") for sample in samples if part_of(sample, "answer") is not None]
    found = evaluate(trace, ids, samples=samples)
    expected = evaluate(
        part_of(trace, "answer"),
        ids,
        samples=[replace(c, prompt_ids=part_of(trace, "answer").prompt_ids) for c in cuts],
    )
    assert found == pytest.approx(expected)
    assert not any(map(np.isnan, found.values()))
    nothing = evaluate(thinking_trace((0, N)), ids)
    assert {value.reason for value in nothing.values()} == {NO_PART["answer"]}


def test_the_text_that_is_judged_has_no_thinking_and_no_end_token(lm):
    trace = replace(lm.read(PROMPT, "<think>no</think>yes"), thinking=(0, 17))
    assert answer_text(trace) == "yes"
    assert answer_text(replace(trace, thinking=(0, 20))) == ""
    assert answer_text(replace(trace, thinking=None)) == "<think>no</think>yes"


def test_marks_of_the_user_move_along():
    trace = thinking_trace((2, 6), wrong=(1, 3, 7))
    assert [part_of(trace, part).wrong for part in ("answer", "thinking", "all")] == [(1,), (1,), (1, 3, 7)]


def test_what_is_not_scored_is_null_with_a_reason():
    trace = thinking_trace((2, 6))
    record = as_json(trace, rauq.score(trace))
    assert record["thinking"] == [2, 6]
    assert [token["collapse"] is None for token in record["tokens"]] == [True] * 6 + [False] * 3
    assert record["undefined"] == dict.fromkeys(("collapse", "contribution"), "this token is outside the scored part")
    unfinished = thinking_trace((0, N))
    assert sentence(unfinished, rauq.score(unfinished)).startswith(
        "The answer is empty: The prompt opens a thinking section"
    )


def test_a_file_keeps_thinking_and_sampling(tmp_path):
    drawn = Sampling(temperature=0.5, top_p=0.9, top_k=0, seed=2**64 - 1)
    for changes in ({}, {"thinking": (1, 2), "sampling": drawn}, {"thinking": (0, 3), "sampling": Sampling()}):
        trace = random_trace(3, **changes)
        trace.save(tmp_path / "file")
        again = Trace.load(tmp_path / "file")
        assert (again.thinking, again.sampling) == (changes.get("thinking"), changes.get("sampling"))
        for field in fields(Trace):
            if not isinstance(getattr(trace, field.name), np.ndarray):
                assert getattr(again, field.name) == getattr(trace, field.name)


@pytest.mark.parametrize("span", [(0, 0), (2, 1), (-1, 2), (0, 4), (0,), [0, 2], (0, True), (0.0, 2), "ab", (0, 1, 2)])
def test_a_span_outside_of_the_answer_is_refused(span):
    with pytest.raises(InvalidInput, match="thinking is"):
        random_trace(3, thinking=span)


def test_the_sampling_settings_are_kept(lm):
    assert lm.generate(PROMPT, max_new_tokens=2).sampling is None
    options = {"max_new_tokens": 4, "temperature": 5.0, "top_p": 0.9, "top_k": 20, "stop": ()}
    trace = lm.generate(PROMPT, do_sample=True, seed=3, **options)
    assert trace.sampling == Sampling(temperature=5.0, top_p=0.9, top_k=20, seed=3)
    first, second = lm.sample(PROMPT, k=2, seed=3, **options)
    assert (first.sampling, first.answer_ids.tolist()) == (trace.sampling, trace.answer_ids.tolist())
    assert second.sampling == replace(trace.sampling, seed=None)
    assert Trace.from_bytes(trace.to_bytes()).sampling == trace.sampling
    assert lm.read(PROMPT, "a").sampling is None


def test_a_file_of_nonsense_is_refused():
    import json

    from safetensors.numpy import load, save

    content = random_trace(3).to_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    known = json.loads(header["__metadata__"]["rauq_trace"])
    for changes in (
        {"thinking": [0, 10**30]}, {"thinking": [0]}, {"thinking": {}}, {"thinking": [0, "1"]}, {"thinking": 3},
        {"sampling": {}, "thinking": [2, 2]}, {"sampling": {"temperature": "hot"}}, {"sampling": {"other": 1}},
        {"sampling": [1]}, {"sampling": {"seed": -1}}, {"sampling": {"temperature": float("nan")}},
    ):  # fmt: skip
        with pytest.raises(TraceFileError):
            Trace.from_bytes(save(load(content), {"rauq_trace": json.dumps(known | changes)}))
    older = {name: value for name, value in known.items() if name not in ("thinking", "sampling")}
    again = Trace.from_bytes(save(load(content), {"rauq_trace": json.dumps(older)}))
    assert (again.thinking, again.sampling) == (None, None)


def test_what_cannot_be_scored_is_named():
    trace = random_trace(3)
    for call, says in (
        (lambda: rauq.score([trace]), r"Got list; give one trace\. For several: score_many\(batch\(traces\)\)"),
        (lambda: rauq.score("text"), "Got str; give one trace"),
        (lambda: rauq.score(trace, 0.2), "Got float; give Settings"),
        (lambda: rauq.score_many([trace]), r"Got list; give a batch: score_many\(batch\(traces\)\)"),
        (lambda: rauq.score_many(trace), "Got Trace; give a batch"),
        (lambda: rauq.batch(trace), r"Got Trace; give a list of traces"),
        (lambda: rauq.batch([trace, None]), "Got NoneType among the traces"),
        (lambda: rauq.batch(3), "Got int; give a list of traces"),
    ):
        with pytest.raises(InvalidInput, match=says):
            call()


def test_what_is_printed_is_one_short_line():
    trace = random_trace(12)
    batch = rauq.batch([trace, random_trace(3)])
    for thing, says in (
        (trace, "Trace("),
        (rauq.score(trace), "Score(uncertainty="),
        (rauq.score_many(batch), "Scores(2 answers, uncertainty from "),
        (batch, "Batch(2 answers of at most 12 tokens, 6 layers of 4 heads)"),
    ):
        assert repr(thing).startswith(says)
        assert len(repr(thing)) < 130
        assert "\n" not in repr(thing)
    assert "12 tokens" in repr(trace)
