"""What the figures draw: the numbers they are given, on scales that hold for every reader, and text as text."""

import colorsys
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

import rauq
from analysis.figures import attention_scale, plotly_text, tick_positions, upper_end
from analysis.one_answer.figures import (
    confidence,
    default_view,
    drawings,
    layer_head_map,
    part_shares_figure,
    token_head_map,
)
from rauq.errors import InvalidInput
from rauq.scoring.shown import show_head
from rauq.trace.prompt_parts import FIXED, PromptPart
from tests.answers import random_trace
from tests.traces import as_lig, make_trace

HOSTILE = (b" <b>bold</b>", b"<a href='http://evil/'>", b"$x^2$", b"&lt;", b"\n", b"\xf0\x9f", b"x" * 60)


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def by_name(figure, name):
    return next(trace for trace in figure.data if trace.name == name)


def map_of(weights, **options):
    return layer_head_map(weights, range(len(weights)), picked=options.pop("picked", [(1, 2)]), **options)


@pytest.fixture
def weights():
    return np.random.default_rng(0).uniform(0, 0.37, (6, 4))


@pytest.mark.parametrize("dark", [False, True])
def test_attention_scale_reads_without_hues(dark):
    levels = np.array([luminance(colour) for _, colour in attention_scale(dark=dark)])
    steps = np.diff(levels)
    assert (steps > 0.005).all() if dark else (steps < -0.005).all()
    hues = [colorsys.rgb_to_hsv(*(int(c[i : i + 2], 16) for i in (1, 3, 5)))[0] for _, c in attention_scale(dark=dark)]
    assert all(0.4 < hue < 0.7 for hue in hues)


@pytest.mark.parametrize(("dark", "page"), [(False, "#ffffff"), (True, "#14171c")])
def test_axis_texts_can_be_read(dark, page, weights):
    trace = make_trace()
    figures = [
        map_of(weights, dark=dark),
        token_head_map(weights[:, :2], trace.pieces, head=0, dark=dark),
        confidence(rauq.score(trace), trace.pieces, dark=dark),
    ]
    axes = [axis for figure in figures for axis in (*figure.select_xaxes(), *figure.select_yaxes())]
    bars = [figure.data[0].colorbar for figure in figures[:2]]
    for text in [*axes, *bars]:
        levels = sorted(luminance(colour) for colour in (text.tickfont.color, page))
        assert (levels[1] + 0.05) / (levels[0] + 0.05) >= 4.5
        assert text.title.font.color == text.tickfont.color


def test_map_shows_its_weights_from_zero_to_a_tenth_above(weights):
    cells = map_of(weights).data[0]
    assert isinstance(cells, go.Heatmap)
    assert cells.z.dtype == np.float32
    np.testing.assert_allclose(cells.z, weights, rtol=1e-6)
    assert (cells.zmin, cells.zmax) == (0, 0.4)


@pytest.mark.parametrize(
    ("weights", "expected"), [([[0.41]], 0.5), ([[0.3]], 0.3), ([[1.0]], 1.0), ([[0.0]], 1.0), ([[np.nan]], 1.0)]
)
def test_upper_end(weights, expected):
    assert upper_end(np.array(weights)) == pytest.approx(expected)


def test_every_cell_names_its_layer_and_no_ring_is_in_the_way(weights):
    cells, *rings = map_of(weights, picked=[(1, 2), (2, 0)]).data
    assert cells.customdata.shape == weights.shape
    assert (cells.customdata == np.arange(6)[:, None]).all()
    assert cells.hovertemplate.startswith("layer %{customdata} · head %{x}<br>attention %{z:.3g}")
    assert [ring.hoverinfo for ring in rings] == ["skip", "skip"]


def test_rings_stand_on_the_selected_heads_and_the_frame_on_the_marked_one(weights):
    figure = map_of(weights, picked=[(2, 3), (3, 0), (4, -1)], marked=(5, 1))
    ring = by_name(figure, "selected head")
    assert list(zip(ring.y, ring.x, strict=True)) == [(2, 3), (3, 0)]
    *window, frame = figure.layout.shapes
    assert {(shape.y0, shape.y1) for shape in window} == {(1.5, 4.5)}
    assert sorted((shape.x0 < 0, shape.x1) for shape in window) == [(False, 1), (True, 0)]  # all cells, and the numbers
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (0.5, 1.5, 4.5, 5.5)


