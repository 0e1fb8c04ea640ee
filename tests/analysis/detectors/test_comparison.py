"""Detectors beside the same classifier on words, length and group: a planted signal is found, and noise is not."""

import re
from dataclasses import replace

import numpy as np
import pytest

from analysis.answer_sets.sides import Sides
from analysis.detectors import fit
from analysis.detectors.comparison import (
    NAMES,
    SPLITS,
    Judgement,
    Labelled,
    detectors,
    detectors_caption,
    detectors_cells,
    detectors_sentence,
    detectors_table,
    table_caption,
)
from analysis.detectors.figures import detectors_chart
from analysis.quality.judgement import Thresholds
from analysis.stats import Estimate

NUM, HEADS = 240, 12
GROUP = np.arange(NUM) % 4


def given(*, heads=0.0, rauq=0.0, word=False, seed=0, correct=None):
    rng = np.random.default_rng(seed)
    correct = rng.uniform(size=NUM) < 0.4 if correct is None else correct
    means = rng.uniform(size=(NUM, HEADS))
    means[:, 3] += heads * correct
    told = ["right" if own and word else "left" for own in correct]
    return Labelled(
        uncertainty=rng.normal(size=NUM) - rauq * correct,
        means=means,
        length=rng.integers(2, 9, size=NUM).astype(float),
        texts=tuple(f"question {place}\n{own} word{rng.integers(20)}" for place, own in enumerate(told)),
        questions=tuple(f"question {place}" for place in range(NUM)),
        groups=tuple("abcd"[own] for own in GROUP),
        quality=correct.astype(float),
        sides=Sides(correct, ~correct),
    )


def found(labelled):
    return detectors(labelled, thresholds=Thresholds())


def within(result, split, name):
    return result.judged[split][name].within


