"""An answer in a notebook: its tokens as a strip in HTML, and the figures of `analysis`.

The strip has no script and makes no request, and every text in it is escaped.
"""

import html
import math
from collections.abc import Sequence
from typing import Any

from rauq.errors import MissingPackage
from rauq.labels import Part, boxed_parts, direction, running
from rauq.layout import analysis

_MOST_TOKENS = 1000  # more make a notebook slow
_FULL = 3.0  # nats: what is larger has the same colour
_OPACITY = 0.55  # of the strongest colour, on which both black and white text can be read


def html_strip(
    pieces: Sequence[bytes],
    values: Sequence[float],
    notes: Sequence[str],
    *,
    heading: str,
    caption: str,
    marked: int | None = None,
) -> str:
    """The tokens of `pieces` (N,) in a row, each coloured by its value in nats, with its note as its tooltip.

    The colour is laid over that of the page, and texts have the page's colour, so both light and dark pages do. The
    token `marked` is underlined. Of long answers, the first 1,000 tokens are drawn.
    """
    shown = pieces[:_MOST_TOKENS]
    tokens = "".join(
        _token(piece, parts, value, f"token {place}: {note}", marked=place == marked)
        for place, (piece, parts, value, note) in enumerate(zip(shown, boxed_parts(shown), values, notes, strict=False))
    )
    left_out = len(pieces) - len(shown)
    more = f" … and {left_out:,} more tokens" if left_out else ""
    return (
        f"<div>{_text(heading)}</div>"
        f'<div dir="{direction(shown)}" style="font-family:monospace;line-height:1.9;overflow-wrap:anywhere">'
        f"{tokens}{more}</div>"
        f'<div style="opacity:0.75;font-size:smaller">{_text(caption)}</div>'
    )


def _token(piece: bytes, parts: Sequence[Part], value: float, note: str, *, marked: bool) -> str:
    strength = 0.0 if math.isnan(value) else min(max(value, 0.0) / _FULL, 1.0)
    look = f"background-color:rgba(232,101,10,{_OPACITY * strength:.2f});white-space:pre-wrap"
    look += ";text-decoration:underline 2px" if marked else ""
    text = "".join(f"<bdi>{html.escape(part.text)}</bdi>" if part.mark else html.escape(part.text) for part in parts)
    can_break = "<wbr>" if piece.startswith(b" ") else ""  # inside a word it would keep letters from joining
    return f'{can_break}<span title="{_text(note)}" style="{look}">{text}</span>'


def _text(text: str) -> str:
    return html.escape(running(text))


def plot(answer: object, name: str, **options: Any) -> Any:  # noqa: ANN401 - a figure of Plotly
    """The figure of this name of an answer, as `analysis.plot` draws it.

    Raises:
        MissingPackage: Plotly is not installed.
    """
    try:
        draw = analysis().plot
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "plotly":
            raise
        message = "Figures need plotly, which is not installed: pip install plotly"
        raise MissingPackage(message) from error
    return draw(answer, name, **options)
