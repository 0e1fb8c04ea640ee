"""Limits of a model, chat templates, text of every kind: one clear error, or a correct answer."""

import numpy as np
import pytest
import torch

from rauq.errors import InvalidInput, NonFiniteLogits, OutOfMemory
from rauq.model.loading import wrap
from tests.architectures import VOCABULARY, byte_tokenizer, named, tiny_language_model, tiny_model
from tests.tiny import CONTEXT, PROMPT

# Limits of the model.


def test_a_prompt_beyond_the_context_is_refused_with_both_numbers(lm):
    for length, cut in [(CONTEXT, 1), (100_000, 100_000 - CONTEXT + 1)]:
        with pytest.raises(InvalidInput, match=rf"{length} tokens, .* {CONTEXT} .* Shorten .* by {cut} tokens"):
            lm.generate("x" * length)
    assert len(lm.generate("x" * (CONTEXT - 1)).answer_ids) == 1
    with pytest.raises(InvalidInput, match="Shorten"):
        lm.generate("x" * 200, answer_prefix="y" * 56)


def test_reading_may_fill_the_context_and_no_more(lm):
    assert np.isfinite(lm.read("x" * 200, "y" * 56).logprobs).all()
    for prompt, answer in [(200, 57), (CONTEXT, 1), (CONTEXT + 3, 2)]:
        total = prompt + answer
        with pytest.raises(InvalidInput, match=rf"Got {total} tokens.* Shorten .* by {total - CONTEXT} tokens"):
            lm.read("x" * prompt, "y" * answer)


def test_the_answer_never_leaves_the_context(lm):
    trace = lm.generate("x" * (CONTEXT - 5), max_new_tokens=50, stop=(), last_row=True)
    assert (len(trace.answer_ids), trace.stop_reason) == (5, "length")


def test_learned_positions_end_where_the_context_ends():
    gpt2 = tiny_language_model(named("gpt2"))
    trace = gpt2.generate("x" * (CONTEXT - 5), max_new_tokens=50, stop=(), last_row=True)
    assert len(trace.answer_ids) == 5


def test_logits_that_are_not_finite_raise(fresh_lm):
    with torch.no_grad():
        fresh_lm.model.lm_head.weight[7] = torch.nan
    for run in (
        lambda: fresh_lm.generate(PROMPT, max_new_tokens=3),
        lambda: fresh_lm.generate(PROMPT, max_new_tokens=3, do_sample=True, seed=0),
        lambda: fresh_lm.read(PROMPT, "abc"),
        lambda: fresh_lm.sample(PROMPT, k=2, max_new_tokens=3),
    ):
        with pytest.raises(
            NonFiniteLogits, match=r"tiny-llama produced NaN or infinite logits at answer token 0.*check its weights"
        ):
            run()


def test_infinite_logits_are_an_error_and_masked_ones_are_not(fresh_lm):
    with torch.no_grad():
        fresh_lm.model.lm_head.register_parameter("bias", torch.nn.Parameter(torch.zeros(VOCABULARY)))
        fresh_lm.model.lm_head.bias[9] = -torch.inf
    trace = fresh_lm.read(PROMPT, [5, 9, 6])
    assert np.isneginf(trace.logprobs).tolist() == [False, True, False]
    assert np.isfinite(trace.entropies).all()
    with torch.no_grad():
        fresh_lm.model.lm_head.bias[9] = torch.inf
    with pytest.raises(NonFiniteLogits):
        fresh_lm.generate(PROMPT)


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        RuntimeError("MPS backend out of memory (MPS allocated: 8 GB)"),
        MemoryError(),
    ],
    ids=repr,
)
def test_the_error_for_too_little_memory_says_what_would_fit(lm, monkeypatch, error):
    def fail(*_args, **_options):
        raise error

    monkeypatch.setattr(lm.model, "forward", fail)
    with pytest.raises(OutOfMemory, match="while generating. Try a shorter prompt".replace(".", "[.]")):
        lm.generate(PROMPT)


def test_too_little_memory_of_this_machine_is_recognised(lm, monkeypatch):
    monkeypatch.setattr(lm.model, "forward", lambda *_args, **_options: torch.empty(1 << 60))
    with pytest.raises(OutOfMemory, match="while reading"):
        lm.read(PROMPT, "a")


