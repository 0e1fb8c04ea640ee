"""The page with an existing answer: nothing here loads a model."""

import json

import numpy as np
import pytest

import rauq
from pages.ui.inspect.form import EXAMPLES
from pages.ui.shared import state
from rauq.recorded import answers as recorded
from tests.answers import random_trace
from tests.imports import MODELS, imported_after
from tests.pages.reading import charts, choose, drawn_views, interpreted, settings_of, views
from tests.traces import make_trace

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
    assert "Type a prompt above" in interpreted(page)
    assert [button.label for button in page.button if button.key.startswith("start_")] == [e.name for e in EXAMPLES]
    assert not drawn_views(page)


def test_an_answer_is_shown_with_its_largest_collapse_first(open_app, trace):
    page = open_app(trace)
    assert not page.exception
    drawn, score = views(page), rauq.score(trace)
    assert drawn["collapseAt"] == 3
    assert drawn["headline"] == "Confidence dips most at token 3, “·Lima”"
    assert f"Uncertainty {score.uncertainty:.2f}" in drawn["uncertainty"]
    assert "Uncertainty" not in drawn["detail"]
    assert [picked["layer"] for picked in drawn["picked"]] == list(score.layers)
    assert [picked["head"] for picked in drawn["picked"]] == list(score.heads)
    assert drawn["scoreLayer"] == score.layer


def test_the_browser_gets_the_numbers_of_the_score(open_app, trace):
    drawn, score = views(open_app(trace)), rauq.score(trace)
    arrays, weights = drawn["arrays"], trace.previous_token_attention()
    np.testing.assert_allclose(drawn["weights"], weights.ravel(), atol=1e-5)
    expected = {
        "means": weights.mean(axis=2),
        "probability": PROBABILITIES,
        "entropy": trace.entropies,
        "signal": score.signal,
        "collapse": score.collapse,
        "contribution": score.contributions,
        "shares": score.collapse_shares,
        "confidence": score.confidence,
        "sure": score.reference_confidence,
        "pickedAttention": score.attention,
    }
    for name, values in expected.items():
        np.testing.assert_allclose(arrays[name], np.ravel(values), rtol=1e-6, err_msg=name)
    heads = arrays["headNumbers"].reshape(-1, 3)
    np.testing.assert_allclose(heads[:, 1], score.margins, rtol=1e-6)
    np.testing.assert_allclose(heads[:, 2], score.layer_scores, rtol=1e-6)


def record(*traces):
    """Ship these traces as recorded generations."""
    rows = []
    for number, trace in enumerate(traces):
        trace.save(recorded.FOLDER / f"{number}.safetensors")
        row = {"id": str(number), "name": f"Number {number}", "what_to_see": f"Sight {number}"}
        rows.append(row | {"verdict": "correct", "correct_answer": "Peru"})
    recorded.INDEX.write_text(json.dumps(rows))


def test_the_page_opens_on_a_recorded_generation_and_leads_to_the_others(open_app, trace):
    record(trace, make_trace((b"a", b"b"), prompt="The other?"))
    page = open_app()
    assert views(page)["headline"].startswith("Confidence dips most")
    assert views(page)["source"].endswith("Recorded. Sight 0")
    assert views(page)["isRecorded"]
    assert views(page)["judged"]["verdict"]["verdict"] == "correct"
    assert page.text_area(key=state.PROMPT).value == trace.prompt
    page.selectbox(key="_example").select_index(1).run()
    assert page.text_area(key=state.PROMPT).value == "The other?"
    assert "The other?" in views(page)["source"]
    assert "Sight 1" in views(page)["source"]
    assert page.query_params == {"example": "1"}


def test_a_link_leads_to_a_recorded_generation(open_app, trace):
    record(trace, make_trace((b"a", b"b"), prompt="The other?"))
    page = open_app(example="1", token="1")
    assert "The other?" in views(page)["source"]
    assert views(page)["selection"] == {"layer": None, "head": None, "token": 1, "passage": None, "colour": None}
    page = open_app(example="none <b>")
    assert page.text_area(key=state.PROMPT).value == trace.prompt
    assert "No recorded answer has that name" in interpreted(page)
    assert page.query_params == {"example": "0"}


def test_a_damaged_recording_is_reported_and_the_page_stays(open_app, trace):
    record(trace)
    (recorded.FOLDER / "0.safetensors").write_bytes(b"no trace")
    page = open_app()
    assert not page.exception
    assert page.error[0].value == "This trace cannot be opened"
    assert page.button(key="run").label == "Generate"


