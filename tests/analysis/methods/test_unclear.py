"""What unclear answers could change in the ranking of methods, against rankings of tables without unclear answers."""

import numpy as np
import pandas as pd
import pytest

from analysis.methods.comparison import compare, groups_of
from analysis.methods.tables import methods_table
from analysis.methods.unclear import (
    comparison_bounds,
    comparison_bounds_sentences,
    score_bounds,
    score_bounds_sentence,
    with_bounds,
)
from analysis.quality.judgement import Thresholds
from analysis.stats import prr, roc_auc
from rauq.labels import number

METHODS, GROUPS = ("rauq", "msp"), ("a", "b")
COUNT = 40


def table(num_unclear=8):
    rng = np.random.default_rng(0)
    quality = rng.integers(2, size=COUNT).astype(float)
    unclear = np.arange(COUNT) >= COUNT - num_unclear
    return pd.DataFrame(
        {
            "quality": np.where(unclear, np.nan, quality),
            "unclear": unclear,
            "group": [GROUPS[place % 2] for place in range(COUNT)],
            "rauq": rng.normal(size=COUNT) - quality,
            "msp": rng.normal(size=COUNT),
        }
    )


@pytest.mark.parametrize(("metric", "compute"), [("prr", prr), ("roc_auc", roc_auc)])
def test_bounds_are_the_metric_of_all_answers_with_either_verdict(metric, compute):
    answers = table()
    groups = groups_of(answers["group"])
    found = comparison_bounds(answers, METHODS, groups, metric=metric, thresholds=Thresholds())
    for value, side in ((1.0, found.correct), (0.0, found.incorrect)):
        quality = answers["quality"].fillna(value).to_numpy()
        for method, one in zip(METHODS, side.of_group("all"), strict=True):
            assert one.value == pytest.approx(compute(answers[method].to_numpy(), quality))
            assert one.n == COUNT
        halves = [slice(0, None, 2), slice(1, None, 2)]  # the rows of each group
        means = [
            np.mean([compute(answers[method].to_numpy()[own], quality[own]) for own in halves]) for method in METHODS
        ]
        assert [one.value for one in side.of_group("mean within groups")] == pytest.approx(means)


def test_the_sentences_and_the_columns_say_the_same():
    answers = table()
    groups = groups_of(answers["group"])
    asked = {"metric": "prr", "thresholds": Thresholds()}
    bounds = comparison_bounds(answers, METHODS, groups, **asked)
    frame = with_bounds(methods_table(compare(answers, METHODS, groups, **asked)), bounds)
    overall, within = comparison_bounds_sentences(bounds)
    for sentence, place, heading in (
        (overall, "over all answers", "PRR of all"),
        (within, "within groups", "mean PRR within groups"),
    ):
        correct, incorrect = (
            number(frame[f"{heading}, unclear as {side}"][0], places=2) for side in ("correct", "incorrect")
        )
        assert correct != incorrect
        assert sentence == (
            f"PRR {place} with all 8 unclear answers taken as correct: RAUQ {correct}; taken as incorrect: RAUQ "
            f"{incorrect}."
        )


def test_the_best_method_comes_before_rauq():
    answers = table().assign(msp=-table()["quality"])
    groups = groups_of(["a"] * COUNT)
    asked = {"metric": "prr", "thresholds": Thresholds()}
    bounds = comparison_bounds(answers, METHODS, groups, **asked)
    (sentence,) = comparison_bounds_sentences(bounds, compare(answers, METHODS, groups, **asked))
    assert sentence.startswith("PRR over all answers with all 8 unclear answers taken as correct: MSP ")
    assert sentence.count("RAUQ") == sentence.count("MSP") == 2


def test_one_score_is_ranked_at_both_bounds():
    answers = table()
    found = score_bounds(answers, answers["msp"].to_numpy(), thresholds=Thresholds())
    quality = answers["quality"].fillna(1.0).to_numpy()
    expected = [compute(answers["msp"].to_numpy(), quality) for compute in (prr, roc_auc)]
    assert [one.of_group("all")[0].value for one in found.correct] == pytest.approx(expected)
    assert score_bounds_sentence(found).startswith(
        "Ranking over all answers with all 8 unclear answers taken as correct: PRR "
    )


def test_nothing_is_said_and_no_column_is_added_where_no_answer_is_unclear():
    answers = table(0)
    groups = groups_of(answers["group"])
    asked = {"metric": "prr", "thresholds": Thresholds()}
    assert comparison_bounds(answers, METHODS, groups, **asked) is None
    assert score_bounds(answers, answers["msp"].to_numpy(), thresholds=Thresholds()) is None
    assert comparison_bounds_sentences(None) == ()
    assert score_bounds_sentence(None) == ""
    frame = methods_table(compare(answers, METHODS, groups, **asked))
    assert with_bounds(frame, None) is frame
