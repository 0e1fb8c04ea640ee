import io
import math
import re

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

from rauq import Settings, score
from rauq.cli import inspect
from rauq.scoring import report
from tests.traces import make_trace

HOSTILE = (b" red\x1b[31m", "\u202egnp".encode(), b"\xe4\xb8", b"\r\x07", "\u2028".encode(), b"[bold]x[/bold]", b"</s>")
STYLE = re.compile(r"\x1b\[[0-9;]*m")


def drawn(trace, *, settings=None, terminal_like=False):
    file = io.StringIO()
    colours = "256" if terminal_like else None  # always the same: rich keeps the codes of a style once made
    console = Console(file=file, highlight=False, width=80, force_terminal=terminal_like, color_system=colours)
    inspect.draw(console, trace, score(trace, settings))
    return file.getvalue()


@pytest.mark.parametrize("colour", [False, True])
def test_model_text_is_escaped_in_the_terminal(colour):
    prompt = "say \x1b]0;owned\x07 \u2066this\u2069"
    output = drawn(make_trace(HOSTILE, prompt=prompt, model="m\x1b[0m"), terminal_like=colour)
    assert STYLE.sub("", output).replace("\n", "").isprintable()
    assert "say ␛]0;owned␇ ⟨U+2066⟩this⟨U+2069⟩" in STYLE.sub("", output)
    assert "⟨U+202E⟩gnp" in STYLE.sub("", output)
    assert "[bold]x[/bold]" in STYLE.sub("", output)


def test_every_token_stands_over_its_number():
    trace = make_trace((b"a", " 漢字".encode(), b" and", b" so", b"</s>") * 8, probabilities=[0.9, 0.2, 0.6, 1, 1] * 8)
    values = score(trace).collapse
    lines = [line.plain for line in inspect.token_strip(trace.pieces, values.tolist(), marked=11, width=40)]
    assert max(map(cell_len, lines)) <= 40
    tokens, numbers = (" ".join(lines[first::2]).split() for first in (0, 1))
    assert tokens == ["a", "·漢字", "·and", "·so", "</s>"] * 8
    assert [float(number.rstrip(inspect.MARK)) for number in numbers] == pytest.approx(values, abs=0.005)
    assert [index for index, number in enumerate(numbers) if number.endswith(inspect.MARK)] == [11]
    for above, below in zip(lines[::2], lines[1::2], strict=True):
        assert cell_len(above) == cell_len(below)


def test_darker_is_a_deeper_collapse():
    styles = [
        line.spans[0].style if line.spans else ""
        for value in (0.05, 0.15, 0.3, 0.7, 2.0, math.inf)
        for line in list(inspect.token_strip([b"x"], [value], marked=None, width=20))[:1]
    ]
    assert styles[0] == ""
    assert len(set(styles)) == 5
    assert styles[-1] == styles[-2]


def test_no_color_and_no_terminal_are_respected(monkeypatch):
    trace = make_trace(probabilities=[0.9, 0.01, 0.9])
    assert "\x1b[30;48;5;" in drawn(trace, terminal_like=True)
    assert "\x1b" not in drawn(trace)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[[0-9;]*(3[0-7]|4[0-8])", drawn(trace, terminal_like=True))


def test_sentences_hold_the_score_and_the_collapse():
    trace = make_trace((b" Oslo", b" is", b" it", b"</s>"), probabilities=[0.9, 0.9, 0.05, 0.99])
    result = score(trace)
    first, *_, last = inspect.sentences(trace, result)
    assert first.startswith(f"Uncertainty {result.uncertainty:.3f} (higher is more uncertain")
    assert last == report.sentence(trace, result)


def test_the_mark_is_on_the_collapse():
    pieces = (b" yes", b" maybe", b" no", b" end")
    output = drawn(make_trace(pieces, probabilities=[0.9, 0.9, 0.01, 0.9]))
    tokens, numbers = (line.split() for line in output.splitlines()[4:6])
    assert [token for token, number in zip(tokens, numbers, strict=True) if inspect.MARK in number] == ["·no"]


def test_the_papers_setting_is_named():
    trace = make_trace()
    assert "alpha 0.2, alignment predicting: the paper's setting" in drawn(trace)
    assert "alpha 0.3, alignment predicting: not the paper's setting" in drawn(trace, settings=Settings(alpha=0.3))


def test_an_answer_of_one_token_says_what_is_undefined():
    output = drawn(make_trace((b"Yes",), probabilities=[0.5]))
    assert "Uncertainty 0.693" in output
    assert re.search(r"none +undefined +undefined +0.693 +gives the score", output)


def test_undefined_score_says_why():
    trace = make_trace(logprobs=np.array([-0.1, math.nan, -0.2]))
    output = drawn(trace)
    assert "Uncertainty undefined" in output
    assert f"The score is undefined: {score(trace).reasons.uncertainty}." in output


def test_table_marks_the_layer_that_gives_the_score():
    trace = make_trace()
    marked = [line for line in drawn(trace).splitlines() if line.rstrip().endswith("gives the score")]
    assert len(marked) == 1
    assert int(marked[0].split()[0]) == score(trace).layer
