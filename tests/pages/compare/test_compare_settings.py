"""Compare: how both answers are scored, B with its own settings, and unusable settings of a link."""

import numpy as np
import pytest

import rauq
from pages.ui.host.store import store
from rauq import Settings
from tests.pages.comparing import BESIDE, FIRST, charts, interpreted, kept, of, open_compare, strips
from tests.pages.reading import choose, unfold
from tests.traces import make_trace


@pytest.fixture(autouse=True)
def no_answers_of_other_tests():
    store().answers.kept.clear()


def table(page):
    return page.dataframe[0].value


def test_the_table_scores_both_under_the_same_setting():
    page = open_compare(a=FIRST, b=BESIDE, alpha="0.4")
    (row,) = table(page).to_dict("records")
    a, b = (rauq.score(of(name), Settings(alpha=0.4)) for name in (FIRST, BESIDE))
    assert row["setting"] == "probability, alpha 0.4, predicting"
    assert (row["uncertainty A"], row["uncertainty B"]) == (a.uncertainty, b.uncertainty)
    assert row["A − B"] == a.uncertainty - b.uncertainty
    assert (row["layer A"], row["layer B"]) == (str(a.layer), str(b.layer))
    assert row["head A"] == str(a.heads[a.layers.index(a.layer)])


def test_a_score_of_no_single_layer_has_a_dash_for_layer_and_head():
    (row,) = table(open_compare(a=FIRST, b=BESIDE, layer_aggregation="mean")).to_dict("records")
    assert {row[name] for name in ("layer A", "layer B", "head A", "head B")} == {"-"}


def test_b_can_have_its_own_settings_and_the_table_has_both():
    page = unfold(open_compare(a=FIRST, b=FIRST, alpha="0.4"), "scoring")
    page.toggle(key="b_settings").set_value(True).run()
    assert page.query_params["b_alpha"] == "0.4"
    assert strips(page)["headline"].startswith("A scores 1.05 and B 1.05; without a reference")
    page = choose(unfold(page, "scoring"), "settings_b_signal", "entropy")
    assert page.query_params == {"a": FIRST, "b": FIRST, "alpha": "0.4", "b_settings": "own", "b_signal": "entropy"}
    assert strips(page)["headline"].endswith("on different scales")
    assert "not comparable: their signals and alphas differ" in interpreted(page)
    assert list(table(page)["setting"]) == ["probability, alpha 0.4, predicting", "entropy, alpha 0.5, predicting"]
    assert (table(page)["A − B"] == 0).all()
    unfold(page, "scoring").button(key="paper").click().run()
    assert page.query_params == {"a": FIRST, "b": FIRST}


def test_another_alignment_and_alpha_for_both():
    page = choose(unfold(open_compare(), "scoring"), "settings_alignment", "own")
    unfold(page, "scoring").select_slider(key="settings_alpha").set_value(0.75).run()
    assert page.query_params == {"alignment": "own", "alpha": "0.75"}
    a = rauq.score(of(FIRST), Settings(alignment="own", alpha=0.75)).uncertainty
    assert strips(page)["sides"][0]["uncertainty"] == f"{a:.2f}"
    page = choose(unfold(page, "scoring"), "settings_signal", "entropy")
    assert page.query_params == {"alignment": "own", "signal": "entropy"}


def test_answers_of_another_kind_follow_the_papers_setting_of_their_own():
    page = open_compare(a=FIRST, b=kept(make_trace(kind="instruct", model="other")))
    assert not page.exception
    assert "models, kinds of model, signals and alphas differ" in interpreted(page)
    settings = ["probability, alpha 0.2, predicting", "entropy, alpha 0.9, predicting"]
    assert list(table(page)["setting"]) == settings


