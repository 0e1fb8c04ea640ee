"""What the first screen compares a score with, a table at once or a run after the page is drawn, and what it says."""

import json
import os
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

import rauq
from analysis.calibration import share_halves
from analysis.one_answer.likeness import why_unlike
from analysis.one_answer.standing import rank_in_words, standing, worth_in_words
from analysis.runs import library
from analysis.runs.job import Status, only_job, read_status, write_status
from analysis.runs.opened import open_run
from analysis.runs.reference import reference_scores
from pages.ui.inspect.reference import (
    FEWER_LAYERS,
    NO_REFERENCE,
    OF_ATTENTION,
    OTHER_PART,
    OTHER_SETTING,
    TABLE,
    UNDEFINED,
    Reference,
    calibration,
    judged_payload,
    separates_best,
    table,
)
from pages.ui.inspect.verdict import Said, Verdict
from rauq.recorded.answers import find_recorded, load_recorded
from rauq.recorded.scores import WRITTEN, scores_of
from rauq.scoring.score import score
from rauq.scoring.shown import show_head
from tests.imports import MODELS, imported_after
from tests.pages.reading import open_page, views
from tests.pages.sets import make
from tests.traces import as_lig, make_trace

SLOW = ("analysis.runs", "analysis.one_answer.figures", "analysis.exports")  # pandas is Streamlit's own

pytestmark = pytest.mark.usefixtures("no_model")


def judged(page):
    assert not page.exception
    return views(page)["judged"]


def standing_of(page):
    return judged(page)["standing"]


def rank_in(scores, uncertainty):
    return rank_in_words(standing(uncertainty, np.array(scores.uncertainties), np.array(scores.correct)))


@pytest.fixture
def recorded_page(monkeypatch, tmp_path):
    """A recorded answer, with the runs that came with the app and no other."""
    monkeypatch.setenv(library.FOLDER_VARIABLE, str(tmp_path / "none"))
    return lambda name, **query: open_page("inspect", example=name, **query)


def trace_of(run):
    """An answer of the model of a made-up run."""
    return make_trace(model="a", revision=run.answerer.revision)


@pytest.mark.parametrize(("example", "query"), [("canberra", {}), ("canberra", {"alpha": "0.5"}), ("bern", {})])
def test_the_first_paint_reads_no_run(example, query):
    code = (
        "from streamlit.testing.v1 import AppTest\n"
        "import pages.ui.inspect.layout as layout\n"
        "layout.finish_reference = lambda *_: None\n"
        "page = AppTest.from_file('app.py', default_timeout=60)\n"
        f"for name, value in {query | {'example': example}!r}.items(): page.query_params[name] = value\n"
        "page.run()\n"
        "assert not page.exception and len(page.get('bidi_component')) == 3\n"
    )
    assert imported_after(code, (*SLOW, *MODELS)) == []


def test_under_other_settings_the_bundled_run_is_scored_again(recorded_page):
    trace, bundled = find_recorded("canberra").trace(), open_run(library.bundled_folder())
    usual = standing_of(recorded_page("canberra"))
    assert "the table that came with the app" in usual["about"]
    found = judged(recorded_page("canberra", alpha="0.3", layers="all"))
    assert found["standing"] == {"reason": FEWER_LAYERS.format("smollm2-facts")}
    for query, settings in (
        ({"alpha": "0.3"}, rauq.Settings(alpha=0.3)),
        ({"signal": "probability"}, rauq.Settings(signal="probability")),
        ({"alignment": "own"}, rauq.Settings(alignment="own")),
    ):
        found, expected = judged(recorded_page("canberra", **query)), reference_scores(bundled, settings)
        assert "the run smollm2-facts" in found["standing"]["about"]
        assert found["standing"]["rank"] == rank_in(expected, score(trace, settings).uncertainty)
        assert found["underline"] == expected.token_collapse
        assert (found["heads"] is None) is (settings.alignment == "own")


def test_a_model_without_run_or_table_is_told_how_to_get_one(open_app, runs):
    page = open_app(make_trace())
    assert standing_of(page) == {"reason": NO_REFERENCE}
    assert views(page)["judged"]["wanting"]
    assert not runs.exists()


def test_a_table_without_a_run_is_for_the_papers_setting(recorded_page):
    assert "rank" in standing_of(recorded_page("myth"))
    assert standing_of(recorded_page("myth", alpha="0.5")) == {"reason": OTHER_SETTING}


@pytest.fixture
def two(runs):
    make(runs)
    return make(runs, "third", quality=(1.0, 0.0) * 30)


def test_attributions_are_not_ranked_among_attention(open_app, two):
    trace = trace_of(two)
    assert "rank" in standing_of(open_app(trace))
    assert standing_of(open_app(as_lig(trace))) == {"reason": OF_ATTENTION}


