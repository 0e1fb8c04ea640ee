"""Thinking is separated from the answer by the model's marks, wherever these come from and however they end."""

import numpy as np
import pytest

from rauq import Settings, score
from rauq.model.loading import wrap
from rauq.scoring.empty import empty_answer
from rauq.scoring.report import why_empty
from rauq.trace.parts import thinking_never_closed
from rauq.trace.thinking import thinking_span
from tests.architectures import byte_tokenizer, named, tiny_model
from tests.tiny import END, PROMPT, assert_close, in_order

OPEN, CLOSE = 260, 261  # the byte tokenizer ends at 259


def pieces(*texts):
    return [text.encode() for text in texts]


@pytest.mark.parametrize(
    ("answer", "span"),
    [
        (("<think>", "a", "b", "</think>", "\n\n", "Paris"), (0, 4)),
        (("\n", "<think>", "\n\n", "</think>", "Paris", "<end>"), (1, 4)),
        (("<", "th", "ink", ">", "a", ".</", "thi", "nk", ">\n", "Paris"), (0, 9)),  # plain text, in pieces
        (("<think>", "a", "b"), (0, 3)),
        (("<think>", "a", "</think>"), (0, 3)),
        (("<think>", "a", "</think>", "So", "<think>", "b", "</think>", "Paris"), (0, 7)),
        (("<think>", "a", "</think>", "So", "<think>", "b"), (0, 6)),
        (("<think>", "a", "</think>", "Write", "</think>", "."), (0, 3)),
        (("[THINK]", "a", "[/THINK]", "Paris"), (0, 3)),
        (("Write", "<think>", "a", "</think>"), None),
        (("Paris", "."), None),
        (("a", "b", "</think>", "Paris"), (0, 3)),
        (("a", "</think>", "b", "</think>", "Paris"), (0, 2)),
        (("a", "</think>", "b", "<think>", "c", "</think>", "Paris"), (0, 6)),
        (("<thinking>", "Paris"), None),
        (("<|channel|>", "analysis", "<|message|>", "a", "<|end|>", "<|start|>", "assistant",
          "<|channel|>", "final", "<|message|>", "Paris", "<|return|>"), (0, 10)),
        (("<|channel|>", "analysis", "<|message|>", "a", "<|end|>", "<|start|>", "assistant",
          "<|channel|>", "commentary", "<|message|>", "b", "<|end|>", "<|start|>", "assistant",
          "<|channel|>", "final", "<|message|>", "Paris"), (0, 17)),
        (("<|channel|>", "final", "<|message|>", "Paris"), (0, 3)),
        (("a", "<|end|>", "<|channel|>", "final", "<|message|>", "Paris"), (0, 5)),
        (("<|channel|>", "analysis", "<|message|>", "the final answer"), (0, 4)),
        (("<|channel|>", "analysis", "<|message|>", "a", "<|end|>", "<|channel|>", "fin"), (0, 7)),
    ],
    ids=lambda value: "".join(value) if value and isinstance(value[0], str) else "",
)  # fmt: skip
def test_the_span_goes_from_the_first_mark_to_the_last(answer, span):
    assert thinking_span(pieces("Where?", "\n"), pieces(*answer)) == span


@pytest.mark.parametrize(
    ("prompt", "answer", "span"),
    [
        (("Where?", "<think>", "\n"), ("a", "</think>", "Paris"), (0, 2)),
        (("Where?", "<thi", "nk>"), ("a", "b"), (0, 2)),
        (("<think>", "\n\n", "</think>", "\n\n"), ("Paris", "."), None),
        (("<think>", "What does that mark mean?"), ("Paris",), None),
        (("<|start|>", "assistant", "<|channel|>", "analysis", "<|message|>"),
         ("a", "<|end|>", "<|channel|>", "final", "<|message|>", "Paris"), (0, 5)),
        (("<|channel|>", "final", "<|message|>"), ("Paris",), None),
    ],
)  # fmt: skip
def test_the_prompt_can_open_it(prompt, answer, span):
    assert thinking_span(pieces(*prompt), pieces(*answer)) == span


