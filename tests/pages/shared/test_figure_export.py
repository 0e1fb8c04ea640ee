"""A figure on a page: what it draws stays as it is, below the room of its buttons."""

import plotly.graph_objects as go
import pytest

from analysis.figures import Row, empty_figure, interval_panels
from analysis.stats import Estimate
from pages.ui.shared.figure_export import below_buttons

ROW = Row("RAUQ", Estimate(0.5, 0.4, 0.6, n=9, excluded=0, reason=""), "#000000")
TITLES = ("wrong tokens, incorrect answers", "facts", "others")
PANELS = {"one": {"": [ROW]}, "several": {title: [ROW] for title in TITLES}}


@pytest.mark.parametrize("kind", [*PANELS, "empty"])
def test_a_figure_on_a_page_is_as_much_higher_as_its_buttons_and_is_not_changed_itself(kind):
    figure = (
        empty_figure("none", height=160, dark=False)
        if kind == "empty"
        else interval_panels(PANELS[kind], title="PRR", reference=0.0, reason="", dark=False)
    )
    before = go.Figure(figure)
    placed = below_buttons(figure)
    room = placed.layout.margin.t - figure.layout.margin.t
    assert room >= 24
    assert placed.layout.height - figure.layout.height == room
    assert placed.data == figure.data
    assert figure == before


def test_titles_side_by_side_take_lines_and_the_figure_grows_with_them():
    one, several = (interval_panels(own, title="PRR", reference=0.0, reason="", dark=False) for own in PANELS.values())
    assert [note.text for note in several.layout.annotations] == [
        "wrong tokens,<br>incorrect answers",
        "facts",
        "others",
    ]
    assert several.layout.margin.t - one.layout.margin.t == several.layout.height - one.layout.height > 30
