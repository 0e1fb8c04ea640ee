"""Thresholds against a count by hand, alarms against a loop over answers and tokens, and their intervals."""

import math
from itertools import chain

import numpy as np
import pytest

from analysis.online.alarms import SPLITS, alarms, halves, thresholds, weights_of, with_interval
from analysis.online.curves import Curves

RATES = (0.1, 0.2)


def curves(size=90, *, effect=0.0, longest=9, seed=0):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest + 1, size)
    correct = rng.choice([0.0, 1.0, math.nan], size, p=[0.4, 0.55, 0.05])
    values = rng.standard_normal((size, longest)) + effect * (correct == 0)[:, None] + np.arange(longest)
    values[np.arange(longest) >= lengths[:, None]] = math.nan
    return Curves(
        values={"rauq": values},
        lengths=lengths,
        correct=correct,
        clusters=rng.permutation(np.arange(size) // 2),
        groups=("",) * size,
    )


def shares(found):
    return np.array([[one.correct, one.incorrect, one.saved] for one in found])


def alone(of, *, by_position=False):
    return shares(alarms(of, of.values["rauq"], np.ones((1, len(of.lengths))), by_position=by_position, rates=RATES))


def by_a_loop(of, level, rate):
    """Shares, where `level` gives the values of an answer before its last token, under what was learned of others."""
    stopped = {"correct": 0, "incorrect": 0, "saved": 0}
    for learned in halves(of.clusters):
        right = [row for row in np.flatnonzero(learned) if of.correct[row] == 1]
        peaks = sorted((max(level(row, right), default=-math.inf) for row in right), reverse=True)
        allowed = int((len(right) + 1) * rate)
        limit = peaks[allowed - 1] if allowed else math.inf
        for row in np.flatnonzero(~learned & np.isfinite(of.correct)):
            above = [place for place, value in enumerate(level(row, right)) if value > limit]
            if above and of.correct[row] == 1:
                stopped["correct"] += 1
            elif above:
                stopped["incorrect"] += 1
                stopped["saved"] += of.lengths[row] - above[0] - 1
    wrong = of.correct == 0
    totals = (of.correct == 1).sum(), wrong.sum(), of.lengths[wrong].sum()
    return [count / SPLITS / total for count, total in zip(stopped.values(), totals, strict=True)]


def test_with_one_threshold_alarms_are_those_of_a_loop():
    of = curves()

    def level(row, _right):
        return of.values["rauq"][row, : of.lengths[row] - 1].tolist()

    np.testing.assert_allclose(alone(of)[..., 0], [by_a_loop(of, level, rate) for rate in RATES])


def test_with_a_threshold_by_position_alarms_are_those_of_a_loop():
    of = curves(longest=5)
    values = of.values["rauq"]

    def there(right, place):
        return [other for other in right if of.lengths[other] - 1 > place]

    def level(row, right):
        found = []
        for place in range(of.lengths[row] - 1):
            last = max(earlier for earlier in range(5) if len(there(right, earlier)) >= 10)
            others = [other for other in there(right, min(place, last)) if other != row]
            compared = values[others, min(place, last)]
            found.append((values[row, place] - compared.mean()) / compared.std())
        return found

    np.testing.assert_allclose(alone(of, by_position=True)[..., 0], [by_a_loop(of, level, rate) for rate in RATES])


@pytest.mark.parametrize(
    ("peaks", "rate", "expected"),
    [
        ([1, 5, 3, 2, 4], 0.2, 5),
        ([1, 5, 3, 2, 4], 0.4, 4),
        ([1, 5, 3, 2], 0.2, 5),
        ([1, 5, 3], 0.2, math.inf),
        ([2, 2, 2, 1], 0.4, 2),
        ([], 0.2, math.inf),
    ],
)
def test_a_threshold_lets_so_many_correct_answers_reach_it_as_may_be_stopped(peaks, rate, expected):
    found = thresholds(np.array([peaks], dtype=float), np.ones((1, len(peaks))), [rate])[0]
    assert found.tolist() == [expected]


def test_an_answer_that_counts_twice_is_there_twice():
    peaks, weights = np.array([[1.0, 5.0, 3.0, 2.0]]), np.array([[1, 2, 0, 3]])
    repeated = np.array([[1.0, 5.0, 5.0, 2.0, 2.0, 2.0]])
    for rate in (0.15, 0.3, 0.45):
        assert thresholds(peaks, weights, [rate]) == thresholds(repeated, np.ones((1, 6)), [rate])
    of = curves()
    times = weights_of(of.clusters, resampled=1)[1].astype(int)
    rows = np.repeat(np.arange(len(times)), times)
    more = Curves(
        values={"rauq": of.values["rauq"][rows]},
        lengths=of.lengths[rows],
        correct=of.correct[rows],
        clusters=of.clusters[rows],
        groups=("",) * len(rows),
    )
    learned = [half[rows] for half in halves(of.clusters)]
    found = shares(alarms(of, of.values["rauq"], times[None].astype(float), rates=RATES))
    with pytest.MonkeyPatch.context() as patch:  # the same halves, though some questions were not drawn
        patch.setattr("analysis.online.alarms.halves", lambda *_args, **_options: learned)
        np.testing.assert_allclose(found, alone(more))


@pytest.mark.parametrize("by_position", [False, True])
def test_without_an_effect_as_many_are_stopped_as_may_be_and_with_one_more_incorrect_answers(by_position):
    none, some = (
        np.mean([alone(curves(seed=seed, effect=effect), by_position=by_position) for seed in range(20)], axis=0)[
            ..., 0
        ]
        for effect in (0.0, 2.0)
    )
    for rate, (correct, incorrect, _) in zip(RATES, none, strict=True):
        assert 0.6 * rate < correct < 1.1 * rate
        assert incorrect == pytest.approx(correct, abs=0.03)
    assert (some[:, 0] < 1.1 * np.array(RATES)).all()
    assert (some[:, 1] > none[:, 1] + 0.1).all()


def test_positions_have_no_say_where_each_has_its_threshold():
    of = curves(300, longest=5)  # ten correct answers of each half at every position
    drifting = of.values["rauq"] + 7 * np.arange(5)
    both = (alarms(of, values, np.ones((1, 300)), by_position=True) for values in (of.values["rauq"], drifting))
    first, second = map(shares, both)
    np.testing.assert_allclose(first, second)


def test_an_answer_that_reaches_a_threshold_is_not_above_it():
    of = curves()
    of.values["rauq"][:] = 1.0
    assert (alone(of) == 0).all()


def test_shares_are_undefined_where_correct_answers_are_too_few_for_the_rate():
    few, more = alarms(curves(size=60), curves(size=60).values["rauq"], np.ones((1, 60)), rates=(0.05, 0.2))
    assert np.isnan([few.correct, few.incorrect, few.saved]).all()
    assert np.isfinite([more.correct, more.incorrect, more.saved]).all()


def test_halves_keep_questions_together_and_come_in_pairs():
    clusters = np.arange(40) // 2
    found = list(halves(clusters, splits=3))
    assert len(found) == 6
    for first, second in zip(found[::2], found[1::2], strict=True):
        assert first.tolist() == (~second).tolist()
        assert first.sum() == 20
        assert first[::2].tolist() == first[1::2].tolist()
    assert len({tuple(half) for half in found}) == 6


def test_questions_are_drawn_with_all_their_answers():
    clusters = np.array([0, 0, 1, 2, 2, 3])
    weights = weights_of(clusters, resampled=50)
    assert weights[0].tolist() == [1] * 6
    assert (weights[:, 0] == weights[:, 1]).all()
    assert (weights[:, [0, 2, 3, 5]].sum(axis=1) == 4).all()
    assert len(set(chain(*weights[1:].tolist()))) > 2


def test_an_interval_is_that_of_the_resampled_values_and_undefined_with_them():
    found = with_interval(np.array([0.3, *np.linspace(0, 1, 1001)]))
    assert found == pytest.approx((0.3, 0.025, 0.975))
    assert np.isnan(with_interval(np.full(5, math.nan))).all()
