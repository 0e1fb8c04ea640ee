"""An answer without text says what probably happened; one with text says nothing of the kind."""

import io

import pytest
from rich.console import Console

from rauq import Settings, score
from rauq.cli.inspect import draw
from rauq.scoring.report import sentence, why_empty
from tests.traces import make_trace

BASE = "kind: base"
INSTRUCT = "kind: instruct"
END = {"pieces": (b"</s>",), "answer_tokens": ("",)}


def empty(**changes):
    return make_trace(**(END | changes))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"kind": "base"}, ("ended its answer at once", INSTRUCT)),
        ({"kind": "base", "chat_applied": True}, ("ended its answer at once", BASE)),
        ({"kind": "instruct", "chat_applied": True}, ("ended its answer at once", BASE)),
        ({"kind": "instruct", "prompt_form": "templated"}, ("ended its answer at once", BASE)),
        ({"kind": "instruct"}, ("ended its answer at once", "no chat template was applied: leave out chat=False")),
        ({"kind": "instruct", "prompt_form": "ids"}, ("ended its answer at once", "given as token ids")),
        ({"pieces": (b"\n",), "answer_tokens": ("\n",), "stop_reason": "stop"}, ("A stop string came", INSTRUCT)),
        ({"pieces": (b" ", b" "), "answer_tokens": (" ", " "), "stop_reason": "length"}, ("white space", "more")),
        ({"pieces": (b" ",), "answer_tokens": (" ",), "stop_reason": "given"}, ("that was given ended with nothing",)),
        ({"pieces": (b"a", b"b"), "answer_tokens": ("a", "b"), "thinking": (0, 2), "stop_reason": "length"},
         ("still thinking when the answer reached its limit of tokens. Allow more tokens.",)),
        ({"pieces": (b"a", b"</s>"), "answer_tokens": ("a", ""), "thinking": (0, 1)}, ("ended its answer", INSTRUCT)),
    ],
)  # fmt: skip
def test_an_empty_answer_says_what_probably_happened(changes, says):
    trace = empty(**changes)
    reason = why_empty(trace)
    assert all(part in reason for part in says), reason
    assert (reason.strip(), reason[-1], "  " in reason) == (reason, ".", False)
    found = score(trace)
    assert sentence(trace, found) == f"The answer is empty: {reason}"
    drawn = Console(file=io.StringIO(), width=200)
    draw(drawn, trace, found)
    assert reason in drawn.file.getvalue()
    assert "undefined" not in drawn.file.getvalue()
    assert "Picked heads" not in drawn.file.getvalue()


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
    assert "empty" not in sentence(trace, score(trace))


def test_thinking_can_be_looked_at_where_there_is_no_answer():
    trace = make_trace((b"a", b"b"), thinking=(0, 2))
    assert why_empty(trace)
    assert why_empty(trace, "thinking") == why_empty(trace, "all") == ""
    assert "empty" not in sentence(trace, score(trace, Settings(part="thinking")))
