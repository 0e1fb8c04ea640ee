"""The input of the linked views."""

from base64 import b64decode

import numpy as np
import pytest

from analysis.one_answer.figures import default_view, drawings
from pages.ui.inspect.linked_views import MOST_STEPS, live_payload, payload
from pages.ui.inspect.linked_views.tokens import bare_tokens, drawn_tokens
from rauq.scoring.report import Words, words
from rauq.scoring.score import score
from rauq.scoring.settings import Settings
from tests.traces import as_lig, make_trace, trace_of_text


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_a_weight_is_drawn_as_it_is_in_whatever_precision_a_file_holds_it(kind):
    attention = make_trace().attention.astype(kind)
    attention[0, 0, 1:, 0] = (1.0, 0.25, 0.0)
    attention[0, 1, 1, 0] = np.nan
    trace = make_trace(attention=attention)
    scored = score(trace)
    steps = np.frombuffer(b64decode(payload(trace, scored, words(trace, scored))["weights"]), "<u2")
    drawn = steps.reshape(trace.previous_token_attention().shape)
    assert drawn[0, 0].tolist() == [MOST_STEPS, round(MOST_STEPS / 4)]
    assert drawn[0, 1, 0] == MOST_STEPS + 1


def test_the_source_of_an_answer_says_that_its_weights_are_those_of_a_gguf_file():
    trace = make_trace(quantisation="Q4_1", dtype="float32", stop_reason="stop")
    said = words(trace, score(trace), "A note.").source
    assert said.endswith(
        " a stop string. The weights are quantised as Q4_1 in a GGUF file; the computation is in float32. A note."
    )


GENERATING = Words(source="made-up", headline="Generating", detail="3 tokens")
OF_THE_WHOLE = {
    "weights",
    "words",
    "thinking",
    "folded",
    "note",
    "sentenceScore",
}  # what is left out while an answer is generated


def test_an_answer_being_generated_has_the_numbers_of_its_score_but_no_single_weights():
    trace = make_trace()
    scored = score(trace)
    live, whole = live_payload(trace, scored, GENERATING), payload(trace, scored, GENERATING)
    assert set(whole) - set(live) == OF_THE_WHOLE
    same = set(whole) - OF_THE_WHOLE - {"live", "tokens", "hint"}
    assert {name: live[name] for name in same} == {name: whole[name] for name in same}
    assert (live["live"], whole["live"]) == (True, False)
    assert [token["label"] for token in live["tokens"]] == [token["label"] for token in whole["tokens"]]
    assert not any("alternatives" in token for token in live["tokens"])


@pytest.mark.parametrize("trace", [None, make_trace(), make_trace((b" ", b"\n"))], ids=["none", "unscored", "white"])
def test_tokens_without_a_score_stand_alone(trace):
    scored = score(trace) if trace is not None and not trace.answer.strip() else None
    live = live_payload(trace, scored, GENERATING)
    assert "arrays" not in live
    assert len(live["tokens"]) == (len(trace.pieces) if trace else 0)
    assert live["headline"] == "Generating"


def test_the_views_of_attributions_say_lig():
    for trace, name in ((make_trace(), "attention"), (as_lig(make_trace()), "LIG")):
        scored = score(trace)
        data = payload(trace, scored, words(trace, scored))
        assert data["weightName"] == name
        assert data["captions"]["token"].startswith({"attention": "Attention", "LIG": "LIG"}[name])
        assert ("LIG attributions, not attention (2 steps" in data["source"]) == (name == "LIG")


def test_the_marks_of_a_token_without_a_character_of_its_own_are_drawn_at_another():
    smile = "😀".encode()
    joiner = "\u200c".encode()
    trace = trace_of_text("aبج", sizes=(1,))
    assert [token["shows"] for token in drawn_tokens(trace)] == [(0,), (), (1, 2), (), (3, 4)]
    pieces = ("می".encode(), joiner, "خ".encode(), b" " + smile[:1], smile[1:2], smile[2:], b"\xff", b"")
    drawn = bare_tokens(pieces)
    assert [token["shows"] for token in drawn] == [(0, 1), (), (2,), (), (), (3, 4, 5), (6,), (7,)]
    assert [token["parts"] for token in drawn][3:6] == [[], [], [["😀", False]]]
    assert [token["label"] for token in drawn][1] == "⟨U+200C⟩"
    growing = [token["parts"] for token in bare_tokens(pieces[:5], goes_on=True)]
    assert growing == [token["parts"] for token in drawn][:5]


@pytest.mark.parametrize(("text", "direction"), [("שלום לכולם", "rtl"), ("Hello all", "ltr")])
def test_figures_and_views_run_in_the_direction_of_the_answer(text, direction):
    trace = trace_of_text(text)
    scored = score(trace)
    assert payload(trace, scored, words(trace, scored))["direction"] == direction
    for drawing in drawings(trace, scored, default_view(trace, scored), dark=False)[1:]:
        first, last = drawing.figure.layout.xaxis.range
        assert (first > last) == (direction == "rtl")


def test_the_view_opens_at_the_token_of_the_headline_and_names_the_words_of_the_question():
    pieces = (b" Mon", b"a", b" Lis", b"a", b" is", b" by", b" Mich", b".")
    trace = make_trace(
        pieces,
        probabilities=[1e-9, 0.9, 1e-9, 0.9, 1e-9, 0.9, 0.01, 0.9],
        prompt="Who painted it, or is it by Mona Lisa?",
    )
    scored = score(trace, Settings(alpha=1.0))
    data = payload(trace, scored, words(trace, scored))
    assert data["ofQuestion"] == [0, 1, 2, 3, 4, 5]
    assert (data["collapseAt"], data["largestAt"]) == (6, 0)
    assert data["weakPoints"] == (0, 2, 4, 6)
    assert "“·Mich”" in data["headline"]
