"""What the figures of a set of answers draw: the results they are given, points that lead to answers, text as text."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.answer_sets.best_and_worst import best_and_worst
from analysis.answer_sets.figures import (
    best_and_worst_map,
    calibration_chart,
    quality_bins_chart,
    selected_heads_map,
)
from analysis.answer_sets.gaps import head_gaps, with_enough
from analysis.answer_sets.heads import of_selected, pick, selected_heads
from analysis.answer_sets.quality_curves import quality_bins
from analysis.answer_sets.separation import separation
from analysis.answer_sets.side_figures import (
    distance_lines,
    gap_distributions,
    gap_grid,
    gap_lines,
    head_answers,
    head_map,
)
from analysis.answer_sets.sides import sides
from analysis.calibration import calibrate, share_at
from analysis.figures import outcomes, series
from analysis.quality.judgement import Thresholds
from tests.analysis.answer_sets.made_up import HEADS, INFORMATIVE, made_up

HOSTILE = "<b>bold</b> $x^2$ &lt;\n\u202egnol"
ROW, HEAD = INFORMATIVE
COLUMNS = (3, 5, 7, 9)  # absolute layers


def named(figure, name):
    return [trace for trace in figure.data if trace.name == name]


def gaps_of(means, quality):
    return head_gaps(means, pick(means), sides(quality, Thresholds()))


def compared(means, quality):
    return separation(means, sides(quality, Thresholds()), ["one"] * len(quality), permutations=20)


def all_figures(means, quality, *, dark=False):
    """Every figure of one set of answers."""
    picks = pick(means)
    gaps = gaps_of(means, quality)
    shown = best_and_worst(means[:, ROW], quality, picks[:, ROW])
    uncertainty = np.random.default_rng(0).uniform(size=len(quality)) - np.nan_to_num(quality)
    correct = np.where(np.isnan(quality), np.nan, quality > 0.9)
    attention = of_selected(means, picks)[:, ROW]
    return [
        best_and_worst_map(shown, [HOSTILE] * len(shown.rows), dark=dark),
        gap_distributions(gaps, ROW, dark=dark),
        gap_lines(gaps, COLUMNS, name="layer", dark=dark),
        gap_grid(gaps.picked, COLUMNS, dark=dark),
        quality_bins_chart(quality_bins(attention, quality), title="attention", dark=dark),
        head_map(compared(means, quality), COLUMNS, used=(5, 7), selected=((5, 1),), shown=(9, 0), dark=dark),
        head_answers(means[:, ROW, HEAD], sides(quality, Thresholds()), dark=dark),
        selected_heads_map(selected_heads(picks, COLUMNS, HEADS), dark=dark),
        calibration_chart(calibrate(uncertainty, correct), score=-0.5, dark=dark),
    ]


def words_of(figure):
    return " ".join(annotation.text for annotation in figure.layout.annotations)


def test_a_ring_stands_on_the_first_head_too_and_none_where_no_head_is_selected():
    means, quality = made_up()
    picks = pick(means)[:, ROW].copy()
    rows = best_and_worst(means[:, ROW], quality, picks, k=2).rows
    picks[rows] = [0, -1, 2, 0]
    rings = named(best_and_worst_map(best_and_worst(means[:, ROW], quality, picks, k=2), list("abcd")), "selected head")
    assert list(rings[0].x) == [0, 2, 0]


def test_best_and_worst_rows_can_be_clicked_and_lead_to_their_answers():
    means, quality = made_up()
    shown = best_and_worst(means[:, ROW], quality, pick(means)[:, ROW], k=3)
    figure = best_and_worst_map(shown, [f"answer {row}" for row in shown.rows])
    best, worst, *_ = figure.data
    np.testing.assert_allclose(np.vstack([best.z, worst.z]), shown.attention, rtol=1e-6)
    assert (best.zmin, best.zmax) == (worst.zmin, worst.zmax) == (0, 0.8)
    squares = named(figure, "answers")[0]
    height_of = dict(zip([*best.y, *worst.y], shown.rows, strict=True))
    assert len(squares.x) == 6 * HEADS
    for x, y, row, text in zip(squares.x, squares.y, squares.customdata, squares.text, strict=True):
        assert height_of[y] == row
        assert text.endswith(f"answer {row}")
        assert 0 <= x < HEADS
    assert (squares.marker.opacity, squares.selected.marker.opacity) == (0, 0.9)
    rings = named(figure, "selected head")[0]
    assert list(rings.x) == shown.picks.tolist()
    frame = figure.layout.shapes[0]
    assert (frame.x0, frame.x1) == (HEAD - 0.5, HEAD + 0.5)
    assert [text.split("<")[0].strip() for text in figure.layout.yaxis.ticktext] == [f"answer {r}" for r in shown.rows]


def test_text_of_models_is_never_markup():
    means, quality = made_up(12)
    shown = best_and_worst(means[:, ROW], quality, pick(means)[:, ROW], k=2)
    figure = best_and_worst_map(shown, [HOSTILE] * 4)
    texts = [tick.rpartition("  <b>")[0] for tick in figure.layout.yaxis.ticktext]
    texts += [text.partition("<br>")[2] for text in named(figure, "answers")[0].text]
    for text in texts:
        assert text.startswith("&lt;b&gt;bold&lt;/b&gt; &#36;x^2")
        assert not any(mark in text for mark in ("<", ">", "$", "\n", "\u202e"))


def test_distributions_hold_every_answer_once_and_its_place_in_the_run():
    means, quality = made_up()
    quality[:4] = 0.5
    gaps = gaps_of(means, quality)
    figure = gap_distributions(gaps, ROW)
    for own, panel in ((gaps.picked, figure.data[:2]), (gaps.mean, figure.data[2:])):
        for box, mask in zip(panel, (quality == 1, quality == 0), strict=True):
            np.testing.assert_array_equal(box.customdata, np.flatnonzero(mask))
            np.testing.assert_allclose(box.y, own.values[mask, ROW], rtol=1e-6)
            assert box.x[0] == f"{box.name}<br>n = {mask.sum()}"
    assert f"{gaps.picked.absolute.value[ROW]:+.3f}" in words_of(figure)


def test_lines_hold_the_differences_and_their_intervals():
    means, quality = made_up()
    gaps = gaps_of(means, quality)
    figure = gap_lines(gaps, COLUMNS, name="layer")
    for name, own in (("selected head", gaps.picked), ("mean over heads", gaps.mean)):
        for line, difference in zip(named(figure, name), (own.absolute, own.percent), strict=True):
            assert np.round(line.x).tolist() == list(COLUMNS)
            np.testing.assert_allclose(line.y, difference.value)
            np.testing.assert_allclose(line.y + line.error_y.array, difference.high)
            np.testing.assert_allclose(line.y - line.error_y.arrayminus, difference.low)
            assert line.text[ROW].endswith("40 correct, 20 incorrect")
            bottom, top = figure.layout[line.yaxis.replace("y", "yaxis")].range
            assert bottom < min(0, *difference.low)
            assert max(0, *difference.high) < top
    assert list(figure.layout.xaxis.tickvals) == list(COLUMNS)
    assert all(list(line.customdata) == list(COLUMNS) for line in figure.data)


def test_the_layer_shown_is_shaded():
    def bands(**shown):
        shapes = gap_lines(gaps_of(*made_up()), COLUMNS, name="layer", **shown).layout.shapes
        return {(shape.x0, shape.x1) for shape in shapes if shape.type == "rect"}

    assert bands(shown=7) == {(6.5, 7.5)}
    assert bands() == set()


def test_only_distances_that_enough_answers_have_are_drawn():
    means, quality = made_up()  # 40 correct answers, 20 incorrect
    means[quality == 0, 1] = np.nan
    means[np.flatnonzero(quality == 1)[:21], 2] = np.nan
    found = with_enough(gaps_of(means, quality), (1, 2, 3, 4))
    figure = distance_lines(found)
    assert all(list(line.customdata) == [1, 4] for line in figure.data)
    assert list(figure.layout.xaxis.tickvals) == [1, 4]
    none = distance_lines(with_enough(gaps_of(means[:10], quality[:10]), (1, 2, 3, 4)))
    assert "no distance has 20 correct and 20 incorrect answers" in words_of(none)


def test_layers_can_be_read_from_the_back_of_a_room():
    figure = gap_grid(gaps_of(*made_up()).picked, COLUMNS)
    assert min(annotation.font.size for annotation in figure.layout.annotations) >= 14
    assert figure.layout.yaxis.tickfont.size >= 13
    assert min(box.line.width for box in figure.data) >= 2


def test_a_group_without_answers_has_no_boxes():
    """Plotly draws a box of undefined numbers at 0."""
    means, _ = made_up()
    boxes = gap_grid(gaps_of(means, np.ones(len(means))).picked, range(means.shape[1])).data
    assert {box.name for box in boxes if box.type == "box"} == {"correct"}
    assert sum(bool(box.showlegend) for box in boxes) == 1


@pytest.mark.parametrize("num_layers", [1, 8, 9, 32])
def test_the_grid_has_a_panel_for_each_layer_and_none_over_another(num_layers):
    rng = np.random.default_rng(0)
    quality = np.arange(30) % 2.0
    means = rng.uniform(size=(30, num_layers, 3)) * (1 + quality[:, None, None])
    gaps = gaps_of(means, quality).picked
    figure = gap_grid(gaps, range(num_layers))
    medians = np.array([box.median[0] for box in figure.data]).reshape(num_layers, 2)
    np.testing.assert_allclose(medians, np.column_stack([gaps.correct.quantiles[2], gaps.incorrect.quantiles[2]]))
    axes = [
        (figure.layout[f"xaxis{i or ''}"], figure.layout[f"yaxis{i or ''}"]) for i in (0, *range(2, num_layers + 1))
    ]
    places = [(*x.domain, *y.domain) for x, y in axes]
    assert len(places) == num_layers
    for at, (left, right, bottom, top) in enumerate(places):
        for other in places[:at]:
            assert right <= other[0] or left >= other[1] or top <= other[2] or bottom >= other[3]
    titles = [annotation.text for annotation in figure.layout.annotations]
    assert [title.partition("<br>")[0] for title in titles] == [f"layer {layer}" for layer in range(num_layers)]
    bold = [low > 0 or high < 0 for low, high in zip(gaps.absolute.low, gaps.absolute.high, strict=True)]
    assert ["<b>" in title for title in titles] == bold


@pytest.mark.parametrize("count", [60, 2001])
def test_points_of_quality_lead_to_their_answers(count):
    values, quality = np.random.default_rng(0).uniform(size=(2, count))
    values[1], quality[2] = np.nan, np.nan
    result = quality_bins(values, quality)
    figure = quality_bins_chart(result, title="attention")
    points, means = figure.data
    np.testing.assert_array_equal(points.customdata, result.rows)
    np.testing.assert_allclose(points.y, quality[result.rows])
    np.testing.assert_allclose(means.y, result.quality_means.value)
    np.testing.assert_allclose(means.x - means.error_x.arrayminus, result.low)


def test_points_of_few_qualities_are_spread_and_state_the_true_quality():
    result = quality_bins(np.arange(50) / 50, np.arange(50) % 2)
    points = quality_bins_chart(result, title="attention").data[0]
    offsets = points.y - result.quality
    assert 0 < np.abs(offsets).max() <= 0.04
    assert len(set(offsets.round(6))) == 50
    assert points.text[1].endswith("quality 1.000")


def test_the_map_is_drawn_around_one_half_with_a_column_for_each_layer():
    means, quality = made_up()
    result = compared(means, quality)
    figure = head_map(result, COLUMNS)
    heat = figure.data[0]
    np.testing.assert_allclose(heat.z, result.auc.T, rtol=1e-6)
    assert (heat.zmin, heat.zmax) == (0, 1)
    weak = replace(result, auc=0.5 + 0.16 * (result.auc - 0.5))
    bounds = head_map(weak, COLUMNS).data[0]
    assert (bounds.zmin, bounds.zmax) == pytest.approx((0.4, 0.6))
    assert list(figure.layout.xaxis.ticktext) == ["3", "5", "7", "9"]


def test_the_map_frames_the_layers_of_rauq_and_rings_selected_heads():
    means, quality = made_up()
    figure = head_map(compared(means, quality), COLUMNS, used=(5, 7), selected=((5, 1), (7, 4)), shown=(7, 2))
    window, shown = figure.layout.shapes
    assert (window.x0, window.x1, window.y0, window.y1) == (0.5, 2.5, -0.5, HEADS - 0.5)
    assert (shown.x0, shown.x1, shown.y0, shown.y1) == (1.5, 2.5, 1.5, 2.5)
    ring = named(figure, "selected head")[0]
    assert (list(ring.x), list(ring.y)) == ([1, 2], [1, 4])
    assert "layers used by RAUQ" in words_of(figure)
    assert not head_map(compared(means, quality), COLUMNS).layout.shapes


def test_every_cell_of_the_map_can_be_clicked_and_names_its_layer():
    means, quality = made_up()
    result = compared(means, quality)
    points = named(head_map(result, COLUMNS), "heads")[0]
    assert list(points.customdata) == list(range(len(COLUMNS) * HEADS))
    for x, y, place, text in zip(points.x, points.y, points.customdata, points.text, strict=True):
        assert divmod(place, HEADS) == (x, y)
        assert text == f"layer {COLUMNS[x]} · head {y}<br>ROC-AUC {result.auc[x, y]:.3f}"


def test_answers_of_a_head_keep_their_place_in_the_run():
    means, quality = made_up()
    means[3, ROW, HEAD], quality[4] = np.nan, 0.5
    boxes = head_answers(means[:, ROW, HEAD], sides(quality, Thresholds())).data
    for box, side in zip(boxes, (1, 0), strict=True):
        rows = [row for row in np.flatnonzero(quality == side) if row != 3]
        assert list(box.customdata) == rows
        np.testing.assert_allclose(box.y, means[rows, ROW, HEAD], rtol=1e-6)


def test_picked_shares_are_percentages():
    means, _ = made_up()
    picked = selected_heads(pick(means), COLUMNS, HEADS)
    heat = selected_heads_map(picked).data[0]
    np.testing.assert_allclose(heat.z.sum(axis=1), 100, rtol=1e-5)
    assert (heat.zmin, heat.zmax) == (0, 100)


def test_a_score_is_marked_on_its_share():
    rng = np.random.default_rng(0)
    uncertainty = rng.uniform(size=100)
    found = calibrate(uncertainty, (uncertainty + rng.normal(0, 0.3, 100) < 0.5).astype(float))
    figure = calibration_chart(found, score=0.4)
    np.testing.assert_allclose(named(figure, "share of correct answers")[0].y, 100 * found.share)
    assert named(figure, "this answer")[0].y == pytest.approx([100 * share_at(found, 0.4)[0]])
    assert not named(calibration_chart(found, score=np.nan), "this answer")


@pytest.mark.parametrize(
    ("quality", "lost"),
    [
        (np.ones(30), False),
        (np.zeros(30), False),
        (np.full(30, np.nan), False),
        (np.full(30, 0.5), False),
        (np.ones(1), False),
        (np.arange(30) % 2.0, True),
    ],
)
def test_where_there_is_nothing_to_compare_the_figure_says_why(quality, lost):
    means, _ = made_up(len(quality))
    if lost:  # answers of one token
        means[:] = np.nan
    figures = all_figures(means, quality)
    empty = [figure for figure in figures if not figure.data]
    assert len(empty) >= 2
    for figure in figures:
        figure.to_json()
    for figure in empty:
        assert words_of(figure).startswith("Nothing to draw: ")
        assert len(words_of(figure)) > 30


@pytest.mark.parametrize("dark", [False, True])
def test_texts_have_the_colour_of_the_page_and_scales_are_explicit(dark):
    for figure in all_figures(*made_up(), dark=dark):
        for axis in (*figure.select_xaxes(), *figure.select_yaxes()):
            assert axis.tickfont.color == ("#d5d9de" if dark else "#4a5058")
        for heat in figure.select_traces({"type": "heatmap"}):
            assert None not in (heat.zmin, heat.zmax, heat.colorscale)


@pytest.mark.parametrize("dark", [False, True])
def test_sides_and_series_differ_in_more_than_colour(dark):
    for pair in (outcomes(dark=dark), series()):
        for field in ("name", "colour", "dash", "symbol"):
            assert len({getattr(look, field) for look in pair}) == 2
