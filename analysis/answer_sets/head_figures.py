"""The figures of the view Heads: a map of all heads, and the answers of one."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from analysis.answer_sets.gap_figures import answer_box
from analysis.answer_sets.separation import Separation
from analysis.answer_sets.sides import Sides
from analysis.figures import cells, empty_figure, finish, outcomes, text_colour, upper_end

_ROW_HEIGHT, _REST, _HIGHEST = 24, 84, 520  # pixels
_MOST_NAMED = 32
# Orange through the page's colour to blue: told apart by every common colour vision.
_SCALE = ("#b34700", "#f0a868", "#f4f5f7", "#7fb2dd", "#0f559c")
_SCALE_AT_NIGHT = ("#ff9d4d", "#8f5526", "#20252c", "#2b659b", "#7cc0ff")


def head_map(
    found: Separation,
    layers: Sequence[int],
    *,
    used: Sequence[int] = (),
    selected: Sequence[tuple[int, int]] = (),
    shown: tuple[int, int] | None = None,
    end: float | None = None,
    narrow: bool = False,
    dark: bool = False,
) -> go.Figure:
    """Map of the areas under the ROC curve: a column for each layer, a row for each head, as wide above 0.5 as below.

    `used`: the layers of RAUQ, framed. `selected` (layer, head) have a ring, `shown` a square. `end`: the distance from
    0.5 at which the colours end, by default that of the strongest head. `narrow`: on half a page. An invisible point
    over each cell can be clicked: its `customdata` is row * H + head, row being the layer's position.
    """
    if found.best is None:
        return empty_figure(found.labelled.reason, height=200, dark=dark)
    end = scale_end(found) if end is None else end
    scale = [[at / 4, colour] for at, colour in enumerate(_SCALE_AT_NIGHT if dark else _SCALE)]
    heat = cells(found.auc.T, title="ROC-AUC", low=0.5 - end, high=0.5 + end, scale=scale, dark=dark)
    heat.update(hoverinfo="skip", colorbar={"tickformat": ".2f"})
    figure = go.Figure([heat, *_rings(selected, layers), _points(found, layers)])
    _frame(figure, layers, used, found.auc.shape[1], dark=dark)
    if shown is not None:
        column = layers.index(shown[0])
        _box(figure, (column - 0.5, column + 0.5), (shown[1] - 0.5, shown[1] + 0.5), 3, dark=dark)
    _axes(figure, layers, found.auc.shape[1], narrow=narrow)
    finish(figure, height=min(_ROW_HEIGHT * found.auc.shape[1] + _REST, _HIGHEST), dark=dark)
    figure.update_layout(margin={"t": 24}, showlegend=False)
    return figure


def scale_end(*several: Separation) -> float:
    """The distance from 0.5 at which the colours end, for maps that share a scale."""
    return min(upper_end(np.abs(np.stack([found.auc for found in several]) - 0.5), parts=20), 0.5)


def _axes(figure: go.Figure, layers: Sequence[int], num_heads: int, *, narrow: bool) -> None:
    plain = {"showgrid": False, "showline": False, "ticks": ""}
    columns = list(range(0, len(layers), 1 if len(layers) <= _MOST_NAMED // (1 + narrow) else 4))
    names = [str(layers[column]) for column in columns]
    figure.update_xaxes(plain, title="layer", tickvals=columns, ticktext=names, range=[-0.6, len(layers) - 0.4])
    step = 1 if num_heads <= _MOST_NAMED // 2 else 4
    figure.update_yaxes(plain, title="head", dtick=step, range=[num_heads - 0.4, -0.6])


def _frame(figure: go.Figure, layers: Sequence[int], used: Sequence[int], num_heads: int, *, dark: bool) -> None:
    """A dashed frame around the layers used by RAUQ, from the first to the last of those that there are."""
    columns = [layers.index(layer) for layer in used if layer in layers]
    if not columns:
        return
    ends = (min(columns) - 0.5, max(columns) + 0.5)
    _box(figure, ends, (-0.5, num_heads - 0.5), 1.5, dash="dash", dark=dark)
    figure.add_annotation(
        x=sum(ends) / 2,
        y=1,
        yref="y domain",
        yanchor="bottom",
        text="layers used by RAUQ",
        font={"color": text_colour(dark=dark), "size": 12},
        showarrow=False,
    )


def _box(
    figure: go.Figure, x: tuple[float, float], y: tuple[float, float], width: float, *, dark: bool, dash: str = "solid"
) -> None:
    line = {"color": text_colour(dark=dark), "width": width, "dash": dash}
    figure.add_shape(type="rect", x0=x[0], x1=x[1], y0=y[0], y1=y[1], line=line)


def _rings(selected: Sequence[tuple[int, int]], layers: Sequence[int]) -> list[go.Scatter]:
    """Rings that are dark outside and light inside, so that they contrast with any cell."""
    return [
        go.Scatter(
            x=[layers.index(layer) for layer, _ in selected],
            y=[head for _, head in selected],
            mode="markers",
            name=name,
            marker={"symbol": "circle-open", "size": 10, "color": colour, "line": {"width": width}},
            hoverinfo="skip",
        )
        for colour, width, name in (("#10233f", 3.5, "edge"), ("#ffffff", 1.6, "selected head"))
    ]


def _points(found: Separation, layers: Sequence[int]) -> go.Scatter:
    """Invisible points that receive clicks, because heatmap cells cannot be selected in Streamlit."""
    rows, heads = (each.ravel() for each in np.indices(found.auc.shape))
    return go.Scatter(
        x=rows,
        y=heads,
        customdata=np.arange(found.auc.size),
        text=[
            f"layer {layers[row]} · head {head}<br>ROC-AUC {found.auc[row, head]:.3f}"
            for row, head in zip(rows.tolist(), heads.tolist(), strict=True)
        ],
        mode="markers",
        marker={"symbol": "square", "size": 18, "color": "#8b95a1", "opacity": 0},
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
        meta="heads",
        name="heads",
        hovertemplate="%{text}<extra></extra>",
    )


_ANSWERS_HEIGHT = 300


def head_answers(values: np.ndarray, sides: Sides, *, dark: bool = False) -> go.Figure:
    """Mean attention (A,) of one head in correct and in incorrect answers; a point's `customdata` is its position."""
    known = np.isfinite(values)
    counts = [int((mask & known).sum()) for mask in (sides.correct, sides.incorrect)]
    if not sum(counts):
        return empty_figure("no correct or incorrect answer has attention", height=_ANSWERS_HEIGHT, dark=dark)
    size = 3 if max(counts) > 300 else 6
    masks = zip((sides.correct, sides.incorrect), outcomes(dark=dark), strict=True)
    figure = go.Figure([answer_box(values, mask, look, size) for mask, look in masks])
    figure.update_yaxes(nticks=6, title="mean attention")
    finish(figure, height=_ANSWERS_HEIGHT, dark=dark)
    figure.update_layout(showlegend=False, boxgap=0.25)
    return figure
