"""What the figures of alpha and of the control draw: every value, marks that do not hang on colour, text as text."""

import numpy as np
import pytest

from analysis.figures import UNCERTAINTY, text_colour
from analysis.methods.ablations import ALPHAS, sweep
from analysis.methods.attention_permutation import control_groups
from analysis.methods.comparison import groups_of
from analysis.methods.figures import alpha_sweep, control_differences
from analysis.quality.judgement import Thresholds
from tests.analysis.methods.batches import informative_batch

NAMES = ["<b>a</b>"] * 20 + ["$b$"] * 20 + ["one quality"] * 4
GROUPS = groups_of(NAMES)
BATCH, QUALITY = informative_batch(44, strength=0.2)
TRUTH = np.where(np.array(NAMES) == "one quality", 1.0, QUALITY)
HOW = {"metric": "prr", "thresholds": Thresholds(), "resamples": 10}
SWEPT = sweep(BATCH, TRUTH, GROUPS, signal="probability", **HOW)
CONTROLLED = control_groups(BATCH, TRUTH, NAMES, GROUPS, **HOW)


@pytest.mark.parametrize("dark", [False, True])
def test_a_sweep_has_a_panel_for_each_group_that_has_values(dark):
    figure = alpha_sweep(SWEPT, dark=dark)
    assert [note.text for note in figure.layout.annotations] == ["all", "&#36;b&#36;", "&lt;b&gt;a&lt;/b&gt;"]
    assert {note.font.color for note in figure.layout.annotations} == {text_colour(dark=dark)}
    there = [name for name in SWEPT.groups if name != "one quality"]
    for name, (band, line, mark) in zip(there, np.reshape(figure.data, (-1, 3)), strict=True):
        values = SWEPT.of_group(name)
        np.testing.assert_allclose(line.y, [one.value for one in values])
        np.testing.assert_allclose(band.y[:11], [one.low for one in values])
        np.testing.assert_allclose(band.y[11:], [one.high for one in values[::-1]])
        assert (mark.x, mark.y) == ((0.2,), (SWEPT.at_paper(name).value,))
        assert (mark.marker.symbol, mark.marker.color) == ("diamond", UNCERTAINTY)
        assert line.text[ALPHAS.index(0.2)] == mark.text[0]
        assert "the paper's" in mark.text[0]


def test_a_sweep_without_values_gives_the_reason():
    alone = sweep(BATCH, np.ones(44), GROUPS, signal="probability", **HOW)
    assert "same quality" in alpha_sweep(alone).layout.annotations[0].text


def test_the_control_draws_every_difference_that_is_defined():
    figure = control_differences(CONTROLLED)
    defined = [one for control in CONTROLLED for one in control.exchanged if not one.difference.reason]
    assert [row.x[0] for row in figure.data] == [one.difference.value for one in defined]
    assert len(defined) == 12
    assert figure.layout.yaxis.ticktext[0] == "all · another answer's"
    assert figure.layout.yaxis.ticktext[4] == "&#36;b&#36; · another answer's"
    assert figure.layout.xaxis.title.text == "PRR, real minus replaced attention"


def test_a_control_without_differences_gives_the_reason():
    facts = np.zeros(BATCH.logprobs.shape, dtype=bool)
    nothing = control_groups(BATCH, TRUTH, NAMES, GROUPS, facts=facts, **HOW)
    assert "the fact tokens of these answers are not known" in control_differences(nothing).layout.annotations[0].text
    assert control_differences([]).layout.annotations