def test_unusable_settings_of_a_link_are_reported():
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
        page = unfold(choose(page, f"settings_{name}", value), "scoring", "more_settings")
    page.selectbox(key="settings_update").set_value("no_attention").run()
    assert not page.exception
    assert page.query_params == chosen | {"update": "no_attention"}
    expected = rauq.score(of(FIRST), Settings(update="no_attention", **chosen)).uncertainty
    assert strips(page)["sides"][0]["uncertainty"] == f"{expected:.2f}".replace("-", "−")
    unfold(page, "scoring", "more_settings").selectbox(key="settings_update").set_value("rauq").run()
    assert page.query_params == chosen


def test_b_can_have_other_layers_and_heads_of_its_own():
    page = unfold(open_compare(a=FIRST, b=FIRST, b_settings="own"), "scoring", "b_more_settings")
    page = unfold(choose(page, "settings_b_layers", "all"), "scoring", "b_more_settings")
    page = choose(page, "settings_b_heads", "top5")
    assert page.query_params == {"a": FIRST, "b": FIRST, "b_settings": "own", "b_layers": "all", "b_heads": "top5"}
    a, b = (rauq.score(of(FIRST), Settings(**more)).uncertainty for more in ({}, {"layers": "all", "heads": "top5"}))
    assert [side["uncertainty"] for side in strips(page)["sides"]] == [f"{a:.2f}", f"{b:.2f}"]


def test_layers_heads_and_alpha_of_a_link_are_what_the_fields_say():
    page = unfold(open_compare(layers="4.5", heads="4-1.5-0", alpha="0.33"), "scoring", "more_settings")
    assert not page.exception
    said = {group.key: group.value for group in page.get("button_group")}
    assert (said["settings_layers"], said["settings_heads"]) == ("range", "fixed")
    assert page.slider(key="settings_range").value == (4, 5)
    assert "layer 4: head 1, layer 5: head 0" in interpreted(page)
    assert page.select_slider(key="settings_alpha").value == 0.33


def test_layers_and_heads_can_be_named_for_both():
    page = choose(unfold(open_compare(), "scoring", "more_settings"), "settings_layers", "range")
    page = unfold(page, "scoring", "more_settings").slider(key="settings_range").set_value((4, 5)).run()
    page = choose(unfold(page, "scoring", "more_settings"), "settings_heads", "fixed")
    assert not page.exception
    score = rauq.score(of(FIRST), Settings(layers=(4, 5)))
    heads = ".".join(f"{layer}-{head}" for layer, head in zip(score.layers, score.heads, strict=True))
    assert page.query_params == {"layers": "4.5", "heads": heads}
    expected = rauq.score(of(BESIDE), Settings(layers=(4, 5), heads=tuple(zip((4, 5), score.heads, strict=True))))
    assert strips(page)["sides"][1]["uncertainty"] == f"{expected.uncertainty:.2f}".replace("-", "−")
    assert "put_head" not in {button.key for button in page.button}  # this page selects no head


def test_answers_of_two_kinds_are_offered_the_papers_signal_and_alpha_of_each():
    page = unfold(open_compare(a=FIRST, b=kept(make_trace(kind="instruct", model="other"))), "scoring")
    asked = dict(page.query_params)
    signal = next(group for group in page.get("button_group") if group.key == "settings_signal")
    assert (signal.value, page.select_slider(key="settings_alpha").value) == ("paper's", "paper's")
    page = unfold(page.select_slider(key="settings_alpha").set_value(0.2).run(), "scoring")
    assert page.query_params == asked | {"alpha": "0.2"}
    page = unfold(choose(page, "settings_signal", "probability"), "scoring")
    assert page.query_params == asked | {"signal": "probability"}
    assert page.select_slider(key="settings_alpha").value == "paper's"
    choose(page, "settings_signal", "paper's")
    assert page.query_params == asked


def test_layers_that_an_answer_lacks_are_corrected_and_reported_once():
    page = open_compare(layers="500", heads="0-1")
    assert not page.exception
    assert page.query_params == {}
    assert "layers and heads cannot be used here" in page.toast[0].value
    assert not page.run().toast
