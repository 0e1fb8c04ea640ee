"""Generating and reading: the ids are the model's own, and every number is that of the raw logits."""

import threading

import numpy as np
import pytest
import torch

from rauq.errors import InvalidInput
from rauq.model import generation
from tests.architectures import VOCABULARY
from tests.tiny import END, PROMPT, assert_close, chained, counted, raw_logprobs

build = generation.build_trace

# What is generated, and the numbers.


@pytest.mark.parametrize("prompt", [PROMPT, "x", "🙂 שלם\x00", [0, 255, 7]], ids=repr)
def test_greedy_ids_are_those_of_transformers(lm, prompt):
    trace = lm.generate(prompt, max_new_tokens=20, stop=())
    ids = torch.tensor(trace.prompt_ids[None])
    theirs = lm.model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=20, do_sample=False)
    assert trace.answer_ids.tolist() == theirs[0, ids.shape[1] :].tolist()


def test_logprobs_entropies_and_alternatives_are_those_of_the_raw_logits(lm):
    trace = lm.generate(PROMPT, max_new_tokens=40, stop=())  # more than one block of statistics
    logprobs = raw_logprobs(lm, trace)
    chosen = np.take_along_axis(logprobs, trace.answer_ids[:, None], axis=1)[:, 0]
    np.testing.assert_allclose(trace.logprobs, chosen, atol=1e-5)
    np.testing.assert_allclose(trace.entropies, -(np.exp(logprobs) * logprobs).sum(axis=1), atol=1e-5)
    best = np.argsort(-logprobs, axis=1)[:, :10]
    assert [[alternative.id for alternative in row] for row in trace.alternatives] == best.tolist()
    given = [[alternative.logprob for alternative in row] for row in trace.alternatives]
    np.testing.assert_allclose(given, np.take_along_axis(logprobs, best, axis=1), atol=1e-5)
    assert trace.alternatives[0][0].text == lm.tokens.text([best[0, 0]])


def test_sampling_reports_the_raw_logits_not_the_warped_ones(lm):
    trace = lm.generate(PROMPT, max_new_tokens=12, stop=(), do_sample=True, temperature=3.0, top_k=20, seed=0)
    chosen = np.take_along_axis(raw_logprobs(lm, trace), trace.answer_ids[:, None], axis=1)[:, 0]
    np.testing.assert_allclose(trace.logprobs, chosen, atol=1e-5)


@pytest.mark.parametrize("last_row", [True, False])
def test_reading_an_answer_gives_the_trace_that_generating_it_gave(lm, last_row):
    generated = lm.generate(PROMPT, max_new_tokens=12, stop=(), last_row=last_row)
    read = lm.read(PROMPT, generated.answer_ids)
    assert_close(generated, read, rows=None if last_row else -1)
    assert np.isfinite(read.attention[:, :, -1]).all()
    assert np.isfinite(generated.attention[:, :, -1]).all() == last_row
    assert np.isnan(generated.attention[:, :, -1]).all() != last_row


def test_reading_in_several_passes_gives_the_same(lm, monkeypatch):
    whole = lm.read(PROMPT, "an answer of some length")
    monkeypatch.setattr("rauq.model.generation._READ_LOGITS_BYTES", 4 * VOCABULARY * 5)
    assert_close(lm.read(PROMPT, "an answer of some length"), whole)


def test_a_read_answer_is_text_or_ids(lm):
    text = "Paris 🙂"
    from_text = lm.read(PROMPT, text)
    assert from_text.answer == text
    assert from_text.stop_reason == "given"
    assert_close(lm.read(PROMPT, [*from_text.answer_ids]), from_text)


def test_the_end_token_of_a_read_answer_counts_and_adds_no_text(lm):
    trace = lm.read(PROMPT, [*lm.tokens.encode_answer("Oslo"), END])
    assert (len(trace.answer_ids), trace.answer, trace.pieces[-1], trace.stop_reason) == (5, "Oslo", b"</s>", "eos")


