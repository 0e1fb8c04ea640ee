"""The options of a link are used or ignored as a whole; filters select the answers that they describe."""

import math
import shutil
from dataclasses import replace

import numpy as np
import pytest

from analysis.answer_sets.outcomes import outcomes
from analysis.quality.judgement import Thresholds
from analysis.runs.files.arrays import OFFSETS
from analysis.runs.opened import open_run
from pages.ui.answer_sets.choices import Asked, choose, fitted, thresholds
from pages.ui.shared.run_views.filters import Filters, Span, passing, written_span
from pages.ui.shared.run_views.page import counted
from pages.ui.shared.url_state import read
from rauq import Settings
from tests.pages.sets import make
from tests.shards import change_arrays, without_picks

USUAL = Thresholds()


def read_asked(query):
    return read(query, Asked())


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    quality = (1.0, 0.0, 0.5, math.nan, 0.95, 0.05, 1.0, 0.0)
    return make(tmp_path_factory.mktemp("runs"), quality=quality, lengths=[1, 2, 3, 4, 5, 6, 7, 8], failures=2)


def test_without_options_the_defaults_hold():
    assert read_asked({"run": "x", "alpha": "0.5", "number": "3"}) == (Asked(), ())


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        *[("view", view, Asked(view=view)) for view in ("best", "further", "answers")],
        *[("offset", str(offset), Asked(offset=offset)) for offset in OFFSETS],
        ("layer", "31", Asked(layer=31)),
        ("tokens", "other", Asked(tokens="other")),
        ("k", "50", Asked(k=50)),
        ("above", "-0.25", Asked(above=-0.25)),
        ("below", "12.5", Asked(below=12.5)),
        ("group", "a b&c", Asked(group="a b&c")),
        ("quality", "-1..0.5", Asked(quality=Span(-1, 0.5))),
        ("length", "3..3", Asked(length=Span(3, 3))),
        ("text", "<b>", Asked(text="<b>")),
    ],
)
def test_options_are_read(name, text, expected):
    assert read_asked({name: text}) == (expected, ())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("view", "Best"), ("view", ""), ("layer", "-1"), ("layer", "1e3"), ("layer", "٣"), ("tokens", "none")),
        *(("offset", "0"), ("offset", "7"), ("offset", "1.0"), ("k", "0"), ("k", "51"), ("k", "x")),
        *(("above", "nan"), ("above", "inf"), ("above", "1e9"), ("below", ""), ("below", "0x1"), ("below", "٣")),
        *(("quality", "1..0"), ("quality", "1"), ("quality", "nan..1"), ("length", ".."), ("length", "1..2..3")),
        *(("text", ""), ("text", "a" * 201)),
    ],
)
def test_unusable_options_are_named_and_the_rest_is_kept(name, text):
    rest = {"view": "bins"} if name != "view" else {"layer": "2"}
    found, wrong = read_asked({name: text, **rest})
    assert wrong == (name,)
    assert found == read_asked(rest).asked


def test_a_written_span_reads_back():
    for span in (Span(0.0, 1.0), Span(-2.5, 0.125), Span(3, 28)):
        assert read_asked({"quality": written_span(span)}).asked.quality == span


def test_options_that_a_run_lacks_are_replaced_by_defaults(run):
    asked = Asked(layer=6, group="three", above=0.2, below=0.4)
    assert fitted(asked, run, USUAL) == (Asked(), ("layer", "group", "above", "below"))
    fits = Asked(layer=5, tokens="fact", group="two", above=0.4, below=0.4)
    assert fitted(fits, run, USUAL) == (fits, ())


def test_a_single_threshold_must_suit_that_of_the_measure(run):
    assert fitted(Asked(above=0.05), run, USUAL).wrong == ("above", "below")
    assert thresholds(Asked(above=0.2), USUAL) == replace(USUAL, correct=0.2)


