"""Answer sets: every view of a run, its empty states, and the way to one answer and back."""

import shutil

import numpy as np
import pytest

from analysis.runs import library, opened
from analysis.runs.files import index
from pages.ui.answer_sets import answers
from tests.pages.reading import charts, drawn_views
from tests.pages.sets import VIEWS, clicked, drawn, make, number_of, open_sets, said, seeded, undefined
from tests.shards import change_arrays, without_picks

CHARTS = {
    "best": {"best_and_worst"},
    "gap": {"correct_against_incorrect", "difference_by_layer", "attention_by_layer"},
    "bins": {"quality_by_attention"},
    "further": {"difference_by_offset"},
    "picked": {"picked_heads"},
    "heads": {"heads", "head_answers", "added_heads", "added_heads_labels"},
    "tokens": {"token_signals", "token_heads"},
    "meaning": {"what_a_score_means", "quality_by_score"},
    "answers": set(),
}
BUNDLED = library.bundled_folder()
HOSTILE = "<img src=x onerror=alert(1)> ![](http://evil.example/a.png) $x$ :red[y]"


pytestmark = pytest.mark.usefixtures("runs")


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    root = tmp_path_factory.mktemp("shared")
    make(root)
    return root


def test_without_a_run_the_page_says_what_to_do():
    page = open_sets()
    assert not page.exception
    assert "There is no run here yet" in said(page)
    assert "python -m analysis score" in page.code[0].value
    assert not page.get("plotly_chart")


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_draws_only_its_figures_and_always_shows_n(view):
    page = open_sets(run="small", view=view)
    assert not page.exception
    assert not page.error
    assert drawn(page) == CHARTS[view]
    assert len(page.header) == 1
    assert "n = 45 answers: 30 correct (quality above 0.9), 15 incorrect (below 0.1). Not shown: 1 failed." in said(
        page
    )
    assert page.query_params == {"run": "small", "view": view}


@pytest.fixture
def large(runs, monkeypatch):
    """A run that is opened as if it were large."""
    make(runs, "large", shard_size=9, failures=0)
    monkeypatch.setattr(index, "INDEXED_FROM", 1)
    for module in (opened, answers):
        monkeypatch.setattr(module, "MOST_SAMPLED", 20)
    monkeypatch.setattr(answers, "MOST_LISTED", 10)


@pytest.mark.usefixtures("large")
def test_views_of_attention_name_the_sample_that_they_use_of_a_large_run():
    page = open_sets(run="large", view="gap")
    assert not page.exception
    assert "n = 18 answers" in said(page)
    assert "A seeded sample of 18 of the run's 45 answers: 2 of its 5 shards" in said(page)


@pytest.mark.usefixtures("large")
def test_the_least_confident_answers_are_those_of_all_of_a_large_run():
    page = open_sets(run="large", view="answers")
    assert not page.exception
    assert "45 answers, the least confident first, the first 10 of them" in said(page)
    assert "seeded sample" not in said(page)
    uncertainty = opened.open_run(library.runs_folder() / "large").uncertainty("rauq")
    (table,) = page.dataframe
    assert table.value["uncertainty"].tolist() == sorted(uncertainty.tolist(), reverse=True)[:10]


@pytest.mark.parametrize(("view", "picks"), [("picked", True), ("gap", True), ("meaning", False)])
def test_a_view_of_selected_heads_says_if_they_were_not_stored(runs, view, picks):
    make(runs)
    without_picks(make(runs, "older").folder)
    note = "does not store the selected heads of 45 answers"
    assert note not in said(open_sets(run="small", view=view))
    assert (note in said(open_sets(run="older", view=view))) is picks


def test_heads_are_counted_as_they_were_stored(runs):
    folder = make(runs).folder
    change_arrays(folder, 0, lambda arrays: arrays | {"picks": np.full_like(arrays["picks"], 3)})
    assert "head 3 is selected in 100 % of 45 answers" in said(open_sets(run="small", view="picked"))
    assert "head 3 is selected" not in said(open_sets(run="small", view="picked", tokens="fact")).partition("n = ")[0]


@pytest.mark.parametrize(
    ("view", "changes"),
    [
        *((view, {"quality": undefined(12)}) for view in ("best", "bins", "further", "answers")),
        *((view, {"quality": (1.0,) * 12}) for view in ("gap", "meaning")),
        *((view, {"quality": (1.0, 0.0) * 6, "lengths": [1] * 12}) for view in ("best", "gap", "picked")),
        ("best", {"quality": (1.0,)}),
        *(
            (view, {"quality": (0.5,) * 3, "text": HOSTILE, "groups": (HOSTILE, "two")})
            for view in ("heads", "best", "picked")
        ),
    ],
)
def test_no_answers_break_a_view(runs, view, changes):
    make(runs, **changes)
    page = open_sets(run="small", view=view)
    assert not page.exception
    assert not page.error
    assert "n = " in said(page)
    assert "evil.example" not in said(page)


