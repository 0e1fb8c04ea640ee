"""The probable reason for an empty answer is given, with what helps; there is none for an answer with text."""

import io
from typing import get_args

import pytest
from rich.console import Console

from rauq import Settings, score
from rauq.cli.inspect import draw
from rauq.scoring.empty import Remedy, as_question, empty_answer
from rauq.scoring.report import sentence, why_empty
from tests.traces import make_trace

END = {"pieces": (b"</s>",), "answer_tokens": ("",)}
BREAK = {"pieces": (b"\n",), "answer_tokens": ("\n",), "stop_reason": "stop"}
AT_ONCE = "generated its end token immediately."


def empty(**changes):
    return make_trace(**(END | changes))


EMPTY = [
    ({"kind": "base"}, AT_ONCE, (), ("instruct",)),
    ({"kind": "base", "chat_applied": True}, "base models often end right after it", (), ()),
    ({"kind": "instruct", "chat_applied": True}, "base models often end right after it", ("base",), ("base",)),
    ({"kind": "instruct", "prompt_form": "templated"}, "The chat template was applied", ("base",), ("base",)),
    ({"kind": "instruct"}, "no chat template was applied", ("template",), ("template",)),
    ({"kind": "instruct", "prompt_form": "ids"}, "given as token ids", (), ()),
    (BREAK | {"kind": "base"}, "began with a line break", ("question", "no_stop"), ("question", "no_stop", "instruct")),
    (BREAK | {"kind": "base", "prompt": "Frage: Wo?\nAntwort: "}, "a line", ("no_stop",), ("no_stop", "instruct")),
    (BREAK | {"kind": "base", "prompt": "答\N{FULLWIDTH COLON}"}, "a line", ("no_stop",), ("no_stop", "instruct")),
    (BREAK | {"kind": "base", "prompt_form": "ids"}, "the answer stops", ("no_stop",), ("no_stop", "instruct")),
    (BREAK | {"kind": "instruct", "chat_applied": True}, "began with a line break", ("no_stop",), ("no_stop",)),
    (BREAK | {"kind": "instruct", "pieces": (b" ",), "answer_tokens": (" ",)},
     "began with white space", ("no_stop",), ("no_stop",)),
    ({"pieces": (b" ", b" "), "answer_tokens": (" ", " "), "stop_reason": "length"},
     "only white space", ("more_tokens",), ("more_tokens",)),
    ({"pieces": (b" ",), "answer_tokens": (" ",), "stop_reason": "given"}, "only white space (as given)", (), ()),
    ({"pieces": (b"a", b"b"), "answer_tokens": ("a", "b"), "thinking": (0, 2), "stop_reason": "length"},
     "still thinking when the answer reached the token limit.", ("more_tokens",), ("more_tokens",)),
    ({"pieces": (b"a", b"b"), "answer_tokens": ("a", "b"), "thinking": (0, 2), "stop_reason": "given"},
     "The prompt opens a thinking section and the answer never closes it, so all of it counts as thinking.",
     ("whole",), ("whole",)),
    ({"pieces": (b"<think>", b"b"), "answer_tokens": ("<think>", "b"), "thinking": (0, 2), "stop_reason": "given"},
     "still thinking when the given answer ended.", (), ()),
    (BREAK | {"pieces": (b"a\n", b"\n\n"), "answer_tokens": ("a\n", "\n\n"), "thinking": (0, 1), "kind": "instruct"},
     "After its thinking the model wrote only a line break, at which the answer stops.", ("no_stop",), ("no_stop",)),
    (BREAK | {"pieces": (b"a\n", b" "), "answer_tokens": ("a\n", " "), "thinking": (0, 1), "kind": "instruct"},
     "After its thinking the model wrote only white space, at which the answer stops.", ("no_stop",), ("no_stop",)),
    ({"pieces": (b"a", b"</s>"), "answer_tokens": ("a", ""), "thinking": (0, 1), "kind": "base"},
     AT_ONCE, (), ("instruct",)),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "says", "remedies", "with_template"), EMPTY)
def test_an_empty_answer_says_what_probably_happened_and_what_helps(changes, says, remedies, with_template):
    trace = empty(**changes)
    found = empty_answer(trace)
    assert (found.remedies, empty_answer(trace, has_template=True).remedies) == (remedies, with_template)
    assert says in found.what
    scored = score(trace)
    assert sentence(trace, scored) == f"The answer is empty: {found.what}"
    drawn = Console(file=io.StringIO(), width=200)
    draw(drawn, trace, scored)
    assert found.what in drawn.file.getvalue()
    assert "undefined" not in drawn.file.getvalue()
    assert "Selected heads" not in drawn.file.getvalue()


def test_every_remedy_is_given_for_some_answer():
    assert {remedy for _, _, *each in EMPTY for several in each for remedy in several} == set(get_args(Remedy))


def test_a_prompt_becomes_a_question_whose_answer_has_a_cue():
    question = as_question(" Where is Oslo?\n")
    assert question == "Question: Where is Oslo?\nAnswer:"
    assert "question" not in empty_answer(empty(**BREAK, kind="base", prompt=question)).remedies


@pytest.mark.parametrize(
    "trace",
    [
        make_trace((b"Yes",)),
        make_trace((b"a", b"b"), thinking=(0, 1)),
        make_trace((b" ", b"b", b"</s>"), answer_tokens=(" ", "b", "")),
    ],
)
def test_an_answer_with_text_is_not_empty(trace):
    assert why_empty(trace) == ""
    assert empty_answer(trace) is None
    assert "empty" not in sentence(trace, score(trace))


def test_thinking_can_be_scored_where_there_is_no_answer():
    trace = make_trace((b"a", b"b"), thinking=(0, 2))
    assert why_empty(trace)
    assert why_empty(trace, "thinking") == why_empty(trace, "all") == ""
    assert "empty" not in sentence(trace, score(trace, Settings(part="thinking")))