def test_a_recorded_generation_replaces_an_error_and_what_was_selected(open_app, trace):
    record(make_trace(), trace)
    page = open_app(layer="1", head="3")
    assert settings_of(page) == {"layer": "1", "head": "3"}
    page.text_area(key=state.PROMPT).set_value("")
    page.button(key="run").click().run()
    assert page.error
    page.selectbox(key="_example").select_index(1).run()
    assert not page.error
    assert settings_of(page) == {}


def test_the_first_picture_needs_neither_torch_nor_figures():
    code = (
        "from streamlit.testing.v1 import AppTest\n"
        "page = AppTest.from_file('app.py', default_timeout=60).run()\n"
        "assert not page.exception and len(page.get('bidi_component')) == 3\n"
    )
    assert imported_after(code, (*MODELS, "analysis.one_answer.figures", "analysis.exports", "analysis.runs")) == []


@pytest.mark.usefixtures("no_model")
def test_an_answer_below_another_request_is_named_as_the_earlier_one(open_app, trace):
    page = open_app(trace)
    assert "Below is the earlier answer" not in " ".join(one.value for one in page.text)
    page.button(key="task_link").click().run()
    assert "until you press Score answer" in " ".join(one.value for one in page.text)
    page.button(key="task_link").click().run()
    assert "Below is the earlier answer" not in " ".join(one.value for one in page.text)
    page.text_area(key=state.PROMPT).set_value("Another?").run()
    assert "until you press Generate" in " ".join(one.value for one in page.text)


def test_an_evicted_answer_is_said_in_its_place_and_the_address_is_kept(open_app):
    page = open_app(kept="gone", layer="1")
    assert not page.exception
    assert "no longer in memory" in page.title[0].value
    assert page.query_params == {"kept": "gone", "layer": "1"}
    assert [element.key for element in page.get("bidi_component")] == ["own_request", "own_job"]
    page.text_area(key=state.PROMPT).set_value("Another?").run()
    assert any("not its prompt" in said.value for said in page.main.markdown)


def test_the_scoring_button_says_what_a_link_says_before_anything_is_loaded(open_app):
    asked = {"prompt": "Where?", "model": "smollm2", "kind": "instruct"}
    labels = [
        [drawer.proto.popover.label for drawer in open_app(**asked, **settings).get("popover")]
        for settings in ({"signal": "probability"}, {})
    ]
    assert [found[-1] for found in labels] == ["Scoring: signal probability", "Scoring: paper's"]


def test_the_selection_reaches_the_views(open_app, trace):
    page = open_app(trace, layer="1", head="3", token="2", wrong="3.4")
    drawn = views(page)
    assert drawn["selection"] == {"layer": 1, "head": 3, "token": 2, "passage": None, "colour": None}
    assert drawn["wrong"] == [3, 4]
    assert settings_of(page) == {"layer": "1", "head": "3", "token": "2", "wrong": "3.4"}


@pytest.mark.parametrize(
    ("query", "mended", "said"),
    [
        ({"layer": "77", "token": "6"}, {"layer": "5", "token": "5"}, "Out of range in the link: layer and token."),
        ({"head": "x"}, {}, "head cannot be read"),
        ({"colour": "red<b>"}, {}, "colour cannot be read"),
        ({"wrong": "3.99"}, {"wrong": "3"}, "not in this answer"),
        ({"wrong": "<b>"}, {"wrong": "none"}, "not in this answer"),
        ({"alpha": "7"}, {}, "alpha cannot be used"),
        ({"alpha": "nan", "signal": "x"}, {}, "signal and alpha cannot be used"),
        ({"alignment": "<b>"}, {}, "alignment cannot be used"),
        ({"layers": "2.99"}, {"layers": "2.99"}, "layers cannot be used"),
        ({"heads": "2-9.3-0"}, {}, "heads cannot be used"),
        ({"update": "rauq2", "token_aggregation": "", "layer_aggregation": "min"}, {}, "cannot be used"),
    ],
)
def test_a_link_out_of_range_is_corrected_with_a_notice(query, mended, said, open_app, trace):
    page = open_app(trace, **query)
    assert not page.exception
    assert said in interpreted(page)
    assert settings_of(page) == (mended if "layers" not in query else {})
    assert views(page)["detail"]


def test_what_takes_the_place_of_layers_that_a_link_cannot_have_is_drawn_at_once(open_app, trace):
    page = open_app(trace, layers="2.99")
    assert "layers cannot be used here; the paper's setting is used instead" in interpreted(page)
    assert views(page)["picked"] == views(open_app(trace))["picked"]


def test_marks_that_came_with_the_trace_are_shown(open_app):
    page = open_app(make_trace(PIECES, wrong=(3,)))
    assert views(page)["wrong"] == [3]
    assert views(open_app(make_trace(PIECES, wrong=(3,)), wrong="none"))["wrong"] == []


