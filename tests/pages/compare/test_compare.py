"""Compare: two answers on one grid, and the messages where they cannot be compared."""

import json
import re

import numpy as np
import pytest

import rauq
from analysis.two_answers.comparison import APART
from pages.ui.compare import strips as pair
from pages.ui.host import models
from pages.ui.host.store import store
from rauq import Settings
from rauq.labels import token_labels
from rauq.trace.trace import Alternative
from tests.answers import random_trace
from tests.imports import MODELS, imported_after
from tests.pages.comparing import BESIDE, FIRST, HOSTILE, charts, interpreted, kept, of, open_compare, strips
from tests.pages.reading import choose
from tests.traces import make_trace


@pytest.fixture(autouse=True)
def no_answers_of_other_tests():
    store().answers.kept.clear()


@pytest.fixture
def no_model(monkeypatch):
    def refuse(*_arguments, **_options):
        raise AssertionError

    monkeypatch.setattr(models, "model", refuse)


@pytest.mark.usefixtures("no_model")
def test_the_page_opens_on_an_invented_answer_and_the_right_one_beside_it():
    page = open_compare()
    assert not page.exception
    assert [page.selectbox(key=f"answer_{side}").value for side in "ab"] == [FIRST, BESIDE]
    a, b = (rauq.score(of(name)).uncertainty for name in (FIRST, BESIDE))
    assert a > b
    said = f"A is more uncertain than B ({a:.2f} and {b:.2f}; "
    share = re.fullmatch(re.escape(said) + r"(\d+) % of [\d,]+ other answers score between\)", strips(page)["headline"])
    assert share
    assert int(share[1]) >= 100 * APART
    assert [len(side["cells"]) for side in strips(page)["sides"]] == [len(of(n).pieces) for n in (FIRST, BESIDE)]
    assert set(charts(page)) == {"overlay", "difference_map"}
    assert page.query_params == {}


def test_the_grid_has_each_collapse_and_the_level_of_each_token():
    page = open_compare(a=FIRST, b=BESIDE)
    for side, name in zip(strips(page)["sides"], (FIRST, BESIDE), strict=True):
        collapse = rauq.score(of(name)).collapse
        assert [cell["collapse"] for cell in side["cells"]].index(True) == collapse.argmax()
        levels = [cell["level"] for cell in side["cells"]]
        np.testing.assert_allclose(levels, 1 - np.exp(-np.maximum(collapse, 0)), rtol=1e-9)


def test_a_long_answer_is_labelled_as_often_as_a_short_one(monkeypatch):
    """Labelling takes as long as the answer, so that once for each token would be quadratic."""
    labelled = []
    monkeypatch.setattr(
        pair, "token_labels", lambda pieces, **how: labelled.append(pieces) or token_labels(pieces, **how)
    )
    calls = []
    for tokens in (3, 30):
        open_compare(a=kept(random_trace(tokens)), b=BESIDE)
        calls.append(len(labelled))
        labelled.clear()
    assert calls[0] == calls[1] > 0


@pytest.mark.usefixtures("no_model")
def test_a_link_restores_answers_token_and_settings_of_both():
    page = open_compare(a="example:myth", b="example:known-words", token="7", alpha="0.55")
    assert strips(page)["selected"] == 7
    a, b = (rauq.score(of(name), Settings(alpha=0.55)).uncertainty for name in ("myth", "known-words"))
    assert [side["uncertainty"] for side in strips(page)["sides"]] == [f"{a:.2f}", f"{b:.2f}"]
    frame = charts(page)["overlay"]["layout"]["shapes"][-1]
    column = [own for own, _ in strips(page)["columns"]].index(7)
    assert frame["x0"] == column - 0.5


@pytest.mark.parametrize("name", ["token", "branch"])
@pytest.mark.parametrize(
    ("text", "said"),
    [("99", "A has no token 99"), ("-1", "not a number"), ("x", "not a number"), ("٣", "not a number")],
)
def test_a_token_outside_a_is_corrected_and_reported_once(name, text, said):
    page = open_compare(a=FIRST, **{name: text})
    assert not page.exception
    last = len(of(FIRST).pieces) - 1
    assert strips(page)["selected"] == (last if text == "99" else None)
    assert page.query_params == ({"a": FIRST, "token": str(last)} if text == "99" else {"a": FIRST})
    assert said in page.toast[0].value
    assert not page.run().toast


def test_tokens_marked_as_wrong_are_drawn_and_named():
    page = open_compare(a=FIRST, b=kept(make_trace(wrong=(1,))), a_wrong="3.4")
    a, b = (side["cells"] for side in strips(page)["sides"])
    assert [token for token, cell in enumerate(a) if cell["wrong"]] == [3, 4]
    assert [token for token, cell in enumerate(b) if cell["wrong"]] == [1]
    assert [token for token, cell in enumerate(a) if "marked as incorrect" in cell["spoken"]] == [3, 4]
    assert "✗ marked as incorrect" in strips(page)["legend"]["key"]
    page.button(key="swap").click().run()
    assert page.query_params["b_wrong"] == "3.4"
    assert "a_wrong" not in page.query_params
    page.selectbox(key="answer_b").set_value(BESIDE).run()
    assert "b_wrong" not in page.query_params


@pytest.mark.parametrize(("text", "left"), [("3.9999", "3"), ("<b>", "none"), ("none", "none")])
def test_marks_outside_an_answer_are_ignored_and_reported(text, left):
    page = open_compare(a=FIRST, a_wrong=text)
    assert not page.exception
    assert page.query_params["a_wrong"] == left
    assert len(page.toast) == (text != "none")
    assert not page.run().toast


