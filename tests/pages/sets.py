"""The page Answer sets under AppTest: small runs, and helpers to open it."""

import numpy as np

from pages.ui.answer_sets.choices import TITLES
from tests.analysis.report.made_run import made_run
from tests.pages.reading import open_page

QUALITY = tuple(float(number % 3 > 0) for number in range(45))  # 30 correct, 15 incorrect
VIEWS = tuple(TITLES)


def make(root, name="small", *, quality=QUALITY, **changes):
    root.mkdir(exist_ok=True)
    return made_run(root / name, quality=quality, name=name, **changes)


def open_sets(**query):
    return open_page("answer_sets", **query)


def seeded(query, key, event):
    """The page after a selection in the chart or table of that key."""
    return open_page("answer_sets", {key: {"selection": event}}, **query)


def clicked(place):
    """The event of a click on the point of an answer."""
    return {"points": [{"customdata": place}], "point_indices": [0], "box": [], "lasso": []}


def said(page):
    """All texts of the page."""
    kinds = (page.header, page.caption, page.title, page.markdown, page.info, page.warning, page.error, page.toast)
    return " ".join(str(element.value) for kind in kinds for element in kind)


def drawn(page):
    return {chart.proto.id.rpartition("-")[2].removeprefix("answers_") for chart in page.get("plotly_chart")}


def number_of(row):
    """The number of the answer in a row of a table on a page, by its id."""
    return int(row["id"].removeprefix("id "))


def undefined(count):
    return (np.nan,) * count
