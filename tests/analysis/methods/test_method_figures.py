"""What the figures of compared methods draw: the results they are given, the undefined left out, text as text."""

import numpy as np
import pytest

from analysis.figures import QUIET, UNCERTAINTY, Row, interval_panels, outcomes, text_colour
from analysis.methods.agreement import method_agreement
from analysis.methods.comparison import WITHIN, rejections
from analysis.methods.figures import agreement_map, method_intervals, paired_differences, rejection_curves
from analysis.stats import Estimate
from tests.analysis.methods.made_up import SKILL, made_up

METHODS = ("rauq", "msp", "perplexity")
NOTHING = Estimate(np.nan, np.nan, np.nan, 0, 9, "no quality at all")


def estimate(value, width=0.1):
    return Estimate(value, value - width, value + 2 * width, 9, 0)


def words_of(figure):
    return " ".join(annotation.text for annotation in figure.layout.annotations)


def uncertainties_and_quality():
    answers = made_up(50)
    return {method: answers[method].to_numpy() for method in SKILL}, answers["quality"].to_numpy()


def test_methods_stand_in_the_order_of_their_metric_and_rauq_stands_out():
    figure = method_intervals(METHODS, {"all": [estimate(0.2), estimate(0.5), NOTHING]}, metric="prr")
    assert [trace.x[0] for trace in figure.data] == [0.5, 0.2]
    assert figure.layout.yaxis.ticktext == ("MSP", "<b>RAUQ</b>")
    assert figure.data[1].marker.color == UNCERTAINTY
    assert figure.data[0].marker.color != UNCERTAINTY
    bar = figure.data[0].error_x
    assert (bar.array[0], bar.arrayminus[0]) == pytest.approx((0.2, 0.1))
    assert figure.data[0].text[0] == "MSP<br>0.50 [0.40, 0.70]<br>n = 9"
    assert (figure.layout.xaxis.title.text, figure.layout.shapes[0].x0) == ("PRR", 0)
    assert method_intervals(METHODS, {"all": [estimate(0.5)] * 3}, metric="roc_auc").layout.shapes[0].x0 == 0.5


def test_all_answers_and_the_mean_within_groups_share_rows_side_by_side():
    columns = {"all": [estimate(0.2), estimate(0.5), NOTHING], WITHIN: [estimate(0.4), NOTHING, NOTHING]}
    figure = method_intervals(METHODS, columns, metric="prr")
    assert [note.text for note in figure.layout.annotations] == ["all answers", WITHIN]
    assert figure.layout.yaxis.ticktext == ("MSP", "<b>RAUQ</b>")
    drawn = [(trace.xaxis, trace.y[0], trace.x[0]) for trace in figure.data]
    assert drawn == [("x", 0, 0.5), ("x", 1, 0.2), ("x2", 1, 0.4)]
    assert {shape.x0 for shape in figure.layout.shapes} == {0.0}
    assert len(figure.layout.shapes) == 2


def test_a_difference_is_coloured_only_where_its_interval_leaves_out_zero():
    found = [estimate(0.3), estimate(0.02), estimate(-0.6)]
    figure = paired_differences("rauq", METHODS, {"all": found}, metric="prr")
    better, worse = outcomes(dark=False)
    assert [trace.marker.color for trace in figure.data] == [worse.colour, QUIET, better.colour]
    assert len({trace.marker.symbol for trace in figure.data}) == 3  # not by colour alone
    assert figure.layout.xaxis.title.text == "PRR of RAUQ minus that of the method"


def test_curves_lie_between_the_oracle_and_chance():
    found = rejections(*uncertainties_and_quality())
    oracle, random, rauq, *others = rejection_curves(found).data
    assert (oracle.name, random.name, rauq.name) == ("oracle", "random", "RAUQ")
    assert len(others) == len(SKILL) - 1
    assert (rauq.line.color, rauq.line.width) == (UNCERTAINTY, 3.5)
    np.testing.assert_allclose(rauq.y, found.curves[0].kept_quality, rtol=1e-6)
    np.testing.assert_allclose(rauq.x, 100 * found.curves[0].rejected, rtol=1e-6)
    assert (oracle.y >= rauq.y - 1e-6).all()
    assert np.ptp(random.y) == 0


def test_lines_of_many_methods_are_distinguishable():
    values, quality = uncertainties_and_quality()
    many = {f"method {place}": values["msp"] for place in range(24)}
    lines = rejection_curves(rejections(many, quality)).data[2:]
    assert len({(trace.line.color, trace.line.dash) for trace in lines}) == 24


def test_the_map_has_every_correlation_and_writes_those_of_a_few():
    values, _ = uncertainties_and_quality()
    values["sar"] = np.full(50, np.nan)
    found = method_agreement(values)
    heat = agreement_map(found).data[0]
    np.testing.assert_allclose(heat.z, found.correlations, rtol=1e-6)
    assert (heat.zmin, heat.zmax) == (-1, 1)
    assert heat.x[0] == "RAUQ"
    assert heat.text[0][0] == "1.00"
    assert heat.text[0][-1] == ""
    many = {f"method {place}": values["msp"] for place in range(15)}
    assert agreement_map(method_agreement(many)).data[0].text is None


def test_where_there_is_nothing_to_draw_the_figure_says_why():
    none = {method: np.full(3, np.nan) for method in METHODS}
    figures = [
        method_intervals(METHODS, {"all": [NOTHING] * 3}, metric="prr"),
        paired_differences("rauq", METHODS, {"all": [NOTHING] * 3}, metric="prr"),
        paired_differences("rauq", (), {"all": ()}, metric="prr"),
        rejection_curves(rejections(none, np.ones(3))),
        agreement_map(method_agreement({})),
    ]
    for figure in figures:
        assert not figure.data
        assert words_of(figure).startswith("Nothing to draw: ")


def test_names_are_drawn_as_they_are():
    row = Row("<b>$x$</b>", estimate(0.5), QUIET)
    figure = interval_panels({"": [row]}, title="PRR", reference=0, reason="", dark=False)
    assert figure.layout.yaxis.ticktext == ("&lt;b&gt;&#36;x&#36;&lt;/b&gt;",)
    assert "<b>" not in figure.data[0].text[0]


@pytest.mark.parametrize("dark", [False, True])
def test_texts_of_axes_have_the_colour_of_the_theme(dark):
    values, quality = uncertainties_and_quality()
    figures = [
        method_intervals(METHODS, {"all": [estimate(0.2)] * 3}, metric="prr", dark=dark),
        paired_differences("rauq", METHODS, {"all": [estimate(0.2)] * 3}, metric="prr", dark=dark),
        rejection_curves(rejections(values, quality), dark=dark),
        agreement_map(method_agreement(values), dark=dark),
    ]
    for figure in figures:
        assert figure.layout.xaxis.tickfont.color == text_colour(dark=dark)
        assert figure.layout.dragmode is False