@pytest.mark.parametrize(
    ("filters", "rows"),
    [
        (Filters(), range(8)),
        (Filters(group="two"), (1, 3, 5, 7)),
        (Filters(quality=Span(0.5, 0.95)), (2, 4)),
        (Filters(quality=Span(0, 1)), (0, 1, 2, 4, 5, 6, 7)),
        (Filters(length=Span(2, 3)), (1, 2)),
        (Filters(text="A?"), range(8)),
        (Filters(text="aaaaaaa"), (6, 7)),
        (Filters(text="."), ()),
        (Filters(group="one", length=Span(3, 9), text="AAAA"), (4, 6)),
    ],
)
def test_filters_select_the_described_answers(run, filters, rows):
    assert np.flatnonzero(passing(run, filters)).tolist() == list(rows)


@pytest.mark.parametrize(
    "filters", [Filters(), Filters(group="two"), Filters(text="nowhere"), Filters(length=Span(1, 4))]
)
def test_every_answer_is_counted_once(run, filters):
    chosen = choose("small", run, Asked(**vars(filters)), Settings(), USUAL)
    found = outcomes(run.answers.iloc[chosen.rows], chosen.thresholds)
    judged = found.correct + found.incorrect + found.between
    assert judged + found.without_quality == found.answers == len(chosen.rows)
    filtered_out = len(run.answers) - len(chosen.rows)
    not_shown = f"{filtered_out} filtered out, 2 failed" if filtered_out else "2 failed"
    assert counted(chosen).startswith(f"n = {found.answers} answer")
    assert counted(chosen).endswith(f" Not shown: {not_shown}.")


def test_a_quality_equal_to_a_threshold_is_on_neither_side(run):
    chosen = choose("small", run, Asked(above=0.95, below=0.05), Settings(), USUAL)
    found = outcomes(run.answers.iloc[chosen.rows], chosen.thresholds)
    assert (found.correct, found.incorrect, found.between) == (2, 2, 3)
    assert np.flatnonzero(chosen.sides.correct).tolist() == [0, 6]


def test_selected_heads_are_the_stored_ones(run, tmp_path):
    folder = shutil.copytree(run.folder, tmp_path / "run")
    change_arrays(folder, 0, lambda arrays: arrays | {"picks": np.full_like(arrays["picks"], 3)})
    chosen = choose("small", open_run(folder), Asked(tokens="fact", layer=4), Settings(), USUAL)
    np.testing.assert_array_equal(chosen.picks(), np.full((len(run.answers), 6), 3))
    attention = chosen.picked_attention(4, tokens="fact")
    np.testing.assert_array_equal(attention, chosen.means(tokens="fact")[:, 4, 3])
    assert chosen.about_picks == ""


def test_selected_heads_that_were_not_stored_are_reported(run, tmp_path):
    folder = shutil.copytree(run.folder, tmp_path / "run")
    without_picks(folder)
    filters = Filters(quality=Span(0.9, 1.0))
    chosen = choose("small", open_run(folder), Asked(**vars(filters)), Settings(), USUAL)
    assert f"the selected heads of {len(chosen.rows)} answers" in chosen.about_picks


def test_heads_are_selected_over_the_whole_answer(run):
    chosen = choose("small", run, Asked(tokens="fact", offset=2, layer=4), Settings(), USUAL)
    whole = choose("small", run, Asked(), Settings(), USUAL).means()
    expected = np.where(np.isnan(whole).any(axis=-1), -1, np.nan_to_num(whole, nan=-1).argmax(axis=-1))
    np.testing.assert_array_equal(chosen.picks(), expected)
    rows = np.arange(len(run.answers))
    looked_at = {"tokens": "fact", "offset": 2}
    attention = np.where(expected[:, 4] < 0, np.nan, chosen.means(**looked_at)[rows, 4, expected[:, 4]])
    np.testing.assert_array_equal(chosen.picked_attention(4, **looked_at), attention)
