"""Answers x heads: mean attention of the best and of the worst answers in one layer (paper, figure 2)."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from analysis.answer_sets.best_and_worst import BestAndWorst
from analysis.figures.attention_cells import attention_cells
from analysis.figures.head_axes import head_axis
from analysis.figures.labels import plotly_text
from analysis.figures.outcome import outcomes, words_instead
from analysis.figures.style import UNCERTAINTY, finish
from rauq.labels import number, running

_ROW_HEIGHT, _REST = 20, 70  # pixels
_LONGEST_TICK, _LONGEST_HOVER = 28, 90
_GAP = 1.4  # rows between the best and the worst


def best_and_worst_map(shown: BestAndWorst, texts: Sequence[str], *, dark: bool = False) -> go.Figure:
    """Heatmap of the rows of `shown`, each named by its quality and its answer out of `texts` (2k,).

    A ring marks the head that an answer picked, the dashed frame the head of the highest mean. Over each cell lies an
    unseen square that can be clicked: its `customdata` is the answer's position in the run.
    """
    if shown.head is None:
        return words_instead(shown.reason, height=200, dark=dark)
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
    """Each ring is dark outside and light inside: one of the two contrasts with any cell."""
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
        for colour, width, name in (("#10233f", 3.5, "edge"), ("#ffffff", 1.6, "picked head"))
    ]


def _squares(shown: BestAndWorst, heights: np.ndarray, hover: list[str]) -> go.Scatter:
    """What a click hits, since the cells of a heatmap answer none in Streamlit."""
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
