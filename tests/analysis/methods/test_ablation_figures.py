"""What the figures of alpha and of the control draw: every value, marks that do not hang on colour, text as text."""

import numpy as np
import pytest

from analysis.figures import UNCERTAINTY, text_colour
from analysis.methods.alpha_figures import alpha_groups, alpha_sweep
from analysis.methods.attention_permutation import control_groups, sweep
from analysis.methods.comparison import WITHIN, groups_of
from analysis.methods.figures import control_differences
from analysis.quality.judgement import Thresholds
from analysis.stats import in_words
from tests.analysis.methods.batches import informative_batch

NAMES = ["<b>a</b>"] * 20 + ["$b$"] * 20 + ["one quality"] * 4
GROUPS = groups_of(NAMES)
BATCH, QUALITY = informative_batch(44, strength=0.2)
TRUTH = np.where(np.array(NAMES) == "one quality", 1.0, QUALITY)
HOW = {"metric": "prr", "thresholds": Thresholds()}
SWEPT = sweep(BATCH, TRUTH, NAMES, GROUPS, signal="probability", **HOW)
CONTROLLED = control_groups(BATCH, TRUTH, NAMES, GROUPS, **HOW)


def at(figure, name):
    """The traces of an axis, by name."""
    return {trace.name: trace for trace in figure.data if trace.yaxis == name and trace.name}


@pytest.mark.parametrize("dark", [False, True])
def test_all_answers_and_the_mean_within_groups_have_every_curve_and_a_mark_at_the_papers_alpha(dark):
    figure = alpha_sweep(SWEPT, dark=dark)
    for group, axis in (("all", "y"), (WITHIN, "y2")):
        drawn = at(figure, axis)
        for name, kind in (("shuffled", "shuffled"), ("constant", "constant"), ("no attention", "none")):
            under = SWEPT.under(kind, group)
            np.testing.assert_allclose(drawn[name].y, [one.estimate.value for one in under])
            assert in_words(under[3].estimate) in drawn[name].text[3]
        real = SWEPT.of_group(group)
        np.testing.assert_allclose(drawn["real"].y, [one.value for one in real])
        mark = drawn["the paper's alpha"]
        assert (mark.x, mark.y) == ((0.2,), (SWEPT.of_group(group)[2].value,))
        assert (mark.marker.symbol, mark.marker.color, drawn["real"].line.color) == (
            "diamond",
            UNCERTAINTY,
            UNCERTAINTY,
        )
        looks = {(drawn[name].line.color, drawn[name].line.dash) for name in drawn if name != "the paper's alpha"}
        assert len(looks) == 4
        assert drawn["real"].line.width > max(drawn[name].line.width for name in ("shuffled", "constant"))
    bands = [trace for trace in figure.data if trace.yaxis == "y" and trace.fill]
    np.testing.assert_allclose(bands[-1].y[:11], [one.low for one in SWEPT.of_group("all")])
    assert {note.font.color for note in figure.layout.annotations} == {text_colour(dark=dark)}


def test_below_the_curves_stand_the_paired_differences_and_those_off_the_axis_at_its_edge():
    figure = alpha_sweep(SWEPT)
    low, high = figure.layout.yaxis3.range
    for group, axis in (("all", "y3"), (WITHIN, "y4")):
        drawn = at(figure, axis)
        for name, kind in (("shuffled", "shuffled"), ("constant", "constant"), ("no attention", "none")):
            values = [one.difference.value for one in SWEPT.under(kind, group)[:-1]]
            off = [not low <= value <= high for value in values]
            assert off[1:] == [False] * 9
            np.testing.assert_allclose(drawn[name].y[1:], np.clip(values[1:], low, high), atol=0.05 * (high - low))
            assert low < min(drawn[name].y) <= max(drawn[name].y) < high
            assert [symbol.startswith("triangle") for symbol in drawn[name].marker.symbol] == off


def test_labels_of_curves_do_not_touch_and_keep_their_order():
    figure = alpha_sweep(SWEPT)
    bottom, top = figure.layout.yaxis.range
    pixels = 0.57 * (figure.layout.height - 90) / (top - bottom)
    for axis, group in (("y", "all"), ("y2", WITHIN)):
        notes = [note for note in figure.layout.annotations if note.yref == axis and note.x < 0]
        assert len(notes) == 4
        assert (np.diff([note.y for note in notes]) * pixels >= 15).all()
        ends = {"real": SWEPT.of_group(group)[0].value, "no attention": SWEPT.under("none", group)[0].estimate.value}
        ends |= {name: SWEPT.under(name, group)[0].estimate.value for name in ("shuffled", "constant")}
        assert [note.text.partition(" <")[0] for note in notes] == sorted(ends, key=ends.__getitem__)


@pytest.mark.parametrize("dark", [False, True])
def test_each_group_that_has_values_has_a_panel(dark):
    figure = alpha_groups(SWEPT, dark=dark)
    assert [note.text for note in figure.layout.annotations] == ["&#36;b&#36;", "&lt;b&gt;a&lt;/b&gt;"]
    for group, axis in (("$b$", "y"), ("<b>a</b>", "y2")):
        np.testing.assert_allclose(at(figure, axis)["real"].y, [one.value for one in SWEPT.of_group(group)])
    assert [trace.name for trace in figure.data if trace.showlegend] == ["shuffled", "constant", "no attention", "real"]


def test_a_run_of_one_group_has_one_column():
    alone = sweep(BATCH, QUALITY, ["a"] * 44, groups_of(["a"] * 44), signal="probability", **HOW)
    figure = alpha_sweep(alone)
    assert {trace.xaxis for trace in figure.data} == {"x", "x2"}  # above and below


def test_a_sweep_without_values_gives_the_reason():
    alone = sweep(BATCH, np.ones(44), NAMES, GROUPS, signal="probability", **HOW)
    assert "same quality" in alpha_sweep(alone).layout.annotations[0].text
    assert "undefined in each group" in alpha_groups(alone).layout.annotations[0].text


def test_the_control_draws_every_difference_that_is_defined():
    figure = control_differences(CONTROLLED)
    defined = [one for control in CONTROLLED for one in control.exchanged if not one.difference.reason]
    assert [row.x[0] for row in figure.data] == [one.difference.value for one in defined]
    assert len(defined) == 16
    assert figure.layout.yaxis.ticktext[0] == "<b>all · another answer's</b>"
    assert figure.layout.yaxis.ticktext[4] == f"<b>{WITHIN} · another answer's</b>"
    assert figure.layout.yaxis.ticktext[8] == "&#36;b&#36; · another answer's"
    assert figure.layout.xaxis.title.text == "PRR, real minus replaced attention"


def test_a_control_without_differences_gives_the_reason():
    facts = np.zeros(BATCH.logprobs.shape, dtype=bool)
    nothing = control_groups(BATCH, TRUTH, NAMES, GROUPS, facts=facts, **HOW)
    assert "the fact tokens of these answers are not known" in control_differences(nothing).layout.annotations[0].text
    assert control_differences([]).layout.annotations
