"""What pages offer as CSV: it can be written, and no text of a visitor or a model is a formula in it."""

import csv
import io

import pytest
import streamlit as st

from analysis.views.answer_sets import BEST, BINS, FURTHER, GAP, MEANING, SELECTED
from analysis.views.heads import HEADS
from pages.ui.answer_sets.choices import ANSWERS
from pages.ui.inspect.closing import OPEN
from pages.ui.inspect.drawers import EXPORT
from pages.ui.runs.example_file import NAME
from tests.pages.comparing import FIRST, kept, open_compare
from tests.pages.reading import choose
from tests.pages.runs_page import open_form, upload
from tests.pages.sets import make, open_sets
from tests.traces import make_trace

STARTS = ("=", "+", "-", "@", "\t", "\r")
ATTACK = "=1+cmd|' /C calc'!A0"


@pytest.fixture
def offered(monkeypatch):
    """The contents that the page offers, by the name of the file."""
    found, draw = {}, st.download_button

    def note(label, data, file, *arguments, **options):
        found[file] = data
        return draw(label, data, file, *arguments, **options)

    monkeypatch.setattr(st, "download_button", note)
    return found


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    root = tmp_path_factory.mktemp("shared")
    make(root, text=ATTACK, groups=("=one", "@two"), name="small")
    return root


def texts(offered):
    """The cells of each file that are no numbers."""
    tables = {name: list(csv.reader(io.StringIO(made(), newline=""))) for name, made in offered.items()}
    return {name: [cell for row in rows for cell in row if not is_number(cell)] for name, rows in tables.items()}


def is_number(cell):
    try:
        float(cell)
    except ValueError:
        return False
    return True


def check(offered, *files):
    found = texts({name: made for name, made in offered.items() if name.endswith(".csv")})
    assert set(found) == set(files)
    assert [cell for cells in found.values() for cell in cells if cell.startswith(STARTS)] == []
    return {cell for cells in found.values() for cell in cells}


FILES = {
    HEADS.id: ("heads.csv", "all-heads.csv"),
    MEANING.id: ("meaning.csv", "tenths.csv"),
    BEST.id: ("best_and_worst.csv",),
    GAP.id: ("by_verdict.csv",),
    BINS.id: ("by_quality.csv",),
    FURTHER.id: ("distances.csv",),
    SELECTED.id: ("picked_heads.csv", "agreement.csv"),
    ANSWERS: ("answers.csv",),
}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("view", FILES)
def test_views_of_a_run(view, offered):
    assert not open_sets(run="small", view=view).exception
    found = check(offered, *FILES[view])
    assert view not in (BEST.id, ANSWERS) or "'=one" in found
    assert view != "answers" or f"'{ATTACK}?" in found


def test_an_answer(open_app, offered):
    page = open_app(make_trace((ATTACK.encode(), b"-1", b"@a")))
    page.session_state[OPEN] = EXPORT
    assert not page.run().exception
    assert f"'{ATTACK.replace(' ', '·')}" in check(offered, "made-up-where.tokens.csv", "made-up-where.heads.csv")


def test_two_answers(offered):
    assert not open_compare(a=FIRST, b=kept(make_trace((ATTACK.encode(), b"b", b"c")))).exception
    check(offered, "scores.csv")


@pytest.mark.usefixtures("runs")
def test_rejected_rows(offered):
    """Those of two files begin with the name of the file."""
    page = choose(open_form(), "new_run_source", "Two files")
    for side in ("correct", "incorrect"):
        page = upload(page, b"question,answer\nWhere?,Here\n,There\n", f"={side}.csv", side)
    assert not page.exception
    assert any(cell.startswith("'=correct.csv: ") for cell in check(offered, NAME, "rejected-rows.csv"))