def test_map_of_a_hybrid_names_its_absolute_layers(weights):
    layers = (3, 7, 11, 15, 19, 23)
    figure = layer_head_map(weights, layers, picked=[(11, 0), (15, 1)], marked=(23, 3))
    assert figure.layout.yaxis.ticktext == tuple(map(str, layers))
    assert list(by_name(figure, "selected head").y) == [2, 3]
    assert figure.layout.shapes[-1].y0 == 4.5
    assert figure.data[0].customdata[-1, 0] == 23


def test_token_map_leaves_the_first_token_empty():
    weights = np.random.default_rng(0).uniform(0, 1, (4, 6))
    figure = token_head_map(weights, (b"a",) * 7, head=2)
    cells = figure.data[0]
    assert np.isnan(cells.z[:, 0]).all()
    np.testing.assert_allclose(cells.z[:, 1:], weights, rtol=1e-6)
    frame = figure.layout.shapes[-1]
    assert (frame.y0, frame.y1, frame.x1) == (1.5, 2.5, 6.5)


def test_confidence_draws_the_score():
    trace = random_trace(9, seed=3)
    score = rauq.score(trace)
    figure = confidence(score, trace.pieces, collapse=4)
    row = score.layers.index(score.layer)
    np.testing.assert_allclose(
        by_name(figure, f"c, layer {score.layer}, head {score.heads[row]}").y, score.confidence[row], rtol=1e-6
    )
    np.testing.assert_allclose(
        by_name(figure, "r, fully confident model").y, score.reference_confidence[row], rtol=1e-6
    )
    np.testing.assert_allclose(by_name(figure, "signal").y, score.signal, rtol=1e-6)
    attention = by_name(figure, f"attention, layer {score.layer}, head {score.heads[row]}")
    assert list(attention.x) == list(range(1, 9))
    np.testing.assert_allclose(attention.y, score.attention[row], rtol=1e-6)
    drawn = [trace.name for trace in figure.data if trace.name.startswith("layer ")]
    assert drawn == [f"layer {layer}" for layer in score.layers if layer != score.layer]


def test_the_front_layer_is_drawn_last_of_the_confidences():
    trace = random_trace(5)
    score = show_head(trace, rauq.score(trace), layer=5, head=0)
    names = [trace.name for trace in confidence(score, trace.pieces).data]
    assert names.index("c, layer 5, head 0") > max(i for i, n in enumerate(names) if n.startswith("layer "))


@pytest.mark.parametrize("update", ["minus_mean", "mean_sum"])
def test_confidence_without_a_logarithm_leaves_a_gap(update):
    trace = random_trace(12, seed=1)
    score = rauq.score(trace, rauq.Settings(update=update, layer_aggregation="mean"))
    name = f"c, layer {score.layers[0]}, head {score.heads[0]}"
    drawn = by_name(confidence(score, trace.pieces), name).y
    drawable = score.confidence[0] > 0
    assert np.isnan(drawn[~drawable]).all()
    assert np.isfinite(drawn[drawable]).all()


@pytest.mark.parametrize("smallest", [0.3, 1e-3, 1e-30])
def test_confidence_has_a_few_ticks_however_far_it_falls(smallest):
    trace = make_trace((b"a",) * 4, probabilities=[0.9, smallest, 0.5, 0.9])
    score = rauq.score(trace, rauq.Settings(alpha=1.0))
    axis = confidence(score, trace.pieces).layout.yaxis
    assert axis.type == "log"
    assert 2 <= len([tick for tick in axis.tickvals if smallest / 10 <= tick <= 10]) <= 10
    assert axis.tickformat == ".3~g"  # left alone, Plotly writes 100µ and 10n


@pytest.mark.parametrize("ends", [(0.62, 0.88), (1.2, 1.9), (0.7, 0.7)])
def test_confidence_between_two_round_numbers_has_ticks_at_its_ends(ends):
    result = rauq.score(make_trace())
    rows = np.resize(ends, result.confidence.shape)
    score = replace(result, confidence=rows, reference_confidence=rows)
    ticks = confidence(score, (b"a",) * 3).layout.yaxis.tickvals
    assert [tick for tick in ticks if ends[0] <= tick <= ends[1]] == sorted(set(ends))


@pytest.mark.parametrize("num_tokens", [1, 2])
def test_short_answers_are_drawn(num_tokens):
    trace = make_trace((b"a",) * num_tokens)
    score = rauq.score(trace)
    weights = trace.previous_token_attention()
    confidence(score, trace.pieces, collapse=0, selected=0).to_json()
    token_head_map(weights[0], trace.pieces, head=0, collapse=0, selected=0).to_json()