def test_the_link_of_the_inspector_selects_the_token_to_branch_at():
    page = open_compare(a=FIRST, branch="9")
    assert strips(page)["selected"] == 9
    branch = strips(page)["branches"][9]
    assert "at token 9" in branch["title"]
    offered = {rank for rank, *_ in branch["alternatives"]}
    trace = of(FIRST)
    assert offered == {rank for rank, other in enumerate(trace.alternatives[9]) if other.id != trace.answer_ids[9]}


@pytest.mark.parametrize(("sides", "said"), [("a", "Answer A is"), ("b", "Answer B is"), ("ab", "Answers A and B are")])
def test_an_answer_that_is_gone_is_said_in_its_place_and_the_address_keeps_it(sides, said):
    asked = {"a": FIRST, "b": BESIDE} | dict.fromkeys(sides, "kept:nothing")
    page = open_compare(**asked)
    assert not page.exception
    assert page.title[0].value == f"{said} no longer in memory"
    assert page.query_params == asked
    assert not page.toast
    page.button(key="leave_gone").click().run()
    assert {side: page.selectbox(key=f"answer_{side}").value for side in "ab"} == {"a": FIRST, "b": BESIDE}
    assert "kept:nothing" not in page.query_params.values()


@pytest.mark.parametrize("ref", ["example:nothing", "../../etc/passwd", "<b>", ""])
def test_a_link_to_an_answer_that_is_not_known_says_so_and_shows_another(ref):
    page = open_compare(a=ref, b=BESIDE)
    assert not page.exception
    assert "no longer in memory" in interpreted(page)
    assert page.selectbox(key="answer_a").value == FIRST
    assert page.query_params == {"b": BESIDE}


def test_chosen_and_swapped_answers_are_in_the_url():
    page = open_compare(token="3")
    page.selectbox(key="answer_b").set_value("example:myth").run()
    assert page.query_params == {"token": "3", "b": "example:myth"}
    page.button(key="swap").click().run()
    assert page.query_params == {"a": "example:myth", "b": FIRST}
    assert [page.selectbox(key=f"answer_{side}").value for side in "ab"] == ["example:myth", FIRST]


def test_recorded_answers_are_compared_without_torch():
    code = (
        "from streamlit.testing.v1 import AppTest\n"
        "page = AppTest.from_file('app.py', default_timeout=60)\n"
        "page.switch_page('pages/compare.py')\n"
        "page.run()\n"
        "assert not page.exception and len(page.get('plotly_chart')) == 2\n"
    )
    assert imported_after(code, MODELS) == []


def test_maps_of_different_models_say_why_there_is_none():
    page = open_compare(a=FIRST, b=kept(make_trace(num_layers=3)))
    assert not page.exception
    assert list(charts(page)) == ["overlay"]
    assert not page.info
    (said,) = [text.value for text in page.markdown if "heads do not correspond" in text.value]
    assert said.endswith(" Choose another answer above to compare heads.")


@pytest.mark.parametrize("num_tokens", [1, 2])
def test_short_answers_are_compared(num_tokens):
    short = kept(make_trace((b" a",) * num_tokens, num_layers=12, num_heads=8))
    page = open_compare(a=short, b=FIRST)
    assert not page.exception
    assert ("one token" in interpreted(page)) == (num_tokens == 1)


def test_a_score_that_is_undefined_still_has_its_tokens():
    page = open_compare(a=kept(make_trace(logprobs=np.full(3, np.nan))), b=FIRST)
    assert not page.exception
    assert strips(page)["headline"] == "No comparison: the score of A is undefined"
    assert strips(page)["sides"][0]["uncertainty"] == "–"


def test_text_of_models_and_users_is_never_interpreted():
    pieces = (HOSTILE.encode(), b"*a*", b"\xf0\x9f", b"\n")
    hostile = make_trace(
        pieces, prompt=HOSTILE, model=HOSTILE, alternatives=((Alternative(0, HOSTILE, -1.0),),) * len(pieces)
    )
    page = open_compare(a=kept(hostile), b=kept(hostile), token="1")
    assert not page.exception
    assert "evil" not in interpreted(page)
    assert "evil" in strips(page)["sides"][0]["cells"][0]["spoken"]
    assert strips(page)["sides"][1]["cells"][2]["parts"] == [["⟨F0 9F⟩", True]]
    assert "evil" in strips(page)["branches"][1]["alternatives"][0][1]
    assert "evil" in page.selectbox(key="answer_a").options[-1]  # which the browser draws as text


def test_long_answers_of_many_heads_are_drawn():
    page = open_compare(a=kept(random_trace(200, num_layers=32, num_heads=32)), b=kept(random_trace(150, seed=1)))
    assert not page.exception
    assert strips(page)["long"]


def test_the_mean_of_the_heads_is_named_as_such():
    facts = [cell["facts"] for cell in strips(open_compare(a=FIRST, heads="mean"))["sides"][0]["cells"]]
    assert all(rows[1][0].endswith(", mean of its heads") for rows in facts)


def test_folded_fields_are_not_drawn():
    page = open_compare()
    assert [field.key for field in page.selectbox] == ["answer_a", "answer_b"]
    assert not page.text_area
    assert not page.select_slider


def test_both_figures_are_saved_in_the_chosen_format():
    page = open_compare()
    for form in ("svg", "png"):
        page = choose(page, "figure_format", form)
        saved = [json.loads(chart.proto.config)["toImageButtonOptions"] for chart in page.get("plotly_chart")]
        assert [options["format"] for options in saved] == [form, form]
        assert len({options["filename"] for options in saved}) == 2
