"""One figure of an answer by its name, for notebooks, and through the answer itself."""

import json
import sys

import numpy as np
import pytest

import rauq
from analysis.one_answer.figures import default_view, drawings, plot
from rauq.errors import InvalidInput, MissingPackage
from tests.traces import make_trace

NAMES = ("confidence", "layer-head-map", "token-head-map")


@pytest.fixture(scope="module")
def trace():
    return make_trace([b"a", b"b", b"c", b"d"])


@pytest.mark.parametrize("name", NAMES)
def test_it_is_the_figure_of_the_app_with_its_heading(trace, name):
    score = rauq.score(trace)
    drawn = {one.name: one for one in drawings(trace, score, default_view(trace, score), dark=False)}
    found = score.plot(name)
    assert json.loads(found.to_json())["data"] == json.loads(drawn[name].figure.to_json())["data"]
    assert found.layout.title.text == drawn[name].heading
    assert found.to_json() == trace.plot(name).to_json() == rauq.analysis.plot(trace, name).to_json()


def test_layer_head_and_token_can_be_chosen(trace):
    score = rauq.score(trace)
    layer = next(layer for layer in score.layers if layer != score.layer)
    weights = score.plot("token-head-map", layer=layer).data[0].z
    np.testing.assert_allclose(weights[:, 1:], trace.previous_token_attention()[layer])
    at_token = score.plot("layer-head-map", token=2).data[0].z
    np.testing.assert_allclose(at_token, trace.previous_token_attention()[:, :, 1])


@pytest.mark.parametrize("dark", [False, True])
def test_a_figure_brings_its_page_so_that_it_can_be_read_on_any(trace, dark):
    layout = trace.plot(dark=dark).layout
    assert layout.paper_bgcolor == layout.plot_bgcolor == ("#14181d" if dark else "#ffffff")
    assert layout.legend.font.color == layout.title.font.color == ("#d5d9de" if dark else "#4a5058")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"name": "heads"}, "Got the figure 'heads'; choose one of layer-head-map, confidence, token-head-map"),
        ({"layer": 6}, "Got layer=6; this answer has layers 0 to 5"),
        ({"head": -1}, "Got head=-1; this answer has heads 0 to 3"),
        ({"token": 4}, "Got token=4; this answer has tokens 0 to 3"),
    ],
)
def test_what_the_answer_does_not_have_is_refused(trace, options, says):
    with pytest.raises(InvalidInput, match=says):
        trace.plot(**options)


def test_an_answer_of_one_token_has_no_maps():
    with pytest.raises(InvalidInput, match=r"one token has confidence alone.*choose one of confidence"):
        make_trace([b"a"]).plot("layer-head-map")


def test_a_score_of_bare_arrays_has_nothing_to_draw(trace):
    settings = rauq.Settings(signal="probability", alpha=0.2)
    score = rauq.score_arrays(trace.previous_token_attention(into_prompt=True), trace.logprobs, settings)
    with pytest.raises(InvalidInput, match="of bare arrays"):
        plot(score)


def test_without_plotly_it_says_what_to_install(trace, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] in ("analysis", "plotly")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "plotly", None)
    with pytest.raises(MissingPackage, match=r"Figures need plotly, which is not installed: pip install plotly$"):
        trace.plot()
