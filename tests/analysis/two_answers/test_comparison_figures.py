"""What the figures of a comparison draw: the numbers of both scores, distinguishable, with text escaped."""

import numpy as np
import pytest

import rauq
from analysis.figures import difference_scale, looks, outcomes
from analysis.two_answers.comparison import aligned, find_first_difference
from analysis.two_answers.figures import difference_map, overlay
from rauq import Settings
from tests.answers import random_trace
from tests.traces import make_trace

# Machado, Oliveira and Fernandes (2009), severity 1: what is left of linear RGB without one kind of cone.
BLIND = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
PAGES = {False: "#ffffff", True: "#14171c"}
HOSTILE = (b" <b>bold</b>", b"<a href='http://evil/'>", b"$x^2$", b"&lt;", b"\n", b"\xf0\x9f", b"x" * 60)


def linear(colour):
    channels = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ np.clip(rgb, 0, 1)
    x, y, z = np.cbrt(xyz / (0.9505, 1.0, 1.089))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(colour, page):
    low, high = sorted(float(linear(one) @ (0.2126, 0.7152, 0.0722)) for one in (colour, page))
    return (high + 0.05) / (low + 0.05)


def named(figure, name):
    return next(trace for trace in figure.data if trace.name == name)


@pytest.fixture
def drawn():
    a, b = random_trace(9, seed=1), random_trace(7, seed=2)
    columns = ((0, 0), (1, 1), (2, None), (3, None), (4, 2), (5, 3), (6, 4), (7, 5), (8, 6))
    scores = (rauq.score(a), rauq.score(b))
    return scores, overlay(columns, scores, (a.pieces, b.pieces), first_difference=2, selected=4)


@pytest.mark.parametrize(("side", "name", "places"), [(0, "A", range(9)), (1, "B", (0, 1, 4, 5, 6, 7, 8))])
def test_both_scores_are_drawn_over_the_common_columns(drawn, side, name, places):
    scores, figure = drawn
    score = scores[side]
    row = score.layers.index(score.layer)
    for line, values in {
        f"{name} c, layer {score.layer}": score.confidence[row],
        f"{name} r": score.reference_confidence[row],
        f"{name} collapse": score.collapse,
    }.items():
        assert list(named(figure, line).x) == list(places)
        np.testing.assert_allclose(named(figure, line).y, values, rtol=1e-6)
        assert [text.split()[:3] for text in named(figure, line).text[:2]] == [
            [name, "token", "0"],
            [name, "token", "1"],
        ]
    assert named(figure, f"{name} collapse").yaxis == "y2"


def test_confidence_is_logarithmic_and_the_first_difference_is_a_line_over_both_rows(drawn):
    figure = drawn[1]
    assert figure.layout.yaxis.type == "log"
    line, frame = figure.layout.shapes
    assert (line.x0, line.x1, line.y0, line.y1, line.yref) == (1.5, 1.5, 0, 1, "paper")
    assert (frame.x0, frame.x1) == (3.5, 4.5)


def test_the_lines_are_named_at_their_ends_in_their_colours(drawn):
    scores, figure = drawn
    names = {note.text: note for note in figure.layout.annotations}
    for look, score in zip(looks(dark=False), scores, strict=True):
        for text in (f"<b>{look.name} c, layer {score.layer}</b>", f"<b>{look.name} collapse</b>"):
            assert names[text].font.color == look.colour
            assert names[text].x == 8


def test_the_two_differ_by_more_than_colour(drawn):
    figure = drawn[1]
    a, b = (named(figure, f"{name} collapse") for name in "AB")
    assert a.line.dash != b.line.dash
    assert a.marker.symbol != b.marker.symbol


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("eyes", ["all cones", *BLIND])
@pytest.mark.parametrize("pair", [looks, outcomes])
def test_two_colours_differ_for_every_kind_of_eyes_and_can_be_read(pair, dark, eyes):
    a, b = (look.colour for look in pair(dark=dark))
    sight = np.array(BLIND.get(eyes, np.eye(3)))
    assert np.linalg.norm(lab(sight @ linear(a)) - lab(sight @ linear(b))) > 30  # 2.3 is just noticed
    assert min(contrast(a, PAGES[dark]), contrast(b, PAGES[dark])) >= 4.5


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("eyes", ["all cones", *BLIND])
def test_a_and_b_do_not_look_like_verdicts(dark, eyes):
    sight = np.array(BLIND.get(eyes, np.eye(3)))
    ours, verdicts = ([lab(sight @ linear(one.colour)) for one in pair(dark=dark)] for pair in (looks, outcomes))
    assert min(np.linalg.norm(one - verdict) for one in ours for verdict in verdicts) > 20