def test_model_text_is_never_markup():
    trace = make_trace(HOSTILE)
    score = rauq.score(trace)
    figures = [
        confidence(score, trace.pieces),
        token_head_map(trace.previous_token_attention()[0], trace.pieces, head=0),
    ]
    for figure in figures:
        texts = [
            *figure.layout.xaxis.ticktext,
            *np.ravel(next(trace.text for trace in figure.data if trace.text is not None)),
        ]
        assert len(texts) >= 2 * len(HOSTILE)
        assert not any(mark in text for text in texts for mark in ("<", ">", "$"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(("<b>", "&lt;b&gt;"), ("&lt;", "&amp;lt;"), ("$x$", "&#36;x&#36;"), ('say "a"', 'say "a"')),
        ("\x1b[31m \u202ea", "␛[31m ⟨U+202E⟩a"),
    ],
)
def test_plotly_text(text, expected):
    assert plotly_text(text) == expected


@pytest.mark.parametrize("count", [1, 12, 24, 25, 200])
def test_ticks_never_crowd(count):
    ticks = tick_positions(count)
    assert ticks[0] == 0
    assert len(ticks) <= 24
    assert len(set(np.diff(ticks))) <= 1


def test_long_tokens_are_cut_on_the_axis_and_whole_in_the_hover():
    trace = make_trace((b"a", b"x" * 30))
    figure = token_head_map(trace.previous_token_attention()[0], trace.pieces, head=0)
    assert figure.layout.xaxis.ticktext[1] == "x" * 11 + "…"
    assert "x" * 30 in figure.data[0].text[0][1]


def test_figures_of_attributions_say_lig():
    lig = as_lig(make_trace())
    drawn = drawings(lig, rauq.score(lig), default_view(lig, rauq.score(lig)), dark=False)
    assert drawn[0].heading == "Previous-token LIG"
    assert drawn[0].figure.data[0].colorbar.title.text == "LIG"
    assert "LIG to the previous token" in drawn[2].caption
    for drawing in drawn:
        assert "attention" not in drawing.figure.to_json()


def with_shares(num_parts):
    parts = tuple(PromptPart(f"<b>{number}</b>", number, number + 1) for number in range(1, 1 + num_parts))
    trace = make_trace(prompt_ids=np.arange(20), prompt_parts=parts)
    shape = (*trace.attention.shape[:2], len(trace.pieces), len(FIXED) + num_parts)
    shares = np.random.default_rng(0).dirichlet(np.ones(shape[-1]), shape[:-1]).astype(np.float32)
    return replace(trace, extras={"part_shares": shares})


def test_shares_are_a_line_for_each_part_and_the_mean_of_the_heads_that_score():
    trace = with_shares(2)
    score = rauq.score(trace)
    *_, drawn = drawings(trace, score, default_view(trace, score), dark=False)
    assert [line.name for line in drawn.figure.data] == [*FIXED, "&lt;b&gt;1&lt;/b&gt;", "&lt;b&gt;2&lt;/b&gt;"]
    means = trace.extras["part_shares"][list(score.layers)].mean(axis=(0, 1))
    np.testing.assert_allclose([line.y for line in drawn.figure.data], means.T, atol=1e-6)
    looks = {(line.line.color, line.line.dash) for line in drawn.figure.data}
    assert len(looks) == len(drawn.figure.data)
    assert drawn.name == "part-shares"
    assert "largest" not in drawn.caption


def test_of_many_parts_the_largest_are_drawn_and_the_caption_says_so():
    trace = with_shares(9)
    score = rauq.score(trace)
    *_, drawn = drawings(trace, score, default_view(trace, score), dark=True)
    means = trace.extras["part_shares"][list(score.layers)].mean(axis=(0, 1, 2))[len(FIXED) :]
    largest = sorted(np.argsort(-means)[:6] + 1)
    assert [line.name for line in drawn.figure.data[len(FIXED) :]] == [f"&lt;b&gt;{n}&lt;/b&gt;" for n in largest]
    assert "Of 9 parts, the 6 with the largest mean." in drawn.caption


def test_a_trace_without_shares_has_no_such_figure():
    trace = make_trace()
    score = rauq.score(trace)
    assert "part-shares" not in [one.name for one in drawings(trace, score, default_view(trace, score), dark=False)]
    with pytest.raises(InvalidInput, match=r"Got the figure 'part-shares' \(it needs the extra part_shares\)"):
        trace.plot("part-shares")
    assert part_shares_figure(np.ones((2, 3)), FIXED, (b"a", b"b")).data[0].mode == "lines+markers"