def test_other_errors_are_not_taken_for_memory(lm, monkeypatch):
    monkeypatch.setattr(lm.model, "forward", lambda *_args, **_options: torch.ones(2) @ torch.ones(3))
    with pytest.raises(RuntimeError, match="size"):
        lm.generate(PROMPT)


# Chat.


TEMPLATE = "<s>[user]{{ messages[0].content }}{% if add_generation_prompt %}[answer]{% endif %}"


@pytest.mark.parametrize("chat", [None, True, False])
@pytest.mark.parametrize("kind", ["base", "instruct"])
def test_the_chat_template_is_for_text_to_instruct_models_unless_told_otherwise(kind, chat):
    tokenizer = byte_tokenizer()
    tokenizer.chat_template = TEMPLATE
    lm = wrap(tiny_model(named("llama")), tokenizer, name="tiny", kind=kind)
    applied = kind == "instruct" if chat is None else chat
    expected = f"<s>[user]{PROMPT}[answer]" if applied else PROMPT
    options = {"chat": chat, "max_new_tokens": 2}
    traces = [lm.generate(PROMPT, **options), lm.read(PROMPT, "ab", chat=chat), *lm.sample(PROMPT, k=1, **options)]
    traces += [*lm.generate_batch([PROMPT], **options), *lm.read_batch([(PROMPT, "ab")], chat=chat)]
    for trace in traces:
        assert lm.tokens.text(trace.prompt_ids) == expected
        assert (trace.prompt, trace.chat_applied, trace.kind) == (PROMPT, applied, kind)
    assert not lm.generate(traces[0].prompt_ids, max_new_tokens=1).chat_applied


# Text of every kind.


@pytest.mark.parametrize(
    "text", ["🙂👩\u200d👧", "שלם \u202eאבג\u202c", "a\x00\x1b[31m\x7f", "\r\n\t", "<b>&amp;</b> [a](b) $x$"], ids=repr
)
def test_any_text_is_prompt_and_answer(lm, text):
    trace = lm.read(text, text)
    assert (trace.prompt, trace.answer) == (text, text)
    assert b"".join(trace.pieces) == text.encode()
    generated = lm.generate(text, max_new_tokens=5, stop=())
    assert generated.answer == b"".join(generated.pieces).decode("utf-8", "replace")


@pytest.mark.parametrize("bad", ["\ud800", "a\udfff", "", [], None, [-1], [VOCABULARY], [1.5]], ids=repr)
def test_bad_prompts_and_answers_are_refused_everywhere(lm, bad):
    for run in (
        lm.generate,
        lm.sample,
        lm.encode,
        lm.check,
        lambda prompt: lm.read(prompt, "a"),
        lambda a: lm.read("a", a),
    ):
        if bad is None and run == lm.check:
            continue  # no prompt: its own
        with pytest.raises(InvalidInput):
            run(bad)


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ({"max_new_tokens": None}, "max_new_tokens=None"),
        ({"max_new_tokens": "5"}, "max_new_tokens='5'"),
        ({"stop": [1]}, "Got 1 as a stop string"),
        ({"stop": 1}, "Got 1 as a stop string"),
        ({"stop": b"a"}, "Got b'a' as a stop string"),
        ({"do_sample": True, "temperature": None}, "the temperature None"),
        ({"do_sample": True, "top_p": "1"}, "top-p '1'"),
        ({"do_sample": True, "top_k": None}, "top-k None"),
        ({"do_sample": True, "seed": "0"}, "seed '0'"),
        ({"answer_prefix": ""}, "The answer prefix is empty"),
    ],
    ids=str,
)
def test_options_of_a_wrong_type_are_named(lm, option, says):
    with pytest.raises(InvalidInput, match=says):
        lm.generate(PROMPT, **option)


@pytest.mark.parametrize("k", [0, None, "2", 1.5])
def test_a_wrong_number_of_samples_is_named(lm, k):
    with pytest.raises(InvalidInput, match=f"k={k!r}"):
        lm.sample(PROMPT, k=k)
