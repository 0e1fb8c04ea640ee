"""The figures of a set of answers: its heads, its best and worst answers, its quality and its scores."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from analysis.answer_sets.best_and_worst import BestAndWorst
from analysis.answer_sets.heads import SelectedHeads
from analysis.answer_sets.quality_curves import QualityBins
from analysis.calibration import Calibration, share_at
from analysis.figures import (
    ATTENTION,
    QUIET,
    UNCERTAINTY,
    attention_cells,
    attention_scale,
    cells,
    empty_figure,
    finish,
    head_axis,
    layer_axis,
    outcomes,
    plotly_text,
)
from rauq.labels import number, running

_ROW_HEIGHT, _REST = 20, 70  # pixels
_LONGEST_TICK, _LONGEST_HOVER = 28, 90
_GAP = 1.4  # rows between the best and the worst


def best_and_worst_map(shown: BestAndWorst, texts: Sequence[str], *, dark: bool = False) -> go.Figure:
    """Heatmap of the rows of `shown`, each labelled with its quality and its answer out of `texts` (2k,).

    A ring marks the selected head of an answer, the dashed frame the head of the highest mean. An invisible square
    over each cell can be clicked: its `customdata` is the answer's position in the run.
    """
    if shown.head is None:
        return empty_figure(shown.reason, height=200, dark=dark)
    k, num_heads = shown.k, shown.attention.shape[1]
    heights = np.concatenate([np.arange(k), np.arange(k, 2 * k) + _GAP])
    hover = [_hover(quality, text) for quality, text in zip(shown.quality, texts, strict=True)]
    figure = go.Figure(_blocks(shown, heights, hover, dark=dark))
    figure.add_traces([*_rings(shown, heights), _squares(shown, heights, hover)])
    frame = {"x0": shown.head - 0.5, "x1": shown.head + 0.5, "y0": -0.6, "y1": heights[-1] + 0.6}
    figure.add_shape(type="rect", **frame, line={"color": UNCERTAINTY, "width": 2.5, "dash": "dash"})
    head_axis(figure, num_heads)
    ticks = [_tick(quality, text) for quality, text in zip(shown.quality, texts, strict=True)]
    figure.update_yaxes(tickvals=heights, ticktext=ticks, range=[heights[-1] + 0.8, -0.8], showgrid=False, ticks="")
    finish(figure, height=int(_ROW_HEIGHT * (heights[-1] + 1) + _REST), dark=dark)
    _name_sides(figure, heights, k, dark=dark)
    return figure


def _blocks(shown: BestAndWorst, heights: np.ndarray, hover: list[str], *, dark: bool) -> list[go.Heatmap]:
    """The best and the worst on one scale of colours, with a single bar beside them."""
    whole, k = attention_cells(shown.attention, dark=dark), shown.k
    texts = np.broadcast_to(np.array(hover, dtype=object)[:, None], shown.attention.shape)
    blocks = []
    for rows in (slice(0, k), slice(k, 2 * k)):
        block = go.Heatmap(whole)
        block.update(z=whole.z[rows], y=heights[rows], text=texts[rows], hovertemplate=_cell_hover("z"), name="")
        blocks.append(block.update(ygap=1, dy=1, showscale=rows.start == 0))
    return blocks


def _cell_hover(value: str) -> str:
    return f"%{{text}}<br>head %{{x}}: attention %{{{value}:.3f}}<extra></extra>"


def _rings(shown: BestAndWorst, heights: np.ndarray) -> list[go.Scatter]:
    """Rings that are dark outside and light inside, so that they contrast with any cell."""
    picking = shown.picks >= 0
    return [
        go.Scatter(
            x=shown.picks[picking],
            y=heights[picking],
            mode="markers",
            name=name,
            marker={"symbol": "circle-open", "size": 9, "color": colour, "line": {"width": width}},
            hoverinfo="skip",
            showlegend=False,
        )
        for colour, width, name in (("#10233f", 3.5, "edge"), ("#ffffff", 1.6, "selected head"))
    ]


def _squares(shown: BestAndWorst, heights: np.ndarray, hover: list[str]) -> go.Scatter:
    """Invisible points that receive clicks, because heatmap cells cannot be selected in Streamlit."""
    num_heads = shown.attention.shape[1]
    return go.Scatter(
        x=np.tile(np.arange(num_heads), len(heights)),
        y=np.repeat(heights, num_heads),
        customdata=np.repeat(shown.rows, num_heads),
        text=np.repeat(np.array(hover, dtype=object), num_heads),
        marker={"symbol": "square", "size": 13, "color": UNCERTAINTY, "opacity": 0},
        selected={"marker": {"opacity": 0.9}},
        unselected={"marker": {"opacity": 0}},
        meta="answers",
        mode="markers",
        name="answers",
        showlegend=False,
        hovertemplate="%{text}<br>head %{x}<extra></extra>",
    )


def _hover(quality: float, text: str) -> str:
    return f"quality {number(quality)}<br>{plotly_text(_cut(text, _LONGEST_HOVER))}"


def _tick(quality: float, text: str) -> str:
    return f"{plotly_text(_cut(text, _LONGEST_TICK))}  <b>{number(quality, places=2)}</b>"


def _cut(text: str, longest: int) -> str:
    drawn = running(text.strip())
    return drawn if len(drawn) <= longest else f"{drawn[: longest - 1]}…"


def _name_sides(figure: go.Figure, heights: np.ndarray, k: int, *, dark: bool) -> None:
    """Best and worst are written over the names of their rows, in the colours of correct and incorrect."""
    for look, row, words in zip(outcomes(dark=dark), (0, k), ("best", "worst"), strict=True):
        figure.add_annotation(
            x=0,
            xref="paper",
            xanchor="right",
            xshift=-3,
            y=heights[row] - 0.5,
            yanchor="bottom",
            text=f"<b>{k} {words}</b>",
            font={"color": look.colour},
            showarrow=False,
        )
    figure.update_layout(margin={"t": 24})


_SELECTED_HEADS_MAP_HEIGHT = 400


def selected_heads_map(picked: SelectedHeads, *, dark: bool = False) -> go.Figure:
    """Heatmap of the share of answers, in percent, in which a head is selected; a row adds up to 100."""
    if not picked.counts.any():
        return empty_figure("no head is selected, because no answer has two tokens", height=200, dark=dark)
    heat = cells(
        100 * picked.shares, title="% of answers", low=0, high=100, scale=attention_scale(dark=dark), dark=dark
    )
    heat.update(
        customdata=np.broadcast_to(np.asarray(picked.layers, dtype=np.int32)[:, None], picked.shares.shape),
        hovertemplate="layer %{customdata} · head %{x}<br>selected in %{z:.1f} % of answers<extra></extra>",
    )
    figure = go.Figure(heat)
    head_axis(figure, picked.shares.shape[1])
    layer_axis(figure, picked.layers)
    finish(figure, height=_SELECTED_HEADS_MAP_HEIGHT, dark=dark)
    return figure


_CALIBRATION_HEIGHT = 380  # as the bins beside it


def calibration_chart(calibration: Calibration, *, score: float | None = None, dark: bool = False) -> go.Figure:
    """Share of correct answers with its band over uncertainty; `score` is marked, if there is one.

    The share of a score beyond those of the set is that of the nearest.
    """
    if calibration.reason:
        return empty_figure(calibration.reason, height=_CALIBRATION_HEIGHT, dark=dark)
    colour = outcomes(dark=dark)[0].colour
    figure = go.Figure(_band(calibration, colour))
    figure.add_scatter(
        x=calibration.scores,
        y=100 * calibration.share,
        mode="lines",
        line={"color": colour, "width": 2.5, "shape": "hv"},
        name="share of correct answers",
        hovertemplate="uncertainty %{x:.3f}<br>correct %{y:.0f} %<extra></extra>",
    )
    if score is not None and np.isfinite(score):
        _mark(figure, calibration, score)
    figure.update_xaxes(title="uncertainty", nticks=8, showgrid=False)
    figure.update_yaxes(title="correct answers", ticksuffix=" %", range=[-3, 103], nticks=6)
    finish(figure, height=_CALIBRATION_HEIGHT, dark=dark)
    figure.update_layout(showlegend=False)
    return figure


def _band(calibration: Calibration, colour: str) -> list[go.Scatter]:
    edge = {"color": colour, "width": 0, "shape": "hv"}
    shared = {"x": calibration.scores, "mode": "lines", "line": edge, "hoverinfo": "skip", "name": "interval"}
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    shade = {"fill": "tonexty", "fillcolor": f"rgba({red}, {green}, {blue}, 0.2)"}
    return [go.Scatter(y=100 * calibration.low, **shared), go.Scatter(y=100 * calibration.high, **shared | shade)]


def _mark(figure: go.Figure, calibration: Calibration, score: float) -> None:
    share, low, high = (100 * value for value in share_at(calibration, score))
    words = f"{number(share, places=0)} % [{number(low, places=0)}, {number(high, places=0)}]"
    figure.add_vline(x=score, line={"color": QUIET, "width": 1.5, "dash": "dot"})
    figure.add_scatter(
        x=[score],
        y=[share],
        mode="markers",
        marker={"size": 12, "symbol": "diamond", "color": UNCERTAINTY},
        name="this answer",
        text=[f"this answer: uncertainty {number(score)}<br>correct at this score: {words}"],
        hovertemplate="%{text}<extra></extra>",
    )


_QUALITY_BINS_HEIGHT = 380
_MANY = 2000  # points: more are left to the graphics card
_FEW_QUALITIES = 12  # so few different ones that points would hide each other
_GOLDEN = 0.6180339887


def quality_bins_chart(result: QualityBins, *, title: str, colour: str = ATTENTION, dark: bool = False) -> go.Figure:
    """Quality of each answer over `title`, and means with intervals; a point's `customdata` is its answer's position.

    Where there are only a few different qualities points are spread a little up and down, which is no part of them.
    """
    if result.reason:
        return empty_figure(result.reason, height=_QUALITY_BINS_HEIGHT, dark=dark)
    figure = go.Figure([_points(result, title), _means(result, title, colour)])
    figure.update_xaxes(title=title, nticks=8, showgrid=False)
    figure.update_yaxes(title="quality", nticks=6)
    finish(figure, height=_QUALITY_BINS_HEIGHT, dark=dark)
    figure.update_layout(showlegend=False)
    return figure


def _points(result: QualityBins, title: str) -> go.Scatter:
    kind = go.Scattergl if len(result.rows) > _MANY else go.Scatter
    hover = [f"{title} {number(x)}<br>quality {number(y)}" for x, y in zip(result.values, result.quality, strict=True)]
    return kind(
        x=result.values,
        y=result.quality + _spread(result.quality),
        customdata=result.rows,
        text=hover,
        hovertemplate="%{text}<extra></extra>",
        mode="markers",
        marker={"size": 5, "color": QUIET, "opacity": 0.45},
        name="answers",
    )


def _spread(quality: np.ndarray) -> np.ndarray:
    """Up to 4 % of the range up or down, evenly by position."""
    if len(np.unique(quality)) > _FEW_QUALITIES:
        return np.zeros(len(quality))
    size = float(np.ptp(quality)) or 1.0
    return 0.08 * size * ((np.arange(len(quality)) * _GOLDEN) % 1 - 0.5)


def _means(result: QualityBins, title: str, colour: str) -> go.Scatter:
    means = result.quality_means
    hover = [
        f"{title} {number(low)} to {number(high)}<br>mean quality {number(mean)} [{number(bottom)}, {number(top)}]"
        f"<br>n = {count:,}"
        for low, high, mean, bottom, top, count in zip(
            result.low, result.high, means.value, means.low, means.high, result.count, strict=True
        )
    ]
    return go.Scatter(
        x=result.middle,
        y=means.value,
        error_y={"array": means.high - means.value, "arrayminus": means.value - means.low, "thickness": 1.8},
        error_x={
            "array": result.high - result.middle,
            "arrayminus": result.middle - result.low,
            "thickness": 1,
            "width": 0,
        },
        text=hover,
        hovertemplate="%{text}<extra></extra>",
        mode="lines+markers",
        line={"color": colour, "width": 2},
        marker={"color": colour, "size": 9},
        name="mean of a bin",
    )
