"""The page around an answer that is already there: no model is loaded by any of this."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rauq
from pages.ui import state
from pages.ui.examples import EXAMPLES
from rauq.atlas import recorded
from tests.answers import random_trace
from tests.pages.reading import charts, choose, interpreted, strip
from tests.traces import make_trace

ROOT = Path(__file__).parents[2]
PIECES = (b" The", b" capital", b" is", b" Lima", b".", b"\n")
PROBABILITIES = (0.9, 0.95, 0.9, 0.02, 0.9, 0.99)
HOSTILE = "<img src=x onerror=alert(1)> ![](http://evil.example/a.png) $x$ :red[y] \u202e \x07"

pytestmark = pytest.mark.usefixtures("no_model")


@pytest.fixture
def trace():
    return make_trace(PIECES, probabilities=PROBABILITIES)


def test_without_an_answer_the_page_says_what_to_do(open_app):
    page = open_app()
    assert not page.exception
    assert "Give a prompt on the left" in interpreted(page)
    assert [button.label for button in page.button if button.key.startswith("start_")] == [e.name for e in EXAMPLES]
    assert not page.get("plotly_chart")


def test_an_answer_is_shown_with_its_weak_spot_first(open_app, trace):
    page = open_app(trace)
    assert not page.exception
    drawn, score = strip(page), rauq.score(trace)
    assert drawn["collapse"] == 3
    assert drawn["headline"] == "Confidence dips most at token 3, “·Lima”"
    assert f"Uncertainty {score.uncertainty:.2f}" in drawn["detail"]
    assert [token["number"] for token in drawn["tokens"]] == [f"{c:.2f}".replace("-", "−") for c in score.collapse]
    assert drawn["tokens"][3]["level"] == max(token["level"] for token in drawn["tokens"])
    assert list(charts(page)) == ["layer_head_map", "confidence", "token_head_map"]
    table = page.dataframe[0].value
    assert list(table["layer"]) == list(score.layers)
    assert list(table["head"]) == list(score.heads)
    np.testing.assert_allclose(table["margin"], score.margins)


def record(*traces):
    """Ship these traces as recorded generations."""
    rows = []
    for number, trace in enumerate(traces):
        trace.save(recorded.FOLDER / f"{number}.safetensors")
        rows.append({"id": str(number), "name": f"Number {number}", "what_to_see": f"Sight {number}", "correct": True})
    recorded.INDEX.write_text(json.dumps(rows))


def test_the_page_opens_on_a_recorded_generation_and_leads_to_the_others(open_app, trace):
    record(trace, make_trace((b"a", b"b"), prompt="The other?"))
    page = open_app()
    assert strip(page)["headline"].startswith("Confidence dips most")
    assert strip(page)["source"].endswith("Recorded; the answer is right. Sight 0")
    assert page.text_area(key=state.PROMPT).value == trace.prompt
    page.selectbox[0].select_index(1).run()
    assert page.text_area(key=state.PROMPT).value == "The other?"
    assert "The other?" in strip(page)["source"]
    assert strip(page)["source"].endswith("Sight 1")


def test_a_recorded_generation_replaces_an_error_and_what_was_selected(open_app, trace):
    record(make_trace(), trace)
    page = open_app(layer="1", head="3")
    assert page.query_params == {"layer": "1", "head": "3"}
    page.text_area(key=state.PROMPT).set_value("")
    page.button(key="run").click().run()
    assert page.error
    page.selectbox[0].select_index(1).run()
    assert not page.error
    assert page.query_params == {}


def test_the_first_picture_needs_no_torch():
    code = (
        "import sys\n"
        "from streamlit.testing.v1 import AppTest\n"
        "from tests.traces import make_trace\n"
        "page = AppTest.from_file('app.py', default_timeout=60)\n"
        "page.session_state['_trace'] = make_trace()\n"
        "page.run()\n"
        "assert not page.exception and len(page.get('plotly_chart')) == 3\n"
        "print([name for name in ('torch', 'transformers', 'sklearn') if name in sys.modules])\n"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert run.stdout.splitlines()[-1] == "[]"


def test_settings_live_in_the_url_and_back_leads_to_the_papers(open_app, trace):
    page = open_app(trace)
    assert "the paper's setting" in interpreted(page)
    assert page.query_params == {}
    page.slider(key="settings_alpha").set_value(0.55).run()
    assert page.query_params == {"alpha": "0.55"}
    assert "not the paper's setting" in interpreted(page)
    assert f"Uncertainty {rauq.score(trace, rauq.Settings(alpha=0.55)).uncertainty:.2f}" in strip(page)["detail"]
    page.button(key="paper").click().run()
    assert page.query_params == {}
    assert "not the paper's setting" not in interpreted(page)


def test_alpha_follows_the_signal(open_app, trace):
    page = choose(open_app(trace, alpha="0.55"), "settings_signal", "entropy")
    assert page.slider(key="settings_alpha").value == 0.5
    assert page.query_params == {"signal": "entropy"}
    assert "not the paper's setting" not in interpreted(page)


@pytest.mark.parametrize(
    "query", [{"alpha": "7"}, {"alpha": "nan"}, {"signal": "x"}, {"alignment": "<b>"}, {"layer": "-1"}]
)
def test_a_link_with_nonsense_shows_the_papers_setting(query, open_app, trace):
    page = open_app(trace, **query)
    assert not page.exception
    assert strip(page)["detail"] == strip(open_app(trace))["detail"]


def test_a_link_restores_the_selection(open_app, trace):
    page = open_app(trace, layer="1", head="3", token="2")
    assert page.number_input(key="layer_input").value == 1
    assert page.number_input(key="head_input").value == 3
    assert strip(page)["selected"] == 2
    assert "at token 2" in interpreted(page)
    assert "Heads of layer 1" in interpreted(page)
    frame = charts(page)["layer_head_map"]["layout"]["shapes"][-1]
    assert (frame["x0"], frame["y0"]) == (2.5, 0.5)
    page.number_input(key="head_input").set_value(0).run()
    assert page.query_params == {"layer": "1", "head": "0", "token": "2"}


def test_a_link_out_of_range_is_corrected_with_a_notice(open_app, trace):
    page = open_app(trace, layer="77", head="1", token="6")
    assert page.query_params == {"layer": "5", "head": "1", "token": "5"}
    assert "This answer has no such layer or token" in interpreted(page)


def test_the_map_of_the_first_token_is_the_mean(open_app, trace):
    assert charts(open_app(trace, token="0"))["layer_head_map"] == charts(open_app(trace))["layer_head_map"]


def test_an_alignment_that_was_not_captured_says_so_and_leaves_the_way_back(open_app):
    attention = make_trace(PIECES).attention.copy()
    attention[:, :, -1] = np.nan
    page = open_app(make_trace(PIECES, attention=attention), alignment="own")
    assert not page.exception
    assert page.error[0].value == "This was not captured"
    page.button(key="paper").click().run()
    assert not page.error
    assert len(charts(page)) == 3


def test_text_of_models_and_users_is_never_interpreted(open_app):
    pieces = (HOSTILE.encode(), b"*a*", b"\xf0\x9f", b"\n")
    page = open_app(make_trace(pieces, prompt=f"{HOSTILE} \ud800", model=HOSTILE))
    assert not page.exception
    assert "evil" not in interpreted(page)
    assert "evil" in strip(page)["tokens"][0]["spoken"]
    assert strip(page)["tokens"][2]["parts"] == [["⟨F0 9F⟩", True]]


@pytest.mark.parametrize(
    ("num_tokens", "drawn"), [(1, ["confidence"]), (2, ["layer_head_map", "confidence", "token_head_map"])]
)
def test_short_answers_have_a_picture_of_what_there_is(num_tokens, drawn, open_app):
    page = open_app(make_trace((b"a",) * num_tokens))
    assert not page.exception
    assert len(strip(page)["tokens"]) == num_tokens
    assert list(charts(page)) == drawn


@pytest.mark.parametrize(
    ("changes", "query", "headline"),
    [
        ({"logprobs": np.full(6, np.nan)}, {"layer": "0"}, "The score is undefined"),
        ({"entropies": np.full(6, np.nan)}, {"signal": "entropy", "layer": "0"}, "The score is undefined"),
        ({"probabilities": (0.9, 0.9, 0.9, 0.0, 0.9, 0.9)}, {"alpha": "1"}, "Confidence collapsed at token 3"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")  # of making the trace
def test_a_score_that_is_undefined_or_infinite_still_has_a_picture(changes, query, headline, open_app):
    page = open_app(make_trace(PIECES, **changes), **query)
    assert not page.exception
    assert strip(page)["headline"].startswith(headline)
    assert ("Uncertainty ∞" in strip(page)["detail"]) == headline.startswith("Confidence")
    assert len(charts(page)) == 3


def test_layers_of_a_hybrid_are_stepped_through_and_named_as_they_are(open_app):
    page = open_app(random_trace(6, layers=(3, 7, 11), num_layers=12))
    field = page.number_input(key="layer_input")
    assert (field.min, field.max, field.step) == (3, 11, 4)
    page = field.increment().run()
    assert page.query_params["layer"] == "11"
    assert not page.toast