def thinking_lm(said, template=None):
    """A tiny model whose tokenizer has the marks as special tokens, and that answers with these token ids."""
    tokenizer = byte_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": ["<think>", "</think>"]})
    assert tokenizer.convert_tokens_to_ids(["<think>", "</think>"]) == [OPEN, CLOSE]
    tokenizer.chat_template = template
    lm = wrap(tiny_model(named("llama"), vocab_size=262), tokenizer, name="tiny-thinker")
    return in_order(lm, said, otherwise=END)


QUESTION, A, B, C = (byte_tokenizer().convert_tokens_to_ids(letter) for letter in "?abc")


def test_the_thinking_of_a_model_is_recognised():
    lm = thinking_lm([QUESTION, OPEN, A, B, CLOSE, C])
    trace = lm.generate(PROMPT, last_row=True)
    assert (trace.answer, trace.thinking) == ("<think>ab</think>c", (0, 4))
    read = lm.read(PROMPT, trace.answer_ids.tolist())
    assert read.thinking == (0, 4)
    assert_close(trace, read)
    cut = lm.generate(PROMPT, max_new_tokens=3)
    assert cut.thinking == (0, 3)
    forced = lm.generate(PROMPT, answer_prefix=[OPEN, B])
    assert (forced.answer_ids[:3].tolist(), forced.thinking) == ([OPEN, B, CLOSE], (0, 3))


def test_in_a_batch_each_answer_has_its_own_span():
    lm = thinking_lm([QUESTION, OPEN, A, B, CLOSE, C])
    prompts = [PROMPT, "Say it? <think>", "a much longer prompt than these two"]
    batch = list(lm.generate_batch(prompts, batch_size=3, last_row=True))
    assert [trace.thinking for trace in batch] == [(0, 4), (0, 3), None]
    for prompt, trace in zip(prompts, batch, strict=True):
        assert_close(trace, lm.generate(prompt, last_row=True))
    pairs = [(prompt, trace.answer_ids.tolist()) for prompt, trace in zip(prompts, batch, strict=True)]
    assert [trace.thinking for trace in lm.read_batch(pairs)] == [trace.thinking for trace in batch]
    assert [trace.thinking for trace in lm.sample(PROMPT, k=2, temperature=0.01)] == [(0, 4)] * 2


def test_a_template_that_opens_the_thinking():
    lm = thinking_lm([QUESTION, OPEN, A, B, CLOSE, C], "{{ messages[0].content }}<think>")
    trace = lm.generate(PROMPT)
    assert (trace.chat_applied, trace.answer, trace.thinking) == (True, "ab</think>c", (0, 3))
    assert not thinking_never_closed(trace)
    cut = lm.generate(PROMPT, max_new_tokens=2)
    assert (cut.thinking, thinking_never_closed(cut), empty_answer(cut).remedies) == ((0, 2), False, ("more_tokens",))
    for answer, unmarked in (("Paris", True), ("<think>Paris", False), ("Paris</think>", False)):
        pasted = lm.read(PROMPT, answer)
        assert (pasted.thinking, thinking_never_closed(pasted)) == ((0, len(pasted.answer_ids)), unmarked)
        assert ("never closes it" in why_empty(pasted), empty_answer(pasted).remedies == ("whole",)) == (
            unmarked,
            unmarked,
        )
    assert not thinking_never_closed(lm.read(PROMPT, "Paris", chat=False))
    whole = lm.read(PROMPT, "Paris", end=True)
    assert np.isnan(score(whole).uncertainty)
    assert score(whole, Settings(part="all")).span == (0, 6)
    assert why_empty(whole, "all") == ""


@pytest.mark.parametrize("template", ["{{ messages[0].content }}</ponder>", "{{ messages[0].content }}"])
def test_the_marks_of_the_model_s_own_template_count(template):
    lm = thinking_lm(
        [QUESTION, END], template.replace("</ponder>", "{# <thought> #}{{ '' if 1 else '<thought></thought>' }}")
    )
    trace = lm.read(PROMPT, "<thought>a</thought>Paris")
    assert (trace.thinking is not None) == ("ponder" in template)
