"""Descriptions of a run: correct numbers in readable words."""

from dataclasses import replace

import pytest

from analysis.datasets.example import DataSet, Example
from analysis.quality.measures import MEASURES
from analysis.runs.job import Status
from pages.ui.host.session_runs import counted, duration, progress_in_words
from pages.ui.runs.listing import about_request
from pages.ui.runs.new_run import about_measure
from tests.pages.sets import make


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.2, "0 s"), (59.4, "59 s"), (59.6, "1 min"), (61, "1 min"), (3599, "1 h 0 min"), (12_010, "3 h 20 min")],
)
def test_a_duration(seconds, said):
    assert duration(seconds) == said


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (Status(state="finished", total=1, saved=1), "1 answer"),
        (Status(state="finished", total=1, saved=1, failed=1), "0 answers, 1 failed"),
        (Status(state="stopped", total=2000, saved=1200, failed=3), "1,197 of 2,000 answers, 3 failed"),
        (Status(state="answering", total=9, saved=4, in_works=2), "6 of 9 answers"),
    ],
)
def test_answers_are_counted_without_those_that_failed(status, said):
    assert counted(status) == said


def test_speed_and_time_left_are_shown_only_for_a_running_job():
    numbers = {"total": 100, "saved": 40, "answered": 40, "tokens": 800, "seconds": 20.0}
    assert progress_in_words(Status(state="answering", **numbers)) == "40 of 100 answers, 40 tokens/s, about 30 s left"
    assert progress_in_words(Status(state="stopped", **numbers)) == "40 of 100 answers"
    assert progress_in_words(Status(state="loading", total=100)) == "0 of 100 answers"


def test_a_measure_says_which_examples_lack_what_it_needs():
    whole = Example(id="0", prompt="?", references=("a",), source="b", quality=1.0, group="c")
    bare = Example(id="1", prompt="?")
    for measure in MEASURES.values():
        assert "undefined" not in about_measure(measure, DataSet(name="", examples=(whole,)))
        lacks = bool({"references", "source", "quality", "group"} & set(measure.needs))
        assert ("undefined" in about_measure(measure, DataSet(name="", examples=(whole, bare)))) is lacks
    both = about_measure(MEASURES["comet"], DataSet(name="", examples=(whole, bare)))
    assert "1 of 2 have no references and 1 of 2 have no source: the quality of their answers is undefined." in both


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (0, "\nAt most 128 new tokens, batches of 8\n"),
        (3, "\n3 answers come from the data set; the others have at most 128 new tokens, batches of 8\n"),
        (45, "\nAll answers come from the data set; none is generated, batches of 8\n"),
    ],
)
def test_the_longest_answer_is_named_only_where_answers_are_generated(tmp_path, given, said):
    made = make(tmp_path)
    reasons = ["given"] * given + ["eos"] * (45 - given)
    run = replace(made, answers=made.answers.assign(stop_reason=reasons))
    assert said in about_request(run.manifest, run)