def test_wrong_tokens_of_the_bundled_run_are_ranked_and_compared_with_correct_facts(runs):
    shutil.copytree(BUNDLED, runs / "copy")
    page = open_sets(run="copy", view="tokens")
    assert not page.exception
    words = said(page)
    assert "Low attention of the best head ranks wrong tokens above others" in words
    assert "Of facts at the same place, collapse ranks the wrong ones highest" in words
    assert page.dataframe[0].value["0"].tolist()[:2] == ["Collapse", "1 - probability"]


def test_a_run_whose_wrong_tokens_are_unknown_says_where_they_are_known(runs):
    make(runs, quality=(1.0, 0.0) * 4)
    page = open_sets(run="small", view="tokens")
    assert not page.exception
    assert "No signal can be judged" in said(page)
    assert "names the wrong texts of its answers in a column" in page.text[0].value


def test_a_run_without_answers_says_so(runs):
    make(runs, quality=(), failures=2)
    page = open_sets(run="small")
    assert not page.exception
    assert page.header[0].value == "This run has no answers yet: 2 examples failed"
    assert [link.label for link in page.get("page_link")] == ["Watch or resume this run on the page Runs"]
    assert not page.info
    assert [text.value for text in page.text] == ["out of memory"] * 2


def test_a_damaged_part_is_reported_and_the_rest_is_shown(runs):
    shutil.copytree(BUNDLED, runs / "copy")
    (runs / "copy" / "traces-00001.safetensors").write_bytes(b"no tensors")
    page = open_sets(run="copy", view="bins")
    assert not page.exception
    assert "1 of 6 parts of this run are missing or damaged" in page.warning[0].value
    assert drawn(page) == CHARTS["bins"]


def test_an_unfinished_run_is_not_called_damaged(runs):
    shutil.copytree(BUNDLED, runs / "copy")
    for kind in ("answers-00001.parquet", "traces-00001.safetensors"):
        (runs / "copy" / kind).unlink()
    page = open_sets(run="copy", view="answers")
    assert not page.exception
    assert not page.warning
    assert "This run is not finished: " in page.info[0].value
    assert "of its 814 examples are answered so far" in page.info[0].value
    assert [link.proto.query_string for link in page.get("page_link")] == ["run=copy"]


def test_a_run_that_cannot_be_opened_leaves_the_others_to_choose(runs):
    make(runs)
    make(runs, "torn")
    (runs / "torn" / "manifest.json").write_text("{")
    page = open_sets(run="torn")
    assert not page.exception
    assert page.error[0].value == "This run cannot be used"
    assert [link.proto.query_string for link in page.get("page_link")] == ["run=torn"]
    page.selectbox(key="answer_sets_run").set_value("small").run()
    assert not page.error
    assert page.query_params == {"run": "small"}
    assert drawn(page) == CHARTS["heads"]


@pytest.mark.parametrize("groups", [("one", "two"), ("one",)])
def test_the_ranking_by_a_score_has_the_mean_within_groups_beside_it(runs, groups):
    make(runs, groups=groups)
    words = said(open_sets(run="small", view="meaning"))
    assert "Ranking 45 answers by this score: PRR " in words
    assert ("Mean within groups: PRR " in words) is (len(groups) > 1)


@pytest.mark.usefixtures("small")
def test_a_click_on_a_layer_chooses_it():
    query = {"run": "small", "view": "gap"}
    page = seeded(query, "answers_difference_by_layer", clicked(3))
    assert page.query_params == query  # only a click after the page was drawn
    figure = charts(page)["answers_difference_by_layer"]
    layers = page.selectbox(key="answers_layer").options
    assert [str(layer) for layer in figure["data"][0]["customdata"]] == layers


@pytest.mark.usefixtures("small")
def test_where_no_distance_has_enough_answers_it_is_said():
    page = open_sets(run="small", view="further")
    assert "nothing to compare: fewer than 20 correct or incorrect answers at every distance" in page.header[0].value
    assert "All 6 distances are hidden: each has fewer than 20 correct or incorrect answers." in said(page)
    (text,) = charts(page)["answers_difference_by_offset"]["layout"]["annotations"]
    assert text["text"].startswith("Nothing to draw: no distance has 20")
    assert len(page.dataframe[0].value) == 12  # of the selected head, and of the mean over heads


