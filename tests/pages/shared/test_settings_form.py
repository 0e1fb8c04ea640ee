"""Every control of the form re-scores the answer at once: never with the model, and the URL restores all of it."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

import rauq
from pages.ui.host import models
from pages.ui.host.hosting import ModelChoice
from pages.ui.inspect.form import EXAMPLES
from rauq import Settings
from rauq.scoring.settings import (
    HeadRule,
    LayerAggregation,
    TokenAggregation,
    Update,
    is_paper_setting,
    resolve,
    window,
)
from rauq.scoring.shown import show_head
from tests.answers import random_trace
from tests.pages.reading import choose, interpreted, settings_of, views

BADGES = {True: ":gray-badge[the paper's setting]", False: ":orange-badge[not the paper's setting]"}
FIELDS = ("detail", "headline", "picked", "scoreLayer", "collapseAt", "signalName", "reasons", "layers")


@pytest.fixture(scope="module")
def trace():
    lm = models.model(ModelChoice())
    return lm.generate(EXAMPLES[1].prompt, max_new_tokens=8, last_row=True)


@pytest.fixture(autouse=True)
def no_forward_pass():
    """Fail on any forward pass of the loaded model; loading another one takes passes too."""
    lm, passes = models.model(ModelChoice()), []
    hook = lm.model.register_forward_hook(lambda *_: passes.append(1))
    yield
    hook.remove()
    assert models.if_loaded(ModelChoice()) is lm
    assert not passes


@pytest.fixture
def opened(open_app):
    """The page with every control drawn."""

    def run(trace, **query):
        page = open_app(trace, **query)
        page.session_state["more_settings"] = True
        return page.run()

    return run


def moved(page, name, value):
    """The page after one control of the form was moved."""
    key = f"settings_{name}"
    for control in (*page.slider, *page.select_slider, *page.selectbox):
        if control.key == key:
            return control.set_value(value).run()
    return choose(page, key, value)


def drawn(page, trace, settings, head=()):
    """Return what the page draws, after checking that it is the score of the answer under these settings.

    `head`: the layer and head that is chosen, whose collapse is drawn.
    """
    assert not page.exception
    assert not page.error
    papers, data = is_paper_setting(settings, trace.kind), views(page)
    said = interpreted(page)
    assert BADGES[papers] in said
    assert BADGES[not papers] not in said
    assert page.button(key="paper").disabled == papers
    score = show_head(trace, rauq.score(trace, settings), *head)
    expected = {
        "signal": score.signal,
        "collapse": score.collapse,
        "contribution": score.contributions,
        "confidence": score.confidence,
        "sure": score.reference_confidence,
        "pickedAttention": score.attention,
    }
    for name, values in expected.items():
        np.testing.assert_allclose(data["arrays"][name], np.ravel(values), rtol=1e-6, err_msg=name)
    assert [(one["layer"], one["head"]) for one in data["picked"]] == list(zip(score.layers, score.heads, strict=True))
    assert f"Uncertainty {score.uncertainty:.2f}".replace("-", "\N{MINUS SIGN}") in data["uncertainty"]
    return data


def check(page, trace, settings, open_app, head=()):
    """The page, and another that its URL opens, show the answer under these settings."""
    data = drawn(page, trace, settings, head)
    again = drawn(open_app(trace, **settings_of(page)), trace, settings, head)
    assert {name: data[name] for name in FIELDS} == {name: again[name] for name in FIELDS}
    np.testing.assert_array_equal(data["weights"], again["weights"])


def middle(trace):
    return window(Settings(), captured=trace.layers, num_layers=trace.num_layers)


def test_each_signal_brings_its_alpha_and_alpha_moves_alone(trace, opened, open_app):
    page = moved(opened(trace), "signal", "entropy")
    check(page, trace, Settings(signal="entropy", alpha=0.5), open_app)
    assert settings_of(page) == {"signal": "entropy"}
    for alpha in (0.0, 0.35, 1.0):
        page = moved(page, "alpha", alpha)
        check(page, trace, Settings(signal="entropy", alpha=alpha), open_app)
        assert settings_of(page) == {"signal": "entropy", "alpha": f"{alpha:g}"}
    page = moved(page, "signal", "probability")
    check(page, trace, Settings(signal="probability", alpha=0.2), open_app)
    assert settings_of(page) == {}


def test_alignment(trace, opened, open_app):
    page = moved(opened(trace), "alignment", "own")
    check(page, trace, Settings(alignment="own"), open_app)
    page = moved(page, "alignment", "predicting")
    check(page, trace, Settings(), open_app)


def test_layers_and_their_range(trace, opened, open_app):
    page = moved(opened(trace), "layers", "all")
    check(page, trace, Settings(layers="all"), open_app)
    page = moved(page, "layers", "middle_five")
    check(page, trace, Settings(layers="middle_five"), open_app)
    page = moved(page, "layers", "range")
    check(page, trace, Settings(layers=middle(trace)), open_app)
    last = max(trace.layers)
    for ends in ((0, last), (0, 0), (1, last - 1), (last, last)):
        page = moved(page, "range", ends)
        check(page, trace, Settings(layers=tuple(range(ends[0], ends[1] + 1))), open_app)
    page = moved(page, "layers", "middle")
    check(page, trace, Settings(), open_app)
    assert settings_of(page) == {}


def test_a_range_without_attention_is_its_nearest_layer(opened):
    hybrid = random_trace(6, layers=(3, 7, 11), num_layers=12)
    page = moved(opened(hybrid), "layers", "range")
    drawn(page, hybrid, Settings(layers=(7,)))
    for ends, layers in {(3, 11): (3, 7, 11), (4, 6): (3,), (8, 11): (11,), (6, 10): (7,)}.items():
        page = moved(page, "range", ends)
        drawn(page, hybrid, Settings(layers=layers))


@pytest.mark.parametrize("rule", get_args(HeadRule))
def test_heads(rule, trace, opened, open_app):
    page = moved(opened(trace, heads="max" if rule == "mean" else "mean"), "heads", rule)
    check(page, trace, Settings(heads=rule), open_app)


def test_fixed_heads_are_the_selected_ones_until_one_is_entered(trace, opened, open_app):
    layer = middle(trace)[-1]
    picked = rauq.score(trace).heads.tolist()
    head = (picked[-1] + 1) % trace.num_heads
    page = moved(opened(trace, layer=str(layer), head=str(head)), "heads", "fixed")
    fixed = dict(zip(middle(trace), picked, strict=True))
    check(page, trace, Settings(heads=tuple(fixed.items())), open_app, (layer, head))
    page = page.button(key="put_head").click().run()
    check(page, trace, Settings(heads=tuple((fixed | {layer: head}).items())), open_app, (layer, head))
    assert settings_of(page) | {"heads": ""} == {"layer": str(layer), "head": str(head), "heads": ""}
    assert f"layer {layer}: head {head}" in interpreted(page)
    page = moved(page, "layers", "all")  # fixed heads are those of the layers before
    check(page, trace, Settings(layers="all"), open_app, (layer, head))


def test_a_head_of_another_layer_is_not_entered(trace, opened):
    outside = next(layer for layer in trace.layers if layer not in middle(trace))
    page = moved(opened(trace, layer=str(outside), head="0"), "heads", "fixed")
    before = settings_of(page)
    page = page.button(key="put_head").click().run()
    assert settings_of(page) == before
    assert f"Layer {outside} is not among the layers" in interpreted(page)


def test_every_update(trace, opened, open_app):
    page = opened(trace, heads="top5")
    for update in get_args(Update)[::-1]:
        page = moved(page, "update", update)
        check(page, trace, Settings(update=update, heads="top5"), open_app)
    assert settings_of(page) == {"heads": "top5"}


def test_means_of_logarithms_read_single_heads(trace, opened, open_app):
    page = moved(opened(trace, heads="mean"), "update", "mean_product")
    check(page, trace, Settings(update="mean_product", heads="max"), open_app)


@pytest.mark.parametrize(
    ("name", "options"),
    [("token_aggregation", get_args(TokenAggregation)), ("layer_aggregation", get_args(LayerAggregation))],
)
def test_every_aggregation(name, options, trace, opened, open_app):
    page = opened(trace)
    for option in (*options[1:], options[0]):
        page = moved(page, name, option)
        check(page, trace, Settings(**{name: option}), open_app)
    assert settings_of(page) == {}


def test_every_control_together_and_back_to_the_papers(trace, opened, open_app):
    page, settings = opened(trace, token="2"), Settings(signal="probability", alpha=0.2)
    changes = {
        "signal": "entropy",
        "alpha": 0.75,
        "alignment": "own",
        "layers": "range",
        "range": (1, 4),
        "heads": "top5",
        "update": "minus_mean",
        "token_aggregation": "median",
        "layer_aggregation": "mean",
    }
    for name, value in changes.items():
        page = moved(page, name, value)
        field, becomes = ("layers", (1, 2, 3, 4)) if name in {"range", "layers"} else (name, value)
        settings = replace(settings, **{field: becomes})
    controls = {
        control.key for control in (*page.slider, *page.select_slider, *page.selectbox, *page.get("button_group"))
    }
    assert {key for key in controls if key.startswith("settings_")} == {f"settings_{name}" for name in changes}
    check(page, trace, settings, open_app)
    page = page.button(key="paper").click().run()
    check(page, trace, Settings(), open_app)
    assert settings_of(page) == {"token": "2"}


@pytest.mark.parametrize(("signal", "alpha"), [("probability", 0.6), ("entropy", 0.9)])
def test_an_instruct_model_has_its_own_paper_setting(signal, alpha, opened):
    made = random_trace(5, kind="instruct")
    assert resolve(Settings(), "instruct").signal == "entropy"
    page = moved(moved(opened(made), "signal", "probability"), "alpha", 0.25)
    drawn(page, made, Settings(signal="probability", alpha=0.25))
    page = moved(moved(page, "signal", "entropy"), "signal", signal)
    drawn(page, made, Settings(signal=signal, alpha=alpha))
    assert settings_of(page) == ({} if signal == "entropy" else {"signal": signal})


@pytest.mark.parametrize(
    ("layers", "settings"), [("all", Settings(layers="all")), ("range", Settings(layers=(0, 11)))], ids=["all", "range"]
)
def test_a_model_without_attention_in_the_middle_can_be_scored_by_its_other_layers(layers, settings, opened):
    ends = random_trace(5, layers=(0, 11), num_layers=12)
    page = opened(ends, heads="0-1")
    assert not page.exception
    assert page.error[0].value == "This input cannot be used"
    assert not moved(page, "heads", "fixed").exception
    drawn(moved(page, "layers", layers), ends, settings)


def test_unavailable_layers_of_a_link_are_replaced_before_drawing(trace, open_app):
    page = open_app(trace, layers="2.99")
    assert settings_of(page) == {}
    assert interpreted(page).count("layers cannot be used here") == 1
    drawn(page, trace, Settings())


def test_heads_of_an_alignment_that_was_not_captured_cannot_be_fixed_and_nothing_breaks(opened):
    attention = random_trace(5).attention.copy()
    attention[:, :, -1] = np.nan
    made = random_trace(5, attention=attention)
    for query in ({}, {"heads": "2-0.3-0.4-0", "layer": "2"}):
        page = opened(made, alignment="own", **query)
        page = page.button(key="put_head").click().run() if query else moved(page, "heads", "fixed")
        assert not page.exception
        assert page.error[0].value == "This was not captured"
        page = page.button(key="paper").click().run()
        drawn(page, made, Settings())