def test_the_first_fitting_run_is_taken_and_another_one_is_remembered(open_app, two, runs):
    first, trace = open_run(runs / "small"), trace_of(two)
    uncertainty = score(trace).uncertainty
    found = standing_of(open_app(trace))
    assert found["rank"] == rank_in(reference_scores(first, rauq.Settings()), uncertainty)
    assert "the run small" in found["about"]
    page = open_app(trace, reference="third")
    assert standing_of(page)["rank"] == rank_in(reference_scores(two, rauq.Settings()), uncertainty)
    assert page.query_params["reference"] == "third"


@pytest.mark.parametrize("name", ["gone", "../small", "", TABLE])
def test_a_run_of_a_link_that_fits_nothing_is_ignored(open_app, two, name):
    page = open_app(trace_of(two), reference=name)
    assert "the run small" in standing_of(page)["about"]
    assert "reference" not in page.query_params


@pytest.mark.usefixtures("two")
def test_an_answer_of_a_run_is_compared_with_that_run(open_app):
    assert "the run third" in standing_of(open_app(run="third", number="0"))["about"]
    assert "the run small" in standing_of(open_app(run="third", number="0", reference="small"))["about"]


def test_runs_of_other_weights_or_kind_and_runs_at_work_do_not_fit(open_app, two, runs):
    trace = trace_of(two)
    for other in (replace(trace, revision="1"), replace(trace, kind="instruct"), replace(trace, model="b")):
        assert standing_of(open_app(other)) == {"reason": NO_REFERENCE}
    with held(runs / "small"):
        assert "the run third" in standing_of(open_app(trace))["about"]


def test_the_run_chosen_last_takes_over_when_its_job_has_ended(open_app, two, runs):
    page = open_app(trace_of(two), reference="small")
    page.session_state["_reference_chosen"] = {("a", "0", "base"): ("third", "small")}
    finished = read_status(runs / "third")
    with held(runs / "third"):
        page = page.run()
        assert "the run small" in standing_of(page)["about"]
        assert page.query_params["reference"] == "small"
    write_status(runs / "third", finished)
    assert "the run third" in standing_of(page.run())["about"]


def test_what_a_run_cannot_be_compared_with_is_said(open_app, two, runs):
    all_layers = open_app(trace_of(two), layers="all")
    assert standing_of(all_layers) == {"reason": FEWER_LAYERS.format("small")}
    thinking = replace(trace_of(two), thinking=(0, 2))
    assert standing_of(open_app(thinking, part="thinking")) == {"reason": OTHER_PART}
    (runs / "small" / "examples.parquet").write_bytes(b"")
    assert "cannot be read" in standing_of(open_app(trace_of(two)))["reason"]


def held(folder):
    """A run whose job is at work."""
    write_status(folder, Status(state="answering", total=46, saved=46, failed=1, pid=os.getpid()))
    return only_job(folder)


OWN = rauq.Settings(alignment="own")
NONE = Reference(reason="No rank: there is nothing to compare with.")


def payload(trace, settings=None, *, reference=None, verdict=None):
    scored, is_correct = score(trace, settings), Verdict(verdict=verdict).is_correct
    return judged_payload(trace, scored, reference or table(trace, scored) or NONE, is_correct=is_correct)


@pytest.mark.parametrize("recorded", load_recorded(), ids=lambda one: one.id)
def test_a_recorded_answer_has_the_rank_of_its_score(recorded):
    trace = recorded.trace()
    found = payload(trace)
    kept = scores_of(trace)
    if kept is None:
        assert found["standing"] == {"reason": NONE.reason}
        assert (found["underline"], found["underlineNote"], found["worth"]) == (None, "", "")
        return
    expected = standing(score(trace).uncertainty, np.array(kept.uncertainties), np.array(kept.correct))
    assert found["standing"]["rank"] == rank_in_words(expected)
    assert found["standing"]["against"] == ""
    said = {verdict for verdict in get_args(Said) if payload(trace, verdict=verdict)["standing"]["against"]}
    is_extreme = {"correct": expected.percentile >= 75, "incorrect": expected.percentile < 25}
    assert said == {verdict for verdict in is_extreme if is_extreme[verdict]}
    near, fitted = share_halves(calibration(kept), score(trace).uncertainty)
    unlike, nearest, how = why_unlike(trace, kept), found["standing"]["nearest"], found["standing"]["how"]
    assert (nearest, how) == (unlike, "") if unlike else nearest.startswith(near)
    assert unlike or how.startswith(fitted)
    assert unlike or ("unclear" in how) == (kept.unclear > 0)
    assert f"the table that came with the app, answers of {kept.model}" in found["standing"]["about"]
    json.dumps(found, allow_nan=False)


def test_the_reference_says_which_words_are_underlined_and_what_a_weak_point_is_worth():
    trace = find_recorded("canberra").trace()
    kept, found = scores_of(trace), payload(trace)
    assert found["underline"] == kept.token_collapse
    assert f"beyond {kept.token_collapse:.2f} nats" in found["underlineNote"]
    assert found["worth"] == worth_in_words(kept.weak_point)