def test_a_trace_names_its_model_and_prompt(lm):
    trace = lm.generate(PROMPT, max_new_tokens=3, stop=())
    assert (trace.prompt, trace.model, trace.kind, trace.chat_applied) == (PROMPT, "tiny-llama", "base", False)
    assert (trace.layers, trace.num_layers, trace.num_heads, trace.vocab_size) == ((0, 1, 2), 3, 4, VOCABULARY)
    assert lm.tokens.text(trace.prompt_ids) == PROMPT


# While it runs.


def test_tokens_are_streamed_and_their_texts_join_to_the_answer(fresh_lm):
    told, passes = [], counted(fresh_lm)
    trace = chained(fresh_lm, "é🙂", end=True).generate(
        PROMPT, on_token=lambda *token: told.append((*token, len(passes)))
    )
    assert [index for index, *_ in told] == list(range(7))
    assert [token for _, token, *_ in told] == trace.answer_ids.tolist()
    assert [text for _, _, text, _ in told] == list(trace.answer_tokens) == ["", "é", "", "", "", "🙂", ""]
    assert [number for *_, number in told] == list(range(1, 8))  # before the next forward pass


def test_streamed_texts_join_to_an_answer_that_is_cut_inside_a_character(fresh_lm):
    told = []
    trace = chained(fresh_lm, "a🙂").generate(
        PROMPT, max_new_tokens=3, on_token=lambda _index, _id, text: told.append(text)
    )
    assert "".join(told) == trace.answer == "a\ufffd"


@pytest.mark.parametrize("after", [1, 4])
def test_cancel_keeps_what_is_there(lm, after):
    cancel, passes = threading.Event(), []

    def on_token(index, _id, _text):
        passes.append(index)
        if index + 1 == after:
            cancel.set()

    full = lm.generate(PROMPT, max_new_tokens=20, stop=())
    trace = lm.generate(PROMPT, max_new_tokens=20, stop=(), cancel=cancel, on_token=on_token, last_row=True)
    assert (len(trace.answer_ids), trace.stop_reason) == (after, "cancelled")
    assert trace.answer_ids.tolist() == full.answer_ids.tolist()[:after]
    assert_close(trace, lm.read(PROMPT, trace.answer_ids))


@pytest.mark.parametrize("last_row", [True, False])
def test_progress_is_the_trace_that_stopping_there_gives(lm, last_row):
    options = {"max_new_tokens": 6, "stop": (), "last_row": last_row}
    parts = []
    whole = lm.generate(PROMPT, **options, on_progress=lambda so_far: parts.append(so_far()))
    assert [len(part.answer_ids) for part in parts] == [1, 2, 3, 4, 5]  # the sixth is the whole answer
    for part in parts:
        cancel = threading.Event()
        stop_there = {len(part.answer_ids) - 1: cancel.set}
        stopped = lm.generate(
            PROMPT, **options, cancel=cancel, on_token=lambda index, *_, at=stop_there: at.get(index, bool)()
        )
        assert_close(part, stopped)
        assert part.stop_reason == stopped.stop_reason == "cancelled"
    assert_close(whole, lm.generate(PROMPT, **options))


def test_progress_costs_nothing_unless_it_is_asked_for(lm, monkeypatch):
    asked = []
    monkeypatch.setattr(generation, "build_trace", lambda *given, **named: asked.append(1) or build(*given, **named))
    lm.generate(PROMPT, max_new_tokens=6, stop=(), on_progress=lambda _so_far: None)
    assert len(asked) == 1


def test_progress_starts_after_the_prefix(lm):
    parts = []
    lm.generate(
        PROMPT, answer_prefix="Per", max_new_tokens=3, stop=(), on_progress=lambda so_far: parts.append(so_far())
    )
    assert [part.answer.startswith("Per") for part in parts] == [True, True]
    assert [len(part.answer_ids) for part in parts] == [4, 5]