@pytest.mark.usefixtures("small")
def test_a_link_restores_everything():
    query = {"run": "small", "view": "gap", "layer": "3", "tokens": "fact", "above": "0.5", "group": "one", "k": "3"}
    page = open_sets(**query, alignment="own", offset="2", length="3..6", text="A?")
    assert not page.exception
    assert page.selectbox(key="answers_layer").value == 3
    chosen = {group.key: group.value for group in page.get("button_group")}
    assert (chosen["answers_view"], chosen["answers_tokens"]) == ("gap", "fact")
    assert "selected head of layer 3 " in page.header[0].value
    assert "quality above 0.5" in said(page)
    assert "27 filtered out" in said(page)  # of 45 answers 23 are in the group, and 18 of these are of 3 to 6 tokens
    assert page.query_params == {**query, "alignment": "own", "offset": "2", "length": "3..6", "text": "A?"}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("name", "text"),
    [("view", "all"), ("layer", "99"), ("below", "2"), ("layers", "0.99"), ("layers", "middle_five")],
)
def test_wrong_options_of_a_link_are_corrected_and_reported_once(name, text):
    page = open_sets(run="small", **{name: text})
    assert not page.exception
    assert page.query_params == {"run": "small"}
    assert name in page.toast[0].value
    assert not page.run().toast


@pytest.mark.usefixtures("small")
def test_a_missing_run_is_replaced_by_the_first():
    page = open_sets(run="../../etc")
    assert not page.exception
    assert "no run of that name" in page.toast[0].value
    assert drawn(page) == CHARTS["heads"]


def test_fact_tokens_can_be_chosen_only_where_they_are_known(runs):
    make(runs, facts=False)
    page = open_sets(run="small", tokens="fact")
    assert not page.exception
    switch = next(group for group in page.get("button_group") if group.key == "answers_tokens")
    assert switch.proto.disabled
    assert "Fact tokens are unknown" in switch.help
    assert "tokens" in page.toast[0].value
    assert page.query_params == {"run": "small"}


@pytest.mark.usefixtures("small")
def test_nothing_passes_the_filter():
    page = open_sets(run="small", text="nowhere")
    assert page.header[0].value == "No answer passes the filters"
    assert not page.info
    page.button(key="no_filters").click().run()
    assert drawn(page) == CHARTS["heads"]
    assert page.query_params == {"run": "small"}


@pytest.mark.usefixtures("small")
def test_a_choice_is_written_into_the_url():
    page = open_sets(run="small", view="gap")
    page.selectbox(key="answers_layer").set_value(5).run()
    assert page.query_params == {"run": "small", "view": "gap", "layer": "5"}
    assert "selected head of layer 5 " in page.header[0].value
    next(group for group in page.get("button_group") if group.key == "answers_tokens").set_value("other").run()
    assert page.query_params == {"run": "small", "view": "gap", "layer": "5", "tokens": "other"}
    next(group for group in page.get("button_group") if group.key == "answers_view").set_value("bins").run()
    assert page.query_params["view"] == "bins"
    assert drawn(page) == CHARTS["bins"]


@pytest.mark.usefixtures("small")
def test_the_url_comes_back_with_the_page():
    page = open_sets(run="small", view="picked", tokens="fact")
    page.switch_page("pages/learn.py").run()
    page.query_params.clear()
    page.switch_page("pages/answer_sets.py").run()
    assert page.query_params == {"run": "small", "view": "picked", "tokens": "fact"}
    assert drawn(page) == CHARTS["picked"]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("view", "key"),
    [
        ("best", "answers_best_and_worst"),
        ("gap", "answers_correct_against_incorrect"),
        ("bins", "answers_quality_by_attention"),
        ("meaning", "answers_quality_by_score"),
    ],
)
def test_a_click_opens_the_answer_in_inspect(view, key):
    """Of the group "two", place 3 is the example 7."""
    query = {"run": "small", "view": view, "group": "two", "layer": "3", "alpha": "0.5"}
    page = seeded(query, key, clicked(3))
    assert not page.exception
    assert page.query_params == query | {"number": "7", "from": "answer_sets"}
    assert [area.value for area in page.text_area if area.key == "prompt"] == ["a?"]
    assert len(drawn_views(page)) == 1


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("place", [45, -1, "0"])
def test_a_click_beside_the_answers_does_nothing(place):
    page = seeded({"run": "small", "view": "bins"}, "answers_quality_by_attention", clicked(place))
    assert not page.exception
    assert drawn(page) == CHARTS["bins"]


@pytest.mark.usefixtures("small")
def test_the_table_opens_a_row_and_can_be_saved():
    page = open_sets(run="small", view="answers")
    table = page.dataframe[0].value
    assert table["uncertainty"].is_monotonic_decreasing
    assert sorted(map(number_of, table.iloc)) == list(range(45))
    assert page.button(key="open_answer").disabled
    page = seeded({"run": "small", "view": "answers"}, "answers_table", {"rows": [4], "columns": [], "cells": []})
    page.button(key="open_answer").click().run()
    assert page.query_params["number"] == str(number_of(table.iloc[4]))


@pytest.mark.usefixtures("small")
def test_a_score_is_that_of_the_settings():
    papers = open_sets(run="small", view="answers")
    other = open_sets(run="small", view="answers", alpha="0.9")
    assert "not the paper's setting" not in said(papers)
    assert "alpha 0.9, predicting: not the paper's setting" in said(other)
    assert papers.dataframe[0].value["uncertainty"].iloc[0] != other.dataframe[0].value["uncertainty"].iloc[0]
