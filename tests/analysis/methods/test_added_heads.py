"""RAUQ + heads: chosen in other groups only, better where a head knows more than RAUQ, unchanged where none does."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.answer_sets.sides import Sides
from analysis.methods.added_heads import (
    Candidates,
    added_heads,
    added_heads_caption,
    added_heads_sentence,
    added_scores,
    chosen_sentence,
    standardised,
)
from analysis.methods.figures import added_heads_chart, labels_chart
from analysis.quality.judgement import Thresholds

NUM, HEADS = 240, 12


def given(*, informative=(), seed=0):
    """Answers in four groups, with noisy uncertainties and heads of which some attend more where it is correct."""
    rng = np.random.default_rng(seed)
    correct = rng.uniform(size=NUM) < 0.4
    means = rng.uniform(size=(NUM, HEADS))
    for head in informative:
        means[:, head] += 0.8 * correct
    return Candidates(
        uncertainty=rng.normal(size=NUM) - correct,
        length=rng.integers(2, 9, size=NUM).astype(float),
        quality=correct.astype(float),
        sides=Sides(correct, ~correct),
        groups=tuple("abcd"[number % 4] for number in range(NUM)),
        heads=tuple((10 + head // 4, head % 4) for head in range(HEADS)),
        means=means,
        expected=rng.uniform(size=(NUM, HEADS)),
        residual=means,
    )


def found(candidates, k=2, **options):
    return added_heads(candidates, k=k, thresholds=Thresholds(), draws=20, **options)


def test_informative_heads_are_chosen_and_rank_better_than_random_ones():
    result = found(given(informative=(3, 7)))
    assert [head for head, _ in result.chosen] == [(10, 3), (11, 3)]
    assert [count for _, count in result.chosen] == [4, 4]
    assert result.differences["heads"].low > 0
    assert result.combined.value - result.rauq.value == pytest.approx(result.differences["heads"].value)
    assert (result.random < result.differences["heads"].value).mean() > 0.9
    assert result.differences["words"].high < result.differences["heads"].value
    assert "better" in added_heads_sentence(result)
    assert result.over["words"].value == pytest.approx(
        result.differences["heads"].value - result.differences["words"].value
    )
    assert "Compared with RAUQ + the mean over all heads, which needs no labels: +" in added_heads_sentence(result)
    assert chosen_sentence(result).endswith("layer 10 head 3 (4), layer 11 head 3 (4).")
    assert "95 % of 20 draws" in added_heads_caption(result)


def test_heads_that_know_nothing_add_nothing():
    result = found(given())
    assert result.differences["heads"].low <= 0
    assert "better" not in added_heads_sentence(result)


def test_a_group_does_not_choose_its_own_heads():
    """Head 0 knows group a alone and head 5 group b; over both, head 0 is the strongest."""
    own = given()
    groups = tuple("ab"[number % 2] for number in range(NUM))
    in_a, means = np.arange(NUM) % 2 == 0, own.means.copy()
    means[:, 0] += 9.0 * own.sides.correct * in_a
    means[:, 5] += 0.5 * own.sides.correct * ~in_a
    result = found(replace(own, means=means, groups=groups), k=1)
    assert dict(result.chosen) == {(10, 0): 1, (11, 1): 1}
    assert result.differences["heads"].value < 0.1  # each group got the head of the other


def test_the_exported_scale_comes_from_other_groups():
    """In groups of one spread it ranks as the usual one does; what is multiplied in one group counts more there."""
    own = given(informative=(3, 7))
    result = found(own)
    assert result.differences["exported"].value == pytest.approx(result.differences["heads"].value, abs=0.05)
    louder = own.means * np.where(np.array(own.groups) == "a", 100.0, 1.0)[:, None]
    changed = found(replace(own, means=louder))
    assert changed.differences["heads"].value == pytest.approx(result.differences["heads"].value)
    assert changed.differences["exported"].value != pytest.approx(result.differences["exported"].value, abs=0.01)


def test_scores_of_a_group_are_the_same_whatever_its_own_labels_are():
    candidates = given()
    before = added_scores(candidates, k=2)
    own = np.array([name == "a" for name in candidates.groups])
    correct = candidates.sides.correct ^ own
    changed = replace(candidates, sides=Sides(correct, ~correct))
    np.testing.assert_array_equal(added_scores(changed, k=2)[own], before[own])
    assert not np.array_equal(added_scores(changed, k=2)[~own], before[~own])
    alone = replace(candidates, groups=("a",) * NUM)
    assert np.isnan(added_scores(alone, k=2)).all()
    informed = given(informative=(3, 7))
    assert roc_auc(added_scores(informed, k=2), informed.sides) > roc_auc(informed.uncertainty, informed.sides)


def roc_auc(values, sides):
    return (values[sides.incorrect][:, None] > values[sides.correct]).mean()


def test_no_labels_are_needed_to_standardise():
    values = np.array([1.0, 2, 3, 10, 20, 30, 5, np.nan])
    result = standardised(values, list("aaabbbca"))
    np.testing.assert_allclose(result[:3], result[3:6])
    np.testing.assert_allclose(result[:3].std(), 1)
    assert result[6] == 0
    assert np.isnan(result[7])


def test_more_labels_choose_better_and_numbers_beyond_the_answers_are_left_out():
    result = found(given(informative=(3, 7)))
    assert [one.n for one in result.labels] == [30, 50, 100]
    assert result.labels[-1].mean > 0.5 * result.differences["heads"].value
    assert all(one.low <= one.mean <= one.high for one in result.labels)


def test_the_same_seed_gives_the_same_numbers():
    one, other = found(given(informative=(3,))), found(given(informative=(3,)))
    np.testing.assert_array_equal(one.random, other.random)
    assert one.labels == other.labels
    assert one.differences == other.differences


def test_without_expectation_words_have_no_row():
    result = found(replace(given(), expected=None, residual=None))
    assert set(result.differences) == {"heads", "all", "length", "exported"}
    assert len(added_heads_chart(result).data) == 5


@pytest.mark.parametrize(
    ("changes", "k", "reason"),
    [
        ({"groups": ("one",) * NUM}, 2, "only one group"),
        ({"sides": Sides(np.ones(NUM, dtype=bool), np.zeros(NUM, dtype=bool))}, 2, "no incorrect answer"),
        ({}, HEADS + 1, f"there are {HEADS} heads to choose {HEADS + 1} of"),
    ],
)
@pytest.mark.parametrize("dark", [False, True])
def test_what_is_undefined_says_why(changes, k, reason, dark):
    result = found(replace(given(), **changes), k=k)
    assert reason in result.reason
    assert np.isnan([result.rauq.value, result.combined.value]).all()
    assert reason in added_heads_sentence(result)
    assert (added_heads_caption(result), chosen_sentence(result)) == ("Ours, not the paper's.", "")
    for figure in (added_heads_chart(result, dark=dark), labels_chart(result, dark=dark)):
        assert not figure.data
        assert reason in figure.layout.annotations[0].text


def test_the_figures_draw_every_difference():
    result = found(given(informative=(3, 7)))
    figure = added_heads_chart(result)
    assert [name.text for name in [] or figure.layout.annotations] == []
    assert list(figure.layout.yaxis.ticktext)[:2] == ["<b>2 chosen heads</b>", "2 random heads"]
    drawn = [trace.x[0] for trace in figure.data]
    others = [result.differences[name].value for name in ("words", "residual", "all", "length", "exported")]
    np.testing.assert_allclose(drawn, [result.differences["heads"].value, result.random.mean(), *others])
    line = labels_chart(result).data[0]
    assert list(line.x) == ["30", "50", "100"]
    np.testing.assert_allclose(line.y, [one.mean for one in result.labels])


def caused_by(cause, seed):
    """Answers whose heads follow their length, or what their words say, as correctness does, and nothing else."""
    own, rng = given(seed=seed), np.random.default_rng(seed + 100)
    cause_of = own.length if cause == "length" else rng.normal(size=NUM)
    correct = rng.uniform(size=NUM) < 1 / (1 + np.exp(-(cause_of - cause_of.mean())))
    noise = rng.normal(size=(NUM, HEADS))
    words = cause_of[:, None] if cause == "words" else rng.normal(size=(NUM, HEADS))
    about = {"sides": Sides(correct, ~correct), "quality": correct.astype(float), "uncertainty": rng.normal(size=NUM)}
    expected = words + rng.normal(size=(NUM, HEADS))
    return replace(own, **about, means=cause_of[:, None] + 0.3 * noise, expected=expected, residual=noise)


@pytest.mark.parametrize("cause", ["length", "words"])
def test_what_length_or_words_explain_is_no_gain_of_heads(cause):
    results = [added_heads(caused_by(cause, seed), k=2, thresholds=Thresholds(), draws=1) for seed in (1, 2)]
    for result in results:
        assert result.differences["heads"].low > 0
        assert result.matched_by
        assert not result.is_gain
        assert "better, but not significantly better than RAUQ + the" in added_heads_sentence(result)
    assert found(given(informative=(3, 7))).is_gain


@pytest.mark.parametrize("are_longer", [True, False])
def test_length_is_added_to_rauq_where_incorrect_answers_are_longer(are_longer):
    own = given()
    rank = own.length + np.random.default_rng(9).normal(size=NUM)
    correct = (rank < 5) == are_longer
    about = {"sides": Sides(correct, ~correct), "quality": correct.astype(float)}
    difference = found(replace(own, **about)).differences["length"]
    assert (difference.low > 0) == are_longer
    assert (difference.high < 0) != are_longer


def test_questions_of_a_group_choose_no_heads_for_it():
    own = given(informative=(3,))
    shared = np.arange(NUM) // 2  # each question in two groups: only the other two can choose
    result = found(replace(own, clusters=shared), k=1)
    assert [one.n for one in result.labels] == [30, 50, 100]
    assert result.chosen == (((10, 3), 4),)
    alone = replace(own, clusters=np.arange(NUM) // 4)  # in all four groups: none can
    assert not found(alone, k=1).chosen
