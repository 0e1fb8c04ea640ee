"""The threshold that a run gives a monitor: that of a count by hand, what it stopped, and when there is none."""

from functools import cache

import numpy as np
import pytest

from analysis.online.alarms import _allowed, least_correct
from analysis.online.compared import alarm_threshold
from analysis.runs.library import bundled_folder
from analysis.runs.opened import open_run
from analysis.runs.traces import traces_of
from rauq.errors import InvalidInput
from rauq.scoring.online import partial_scores
from tests.analysis.report.made_run import made_run

RATE = 0.1


@cache
def bundled():
    return open_run(bundled_folder())


def highest(trace):
    return max((score.uncertainty for score in partial_scores(trace)[:-1]), default=-np.inf)


def test_the_threshold_stops_so_many_of_the_correct_answers():
    run = bundled()
    correct = np.flatnonzero(run.answers["quality"].to_numpy(float) == 1)
    peaks = np.array([highest(trace) for trace in traces_of(run, correct)])
    found = alarm_threshold(run, rate=RATE)
    assert (peaks >= found.threshold).sum() == int((len(correct) + 1) * RATE)
    assert found.correct.low <= RATE <= found.correct.high
    assert found.incorrect.low > found.correct.high  # RAUQ does tell them apart here


@pytest.mark.parametrize("rate", [0.05, 0.1, 0.15, 0.2, 0.3, 1 / 3, 0.5, 0.9])
def test_the_least_number_of_correct_answers_is_the_first_that_allows_two_in_a_half(rate):
    enough = [count for count in range(200) if _allowed(count / 2, rate) >= 2]
    assert least_correct(rate) == enough[0]


@pytest.mark.parametrize("rate", [0, 1, -0.1, float("nan")])
def test_a_rate_that_is_none_is_refused(rate):
    with pytest.raises(InvalidInput, match="rate must be between 0 and 1"):
        alarm_threshold(bundled(), rate=rate)


@pytest.mark.parametrize(
    ("quality", "said"), [([1.0] * 5 + [0.0] * 5, "5 correct answers, and 38 are needed"), ([1.0] * 45, "no incorrect")]
)
def test_without_enough_answers_there_is_no_threshold(quality, said, tmp_path):
    with pytest.raises(InvalidInput, match=said):
        alarm_threshold(made_run(tmp_path / "run", quality=quality), rate=RATE)