@pytest.mark.parametrize(("written", "longer"), [(False, 0), (False, 1), (True, 0), (True, 1)])
def test_a_written_answer_longer_than_all_of_the_reference_has_a_rank_and_no_share(written, longer):
    kept = scores_of(find_recorded("canberra").trace(), WRITTEN if written else None)
    length = kept.longest + longer
    trace = make_trace((b" a",) * length, answer_ids=np.arange(length), vocab_size=100)
    found = payload(trace, reference=Reference(scores=kept, name="the run mine"))["standing"]
    reason = "No share of correct answers: this answer is longer (28 tokens) than all of these (at most 27)."
    assert (found["nearest"] == reason) is (written and longer == 1)
    assert ("By a curve fitted to all" in found["how"]) is not (written and longer == 1)
    assert f"{len(kept.correct):,} " in found["rank"]
    assert found["about"].startswith("Reference: the run mine, ")


def test_heads_of_the_reference_are_those_of_its_table_and_only_for_their_alignment():
    trace = find_recorded("canberra").trace()
    found, kept = payload(trace)["heads"], scores_of(trace).heads
    assert found["auc"] == [value for row in kept.auc for value in row]
    assert found["chance"] == kept.chance
    assert len(found["inCorrect"]) == len(trace.layers) * trace.num_heads
    assert f"{0.5 - kept.chance:.2f} to {0.5 + kept.chance:.2f}" in found["caption"]
    assert len(found["caption"].split()) <= 45
    assert payload(trace, rauq.Settings(alignment="own"))["heads"] is None
    without = Reference(scores=replace(scores_of(trace), heads=None), name="the run mine")
    assert payload(trace, reference=without)["heads"] is None


@pytest.mark.parametrize("name", ["canberra", "myth"])
def test_each_reference_that_came_with_the_app_has_heads(name):
    assert payload(find_recorded(name).trace())["heads"]["auc"]


def test_an_answer_with_some_of_the_layers_gets_their_heads():
    """As one of a run, which stores the middle layers."""
    whole = find_recorded("canberra").trace()
    middle = replace(whole, layers=whole.layers[10:21], attention=whole.attention[10:21])
    found, all_heads = payload(middle)["heads"], payload(whole)["heads"]
    first, last = 10 * whole.num_heads, 21 * whole.num_heads
    assert found["auc"] == all_heads["auc"][first:last]
    assert found["inCorrect"] == all_heads["inCorrect"][first:last]
    assert separates_best(score(middle), middle) == separates_best(score(whole), whole) is not None
    foreign = replace(whole, layers=tuple(layer + 20 for layer in whole.layers), num_layers=60)
    assert scores_of(whole).heads.of(foreign.layers, foreign.num_heads) is None


@pytest.mark.parametrize("settings", [rauq.Settings(heads="top5"), rauq.Settings(heads="mean"), OWN])
def test_without_one_head_a_layer_from_the_rule_none_is_said_to_separate_best(settings):
    trace = find_recorded("canberra").trace()
    assert separates_best(score(trace, settings), trace) is None


def test_what_is_said_of_the_reference_is_of_the_heads_that_give_its_scores():
    """How much collapse is much, and what a weak point is worth, is not known of another head."""
    trace = find_recorded("canberra").trace()
    scored = score(trace)
    found = judged_payload(trace, show_head(trace, scored, scored.layer + 1, 0), table(trace, scored))
    assert (found["underline"], found["underlineNote"], found["worth"]) == (None, "", "")
    assert found["standing"] == payload(trace)["standing"]


def test_heads_do_not_depend_on_alpha_so_those_of_the_table_stay():
    trace = find_recorded("canberra").trace()
    found = payload(trace, rauq.Settings(alpha=0.5))
    assert found["standing"] == {"reason": NONE.reason}
    assert found["heads"] == payload(trace)["heads"]
    assert found["underline"] is None


@pytest.mark.parametrize("settings", [rauq.Settings(alpha=0.5), rauq.Settings(signal="probability")])
def test_the_table_is_only_for_the_setting_it_was_made_with(settings):
    trace = find_recorded("canberra").trace()
    assert table(trace, score(trace, settings)) is None
    assert table(trace, score(trace, rauq.Settings(signal="entropy", alpha=0.9))).scores == scores_of(trace)


def test_a_reference_that_is_being_read_is_waited_for():
    trace = make_trace()
    waiting = Reference(run="mine", reason="Comparing with the run mine …", pending=True)
    assert payload(trace, reference=waiting)["standing"] == {"reason": waiting.reason, "pending": True}


def test_an_undefined_score_has_no_rank(monkeypatch):
    trace = find_recorded("canberra").trace()
    monkeypatch.setattr("pages.ui.inspect.reference.standing", lambda *_: None)
    assert payload(trace)["standing"] == {"reason": UNDEFINED}
