"""Compare: how both answers are scored, B by settings of its own, and what a link cannot mean."""

import numpy as np
import pytest

import rauq
from pages.ui.host import cache
from rauq import Settings
from tests.pages.comparing import BESIDE, FIRST, charts, choose, interpreted, kept, of, open_compare, strips, unfold
from tests.traces import make_trace


@pytest.fixture(autouse=True)
def no_answers_of_other_tests():
    cache.answers().traces.clear()


def table(page):
    return page.dataframe[0].value


def test_the_table_scores_both_under_the_same_setting():
    page = open_compare(a=FIRST, b=BESIDE, alpha="0.4")
    (row,) = table(page).to_dict("records")
    a, b = (rauq.score(of(name), Settings(alpha=0.4)) for name in (FIRST, BESIDE))
    assert row["setting"] == "probability, alpha 0.4, predicting"
    assert (row["uncertainty A"], row["uncertainty B"]) == (a.uncertainty, b.uncertainty)
    assert row["A − B"] == a.uncertainty - b.uncertainty
    assert (row["layer A"], row["layer B"]) == (a.layer, b.layer)
    assert row["head A"] == a.heads[a.layers.index(a.layer)]


def test_b_can_have_its_own_settings_and_the_table_has_both():
    page = unfold(open_compare(a=FIRST, b=FIRST, alpha="0.4"), "scoring")
    page.toggle(key="b_settings").set_value(True).run()
    assert page.query_params["b_alpha"] == "0.4"
    assert strips(page)["headline"].startswith("A and B are equally sure")
    page = choose(unfold(page, "scoring"), "b_signal_field", "entropy")
    assert page.query_params == {"a": FIRST, "b": FIRST, "alpha": "0.4", "b_settings": "own", "b_signal": "entropy"}
    assert strips(page)["headline"].endswith("on different scales")
    assert "not on one scale, for their signals and alphas differ" in interpreted(page)
    assert list(table(page)["setting"]) == ["probability, alpha 0.4, predicting", "entropy, alpha 0.5, predicting"]
    assert (table(page)["A − B"] == 0).all()
    unfold(page, "scoring").button(key="paper").click().run()
    assert page.query_params == {"a": FIRST, "b": FIRST}


def test_another_alignment_and_alpha_for_both():
    page = choose(unfold(open_compare(), "scoring"), "alignment_field", "own")
    unfold(page, "scoring").select_slider(key="alpha_field").set_value("0.75").run()
    assert page.query_params == {"alignment": "own", "alpha": "0.75"}
    a = rauq.score(of(FIRST), Settings(alignment="own", alpha=0.75)).uncertainty
    assert strips(page)["sides"][0]["uncertainty"] == f"{a:.2f}"
    page = choose(unfold(page, "scoring"), "signal_field", "entropy")
    assert page.query_params == {"alignment": "own", "signal": "entropy"}


def test_answers_of_another_kind_follow_the_papers_setting_of_their_own():
    page = open_compare(a=FIRST, b=kept(make_trace(kind="instruct", model="other")))
    assert not page.exception
    assert "models, kinds of model, signals and alphas differ" in interpreted(page)
    settings = ["probability, alpha 0.2, predicting", "entropy, alpha 0.9, predicting"]
    assert list(table(page)["setting"]) == settings


def test_settings_that_a_link_cannot_mean_are_told():
    page = open_compare(alpha="7", signal="<b>")
    assert not page.exception
    assert "signal and alpha cannot be used" in interpreted(page)
    assert page.query_params == {}


def test_an_alignment_that_was_not_captured_says_so_and_leaves_the_way_back():
    attention = make_trace().attention.copy()
    attention[:, :, -1] = np.nan
    page = open_compare(a=kept(make_trace(attention=attention)), alignment="own")
    assert not page.exception
    assert page.error[0].value == "This was not captured"
    unfold(page, "scoring").button(key="paper").click().run()
    assert not page.error
    assert set(charts(page)) == {"overlay"}


def test_every_other_setting_can_be_chosen_for_both():
    page = unfold(open_compare(), "scoring", "more_settings")
    chosen = {"layers": "all", "heads": "mean", "token_aggregation": "median", "layer_aggregation": "mean"}
    for name, value in chosen.items():
        page = unfold(choose(page, f"{name}_field", value), "scoring", "more_settings")
    page.selectbox(key="update_field").set_value("no_attention").run()
    assert not page.exception
    assert page.query_params == chosen | {"update": "no_attention"}
    expected = rauq.score(of(FIRST), Settings(update="no_attention", **chosen)).uncertainty
    assert strips(page)["sides"][0]["uncertainty"] == f"{expected:.2f}".replace("-", "−")
    unfold(page, "scoring", "more_settings").selectbox(key="update_field").set_value("rauq").run()
    assert page.query_params == chosen


def test_b_can_have_other_layers_and_heads_of_its_own():
    page = unfold(open_compare(a=FIRST, b=FIRST, b_settings="own"), "scoring", "b_more_settings")
    page = unfold(choose(page, "b_layers_field", "all"), "scoring", "b_more_settings")
    page = choose(page, "b_heads_field", "top5")
    assert page.query_params == {"a": FIRST, "b": FIRST, "b_settings": "own", "b_layers": "all", "b_heads": "top5"}
    a, b = (rauq.score(of(FIRST), Settings(**more)).uncertainty for more in ({}, {"layers": "all", "heads": "top5"}))
    assert [side["uncertainty"] for side in strips(page)["sides"]] == [f"{a:.2f}", f"{b:.2f}"]


def test_layers_that_only_a_link_can_choose_stand_among_the_choices():
    page = unfold(open_compare(layers="4.5", alpha="0.33"), "scoring", "more_settings")
    assert not page.exception
    assert next(group for group in page.get("button_group") if group.key == "layers_field").value == "4.5"
    assert page.select_slider(key="alpha_field").value == "0.33"


def test_layers_that_an_answer_lacks_are_mended_and_told_once():
    page = open_compare(layers="500", heads="0-1")
    assert not page.exception
    assert page.query_params == {}
    assert "layers and heads cannot be used here" in page.toast[0].value
    assert not page.run().toast