@pytest.fixture(scope="module", autouse=True)
def _few_penalties():
    """The tests of the fit try all of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit, "STRENGTHS", (0.1, 1.0))
        yield


@pytest.fixture(scope="module")
def informative():
    return found(given(heads=0.6))


@pytest.fixture(scope="module")
def noise():
    return found(given())


def test_a_head_that_knows_is_found_on_unseen_questions_and_in_groups_left_out(informative):
    for split in SPLITS:
        assert within(informative, split, "heads").low > 0.5
        assert within(informative, split, "heads_rauq").low > 0.5
        assert within(informative, split, "words").low < 0.2
        assert within(informative, split, "rauq") == within(informative, "questions", "rauq")
    said = detectors_sentence(informative)
    assert said.count("Heads rank better (+") == 2
    assert said.startswith("Unseen questions: PRR within groups 0.")


def test_pure_noise_has_intervals_that_hold_0(noise):
    for split in SPLITS:
        for name in ("rauq", "heads", "heads_rauq"):
            one = within(noise, split, name)
            assert one.low <= 0 <= one.high, (split, name)
    said = detectors_sentence(noise)
    assert re.search(r"(Words alone do as well|No significant difference) \(", said)
    assert re.search(r"(RAUQ alone does as well|No significant difference) \(", said)


def test_what_words_tell_is_not_taken_for_attention():
    result = found(given(heads=0.3, word=True))
    assert within(result, "questions", "words").value > 0.9
    assert "Words alone rank better (−" in detectors_sentence(result)


def test_a_group_is_known_by_its_name_only_where_it_was_seen():
    correct = np.random.default_rng(3).uniform(size=NUM) < np.array([0.1, 0.3, 0.6, 0.9])[GROUP]
    result = found(given(correct=correct))
    assert result.judged["questions"]["group"].all.low > 0.3
    assert result.judged["groups"]["group"].all.high < 0
    assert within(result, "questions", "group").low <= 0 <= within(result, "questions", "group").high
    assert within(result, "groups", "group").value == pytest.approx(0)


def test_a_head_that_turns_around_between_groups_is_no_use_where_a_group_is_left_out():
    own = given(seed=4)
    turned = own.means.copy()
    turned[:, 3] += np.where(own.sides.correct, 1.0, 0.0) * np.array([1, 1, 1, -1])[GROUP]
    result = found(replace(own, means=turned))
    assert within(result, "groups", "heads").value < within(result, "questions", "heads").value


def test_differences_are_paired_and_of_all_heads_and_rauq(informative):
    for split in SPLITS:
        judged = informative.judged[split]
        for minus, other in ((informative.minus_words, "words"), (informative.minus_rauq, "rauq")):
            for over in ("all", "within"):
                values = [getattr(judged[name], over).value for name in ("heads_rauq", other)]
                assert getattr(minus[split], over).value == pytest.approx(values[0] - values[1])


def test_the_same_answers_give_the_same_numbers(noise):
    again = found(given())
    assert again.judged == noise.judged
    assert again.minus_words == noise.minus_words


def test_tables_figure_and_captions_hold_all_of_it(informative):
    cells, table = detectors_cells(informative), detectors_table(informative)
    assert list(cells["Detector"]) == list(NAMES.values())
    assert list(cells.columns[1:]) == [
        *("Unseen questions, all answers", "Unseen questions, within groups"),
        *("Groups left out, all answers", "Groups left out, within groups"),
    ]
    assert len(table) == len(NAMES) * 4
    assert table["prr"].tolist()[0] == informative.judged["questions"]["rauq"].all.value
    figure = detectors_chart(informative)
    assert [note.text for note in figure.layout.annotations] == ["unseen questions", "groups left out"]
    assert len(figure.data) == 2 * len(NAMES)
    assert "240 answers, 12 heads." in table_caption(informative)
    assert all(len(text.split()) <= 45 for text in (detectors_caption(informative), table_caption(informative)))


@pytest.mark.parametrize(
    ("low", "value", "high", "said"),
    [
        (0.1, 0.2, 0.3, "Heads rank better (+0.20 [0.10, 0.30])."),
        (-0.1, 0.1, 0.3, "No significant difference (+0.10 [−0.10, 0.30])."),
        (-0.3, -0.1, 0.1, "Words alone do as well (−0.10 [−0.30, 0.10])."),
        (-0.3, -0.2, -0.1, "Words alone rank better (−0.20 [−0.30, −0.10])."),
    ],
)
def test_the_verdict_follows_the_interval(informative, low, value, high, said):
    change = Estimate(value, low, high, NUM, 0)
    minus = {**informative.minus_words, "questions": Judgement(change, change)}
    assert said in detectors_sentence(replace(informative, minus_words=minus))


def test_one_group_is_judged_on_unseen_questions_alone():
    result = found(replace(given(heads=1.0), groups=("one",) * NUM))
    assert result.judged["questions"]["heads"].all.low > 0.5
    assert "Groups left out: undefined, there is only one group to leave out." in detectors_sentence(result)
    assert "within groups" not in detectors_sentence(result) + detectors_caption(result)
    cells = detectors_cells(result)
    assert list(cells["Groups left out, all answers"]) == ["–"] * len(NAMES)
    assert len(detectors_chart(result, dark=True).data) == len(NAMES)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"sides": Sides(np.zeros(NUM, bool), np.zeros(NUM, bool))}, "no answer has a verdict, attention and a score"),
        ({"sides": Sides(np.ones(NUM, bool), np.zeros(NUM, bool))}, "fewer than 5 correct or incorrect answers"),
        ({"questions": ("same",) * NUM}, "all answers are to one question"),
        ({"uncertainty": np.full(NUM, np.nan)}, "no answer has a verdict"),
    ],
)
def test_what_is_undefined_says_why(changes, reason):
    result = found(replace(given(), **changes))
    assert reason in detectors_sentence(result)
    assert detectors_table(result).empty
    assert (detectors_cells(result).iloc[:, 1:] == "–").all(axis=None)
    assert reason in detectors_chart(result).layout.annotations[0].text


def test_answers_that_lack_something_are_left_out_and_counted():
    own = given(heads=1.0)
    means, uncertainty = own.means.copy(), own.uncertainty.copy()
    means[:3, 5], uncertainty[7] = np.nan, np.nan
    result = found(replace(own, means=means, uncertainty=uncertainty))
    assert (result.num_answers, result.excluded) == (NUM - 4, 4)
    assert "4 without verdict, attention or score are left out." in table_caption(result)
