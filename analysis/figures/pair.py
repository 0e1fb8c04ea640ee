"""What tells the two answers of a comparison apart in every picture: a colour, a dash, a symbol, and a name.

Teal and violet differ in every kind of colour vision, and neither is the colour of attention or of uncertainty.
"""

from typing import NamedTuple

_TEAL, _VIOLET, _PAGE = "#0b7a75", "#7a3db8", "#f4f5f7"
_TEAL_AT_NIGHT, _VIOLET_AT_NIGHT, _PAGE_AT_NIGHT = "#3fc9b8", "#c58bf2", "#20252c"


class Look(NamedTuple):
    """How one of the two answers is drawn."""

    name: str
    colour: str
    dash: str
    symbol: str


def looks(*, dark: bool) -> tuple[Look, Look]:
    """The looks of A and of B, for a dark or a light page."""
    teal, violet = (_TEAL_AT_NIGHT, _VIOLET_AT_NIGHT) if dark else (_TEAL, _VIOLET)
    return Look("A", teal, "solid", "circle"), Look("B", violet, "dash", "diamond")


def difference_scale(*, dark: bool) -> list[list[object]]:
    """Plotly colour scale for A minus B: the colour of B, through the page's, to the colour of A."""
    a, b = looks(dark=dark)
    return [[0.0, b.colour], [0.5, _PAGE_AT_NIGHT if dark else _PAGE], [1.0, a.colour]]
