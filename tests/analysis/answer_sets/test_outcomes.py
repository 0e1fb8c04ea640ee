"""How many answers are correct, incorrect, unclear, left out or without quality: counted once, and said in words."""

import numpy as np
import pandas as pd
import pytest

from analysis.answer_sets.outcomes import Outcomes, about_outcomes, outcomes, outcomes_in_words
from analysis.quality.judgement import Thresholds
from analysis.runs.files.corrections import read_corrections
from analysis.runs.opened import open_run
from analysis.runs.verdicts import correct_verdict, leave_out
from tests.analysis.report.made_run import made_run

EVERY = Outcomes(
    answers=20, correct=4, incorrect=1, between=3, unclear=5, left_out=1, undefined=(("no reference", 4), ("empty", 2))
)


def test_every_answer_is_counted_once(tmp_path):
    quality = [1.0, 0.0, 0.5, np.nan, 1.0, 1.0, np.nan]
    run = made_run(tmp_path / "run", quality=quality, unclear=(4, 5))
    found = outcomes(run.answers, Thresholds())
    assert found == Outcomes(answers=7, correct=1, incorrect=1, between=1, unclear=2, undefined=(("no reference", 2),))
    assert found.correct + found.incorrect + found.between + found.unclear + found.without_quality == found.answers


def test_an_answer_that_is_read_is_unclear_no_more(tmp_path):
    run = made_run(tmp_path / "run", quality=[1.0, 0.0, 1.0, 1.0], unclear=(1, 2, 3))
    correct_verdict(run, 1, correct=True)
    leave_out(run, 2)
    found = outcomes(open_run(run.folder).answers, Thresholds())
    assert (found.correct, found.unclear, found.left_out, found.without_quality) == (2, 1, 1, 0)
    assert len(read_corrections(run.folder)) == 2
    correct_verdict(run, 2, correct=None)
    assert outcomes(open_run(run.folder).answers, Thresholds()).unclear == 2


def test_what_occurs_is_said_with_its_reasons():
    assert outcomes_in_words(EVERY) == (
        "20 answers: 4 correct, 1 incorrect, 3 between, 5 unclear, 1 left out by hand, 6 without quality "
        "(4 no reference; 2 empty)"
    )
    assert about_outcomes(EVERY, Thresholds(), filtered_out=1, failed=5) == (
        "n = 20 answers: 4 correct (quality above 0.9), 1 incorrect (below 0.1), 3 between, 1 left out by hand, "
        "6 without quality. 5 unclear answers are not counted. Not shown: 1 filtered out, 5 failed."
    )


def test_what_does_not_occur_is_not_said():
    none = Outcomes(answers=1, correct=1, incorrect=0, between=0)
    assert outcomes_in_words(none) == "1 answer: 1 correct, 0 incorrect"
    said = "n = 1 answer: 1 correct (quality above 0.9), 0 incorrect (below 0.1)."
    assert about_outcomes(none, Thresholds()) == said


def test_only_the_most_frequent_reasons_are_named():
    reasons = [reason for count, reason in enumerate("abcde", 1) for _ in range(count)]
    table = pd.DataFrame({"quality": np.nan, "quality_reason": reasons, "unclear": False, "corrected": False})
    words = outcomes_in_words(outcomes(table, Thresholds()))
    assert words.endswith("15 without quality (5 e; 4 d; 3 c; 3 for other reasons)")


@pytest.mark.parametrize(("correct", "between", "told"), [(22, 18, True), (22, 0, False)])
def test_thresholds_are_named_where_they_leave_a_side_empty(correct, between, told):
    found = Outcomes(answers=correct + between, correct=correct, incorrect=0, between=between)
    assert ("Change the thresholds" in about_outcomes(found, Thresholds())) == told
    assert "Change the thresholds" not in about_outcomes(found, Thresholds(), can_move_thresholds=False)