def test_an_alignment_that_was_not_captured_says_so_and_leaves_the_way_back(open_app):
    attention = make_trace(PIECES).attention.copy()
    attention[:, :, -1] = np.nan
    page = open_app(make_trace(PIECES, attention=attention), alignment="own")
    assert not page.exception
    assert page.error[0].value == "This was not captured"
    page.button(key="paper").click().run()
    assert not page.error
    assert views(page)["headline"]


def test_text_of_models_and_users_is_never_interpreted(open_app):
    pieces = (HOSTILE.encode(), b"*a*", b"\xf0\x9f", b"\n")
    page = open_app(make_trace(pieces, prompt=f"{HOSTILE} \ud800", model=HOSTILE))
    assert not page.exception
    assert "evil" not in interpreted(page)
    assert "evil" in views(page)["tokens"][0]["label"]
    assert views(page)["tokens"][2]["parts"] == [["⟨F0 9F⟩", True]]


@pytest.mark.parametrize("num_tokens", [1, 2])
def test_short_answers_are_drawn(num_tokens, open_app):
    page = open_app(make_trace((b"a",) * num_tokens))
    assert not page.exception
    drawn = views(page)
    assert len(drawn["tokens"]) == num_tokens
    assert drawn["gaps"] == num_tokens - 1
    assert ("one token" in drawn["note"]) == (num_tokens == 1)


@pytest.mark.parametrize(
    ("changes", "query", "headline"),
    [
        ({"logprobs": np.full(6, np.nan)}, {"layer": "0"}, "The score is undefined"),
        ({"entropies": np.full(6, np.nan)}, {"signal": "entropy", "layer": "0"}, "The score is undefined"),
        ({"probabilities": (0.9, 0.9, 0.9, 0.0, 0.9, 0.9)}, {"alpha": "1"}, "Confidence collapsed at token 3"),
        ({}, {"token_aggregation": "median"}, "Confidence dips most"),
        ({}, {"layer_aggregation": "median"}, "Where confidence collapsed is undefined"),
        ({}, {"update": "mean_product"}, "Where confidence collapsed is undefined"),
        ({}, {"heads": "mean", "layers": "all"}, "Confidence"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")  # of making the trace
def test_a_score_that_is_undefined_or_infinite_still_has_a_picture(changes, query, headline, open_app):
    page = open_app(make_trace(PIECES, **({"probabilities": PROBABILITIES} | changes)), **query)
    assert not page.exception
    drawn = views(page)
    assert drawn["headline"].startswith(headline)
    if np.isnan(drawn["arrays"]["contribution"]).all():
        assert drawn["reasons"]["contribution"]


def test_layers_of_a_hybrid_keep_their_absolute_indices(open_app):
    page = open_app(random_trace(6, layers=(3, 7, 11), num_layers=12), layer="9")
    assert views(page)["layers"] == [3, 7, 11]
    assert views(page)["selection"]["layer"] in {7, 11}


def test_the_figures_are_made_when_they_are_asked_for_and_show_the_selection(open_app, trace):
    page = open_app(trace, layer="1", head="3", token="2")
    assert not charts(page)
    page.session_state["folded_Figures"] = True
    page = page.run()
    assert not page.exception
    drawn = charts(page)
    assert len(drawn) == 3
    frame = next(chart for name, chart in drawn.items() if "layer" in name)["layout"]["shapes"][-1]
    assert (frame["x0"], frame["y0"]) == (2.5, 0.5)


def test_the_first_token_has_no_map_of_its_own(open_app, trace):
    page = open_app(trace, token="0")
    assert views(page)["selection"]["token"] == 0
    assert not page.exception


def test_the_page_left_and_entered_again_shows_the_same(open_app, trace):
    page = open_app(trace, token="2", alpha="0.5")
    page = page.switch_page("pages/learn.py").run()
    page.query_params.clear()
    page = page.switch_page("pages/inspect.py").run()
    assert not page.exception
    assert settings_of(page) == {"token": "2", "alpha": "0.5"}
    assert views(page)["headline"].endswith("“·Lima”")
    assert page.text_area(key=state.PROMPT).value == trace.prompt


def test_back_to_the_papers_setting_is_back_even_where_nothing_else_was_chosen(open_app, trace):
    record(trace)
    page = open_app(alpha="0.5")
    page.button(key="paper").click().run()
    assert settings_of(page) == {}
    assert settings_of(page.run()) == {}


def test_a_choice_in_the_sidebar_reaches_the_views(open_app, trace):
    page = choose(open_app(trace), "settings_signal", "entropy")
    assert views(page)["signalName"] == "entropy"