def test_cancel_before_the_start_keeps_one_token(lm):
    cancel = threading.Event()
    cancel.set()
    trace = lm.generate(PROMPT, cancel=cancel)
    assert (len(trace.answer_ids), trace.stop_reason) == (1, "cancelled")
    samples = lm.sample(PROMPT, k=3, cancel=cancel)
    assert [len(sample.answer_ids) for sample in samples] == [1, 1, 1]
    batch = list(lm.generate_batch([PROMPT, "b"], cancel=cancel))
    assert [trace.stop_reason for trace in batch] == ["cancelled", "cancelled"]


def test_no_forward_pass_is_wasted(fresh_lm):
    passes = counted(fresh_lm)
    fresh_lm.generate(PROMPT, max_new_tokens=5, stop=())
    assert passes == [(1, len(PROMPT))] + [(1, 1)] * 4
    passes.clear()
    fresh_lm.generate(PROMPT, max_new_tokens=5, stop=(), last_row=True)
    assert passes == [(1, len(PROMPT))] + [(1, 1)] * 5
    passes.clear()
    fresh_lm.read(PROMPT, "abc")
    assert passes == [(1, len(PROMPT) + 3)]


# An answer that starts with a given prefix.


@pytest.mark.parametrize("last_row", [True, False])
def test_a_prefix_is_part_of_the_answer_and_the_rest_equals_reading(lm, last_row):
    prefix = lm.tokens.encode_answer("Per")
    told = []
    trace = lm.generate(
        PROMPT,
        answer_prefix=prefix,
        max_new_tokens=6,
        stop=(),
        last_row=last_row,
        on_token=lambda index, token, _text: told.append((index, token)),
    )
    assert trace.answer_ids.tolist()[:3] == prefix
    assert (len(trace.answer_ids), trace.stop_reason) == (9, "length")
    assert told == list(enumerate(trace.answer_ids.tolist()))
    assert_close(trace, lm.read(PROMPT, trace.answer_ids), rows=None if last_row else -1)
    assert_close(lm.generate(PROMPT, answer_prefix="Per", max_new_tokens=6, stop=(), last_row=last_row), trace)


def test_the_own_prefix_changes_nothing(lm):
    whole = lm.generate(PROMPT, max_new_tokens=12, stop=())
    for length in (1, 5, 11):
        branch = lm.generate(PROMPT, answer_prefix=whole.answer_ids[:length], max_new_tokens=12 - length, stop=())
        assert_close(branch, whole)


def test_a_stop_string_may_begin_in_the_prefix(fresh_lm):
    lm = chained(fresh_lm, "abcdef")
    trace = lm.generate(PROMPT, answer_prefix="abc", stop="cd")
    assert (trace.answer, trace.stop_reason) == ("abcd", "stop")


@pytest.mark.parametrize(("prefix", "reason"), [([70, END], "eos"), ("a\n", "stop")])
def test_a_prefix_that_ends_is_the_whole_answer(lm, prefix, reason):
    trace = lm.generate(PROMPT, answer_prefix=prefix, last_row=True)
    assert (len(trace.answer_ids), trace.stop_reason) == (2, reason)
    assert_close(trace, lm.read(PROMPT, trace.answer_ids))
    assert np.isnan(lm.generate(PROMPT, answer_prefix=prefix).attention[:, :, -1]).all()


def test_what_would_end_an_answer_does_not_end_it_inside_the_prefix(lm):
    trace = lm.generate(PROMPT, answer_prefix=[END, 71, 72], max_new_tokens=2, stop=lm.tokens.text([71]))
    assert trace.answer_ids.tolist()[:3] == [END, 71, 72]
    assert len(trace.answer_ids) == 5


def test_an_empty_prefix_is_refused(lm):
    with pytest.raises(InvalidInput, match="empty"):
        lm.generate(PROMPT, answer_prefix="")