def test_a_tick_names_both_tokens_where_they_differ():
    a, b = make_trace((b" is", b" Peru")), make_trace((b" is", b" Japan", b"."))
    columns = aligned(a.pieces, b.pieces)
    ticks = overlay(columns, (rauq.score(a), rauq.score(b)), (a.pieces, b.pieces)).layout.xaxis2.ticktext
    of_a, of_b = looks(dark=False)
    assert ticks[0] == "·is"
    assert (
        ticks[1] == f'<span style="color:{of_a.colour}">·Peru</span><br><span style="color:{of_b.colour}">·Japan</span>'
    )
    assert ">–</span>" in ticks[2]


@pytest.mark.parametrize("count", [3, 6, 7, 9, 24, 25, 60, 200])
def test_ticks_of_two_lines_are_fewer(count):
    a, b = (make_trace((b" is", *(word,) * (count - 1))) for word in (b" Peru", b" Japan"))
    of_a = rauq.score(a)
    columns = tuple((token, token) for token in range(count))
    alone = overlay(columns, (of_a, of_a), (a.pieces, a.pieces)).layout.xaxis2
    paired = overlay(columns, (of_a, rauq.score(b)), (a.pieces, b.pieces)).layout.xaxis2
    assert len(paired.tickvals) <= 12
    assert len(alone.tickvals) <= 24
    assert len(paired.tickvals) == count or count > 12
    assert {axis.tickangle for axis in (alone, paired)} == {0 if count <= 6 else -50}


def test_model_text_is_never_markup():
    a, b = make_trace(HOSTILE), make_trace(HOSTILE[::-1])
    figure = overlay(aligned(a.pieces, b.pieces), (rauq.score(a), rauq.score(b)), (a.pieces, b.pieces))
    texts = [*figure.layout.xaxis2.ticktext, *np.ravel([trace.text for trace in figure.data])]
    own = [text.replace("<br>", "").replace("</span>", "") for text in texts]
    for look in looks(dark=False):
        own = [text.replace(f'<span style="color:{look.colour}">', "") for text in own]
    assert not any(mark in text for text in own for mark in ("<", ">", "$"))
    assert any("&lt;b&gt;bold" in text for text in own)


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")  # of making the trace
@pytest.mark.parametrize(
    "settings", [Settings(), Settings(alpha=1.0), Settings(update="minus_mean"), Settings(update="product")]
)
def test_what_has_no_logarithm_or_no_end_leaves_a_gap(settings):
    a = make_trace((b"a",) * 4, probabilities=[0.9, 0.0, 0.5, 0.9])
    b = make_trace((b"a",))
    scores = (rauq.score(a, settings), rauq.score(b, settings))
    figure = overlay(aligned(a.pieces, b.pieces), scores, (a.pieces, b.pieces))
    for trace in figure.data:
        assert not np.isinf(trace.y).any()
        assert trace.yaxis == "y2" or not (trace.y <= 0).any()
    figure.to_json()


def test_no_difference_no_line():
    a = make_trace()
    columns = aligned(a.pieces, a.pieces)
    first_difference = find_first_difference(columns, a.pieces, a.pieces)
    assert first_difference is None
    assert (
        overlay(columns, (rauq.score(a),) * 2, (a.pieces,) * 2, first_difference=first_difference).layout.shapes == ()
    )


def test_the_map_is_as_wide_on_both_sides_of_zero():
    difference = np.random.default_rng(0).uniform(-0.32, 0.1, (6, 4))
    cells = difference_map(difference, range(6), picked=((), ())).data[0]
    np.testing.assert_allclose(cells.z, difference, rtol=1e-6)
    assert cells.zmax == pytest.approx(0.35)
    assert cells.zmin == -cells.zmax
    assert difference_map(np.zeros((2, 2)), range(2), picked=((), ())).data[0].zmax == 1


@pytest.mark.parametrize("dark", [False, True])
def test_the_scale_ends_in_the_colours_of_the_two(dark):
    (_, low), (_, _), (_, high) = difference_scale(looks(dark=dark), dark=dark)
    assert (high, low) == tuple(look.colour for look in looks(dark=dark))


def test_rings_of_a_and_b_stand_on_their_heads_and_have_two_shapes():
    figure = difference_map(np.zeros((4, 5)), (3, 7, 11, 15), picked=([(7, 2), (11, -1)], [(7, 2), (11, 4)]))
    a, b = named(figure, "selected in A"), named(figure, "selected in B")
    assert list(zip(a.y, a.x, strict=True)) == [(1, 2)]
    assert list(zip(b.y, b.x, strict=True)) == [(1, 2), (2, 4)]
    assert a.marker.symbol != b.marker.symbol
    assert figure.layout.yaxis.ticktext == ("3", "7", "11", "15")
    assert figure.data[0].customdata[2][0] == 11
