"""RAUQ + heads, fitted on answers: the file scores these answers as the fit did, and heads are those that know."""

from dataclasses import replace

import numpy as np
import pytest

import rauq
from analysis.answer_sets.sides import Sides
from analysis.detectors.added_heads import fitted_added_heads
from analysis.methods.added_heads import Candidates
from analysis.runs.manifest import Answerer
from rauq.detectors import added_heads
from rauq.errors import InvalidInput
from rauq.scoring.settings import Settings
from tests.answers import VOCAB_SIZE, random_trace

LAYERS, HEADS, NUM = 6, 4, 40
TRACES = [random_trace(3 + number % 5, seed=number) for number in range(NUM)]
ANSWERER = Answerer(
    name=TRACES[0].model,
    revision=TRACES[0].revision,
    kind=TRACES[0].kind,
    dtype="float32",
    layers=tuple(range(LAYERS)),
    num_layers=LAYERS,
    num_heads=HEADS,
    vocab_size=VOCAB_SIZE,
)


def given():
    """Answers that are correct where the mean attention of layer 3 head 2 is high."""
    answers = rauq.batch(TRACES)
    means = answers.head_means(tuple(range(LAYERS)))
    correct = means[:, 3, 2] > np.median(means[:, 3, 2])
    return Candidates(
        uncertainty=rauq.score_many(answers).uncertainty,
        length=answers.lengths.astype(float),
        quality=correct.astype(float),
        sides=Sides(correct, ~correct),
        groups=("a", "b") * (NUM // 2),
        heads=tuple((layer, head) for layer in range(LAYERS) for head in range(HEADS)),
        means=means.reshape(NUM, -1),
        expected=None,
    )


def fitted(candidates, k=3, **options):
    return fitted_added_heads(candidates, k=k, answerer=ANSWERER, settings=Settings(), data="facts", **options)


def test_the_file_scores_each_answer_as_the_fit_did():
    candidates = given()
    detector = fitted(candidates)
    assert detector.heads[0] == (3, 2)
    assert (detector.k, detector.groups) == (3, (("a", NUM // 2), ("b", NUM // 2)))
    again = added_heads.read(detector.to_json())
    scores = np.array([again.score(trace) for trace in TRACES])
    np.testing.assert_allclose(np.sort(scores), detector.reference, atol=1e-9)
    attention = candidates.means[:, [layer * HEADS + head for layer, head in detector.heads]].mean(axis=1)
    parts = [(values - values.mean()) / values.std() for values in (candidates.uncertainty, attention)]
    np.testing.assert_allclose(scores, parts[0] - parts[1], atol=1e-9)
    assert [detector.rank(scores.max()), detector.rank(scores.min())] == [100 - 50 / NUM, 50 / NUM]


def test_answers_without_attention_are_left_out_of_the_scale():
    candidates = given()
    means, uncertainty = candidates.means.copy(), candidates.uncertainty.copy()
    means[0], uncertainty[1] = np.nan, np.nan
    detector = fitted(replace(candidates, means=means, uncertainty=uncertainty))
    assert len(detector.reference) == NUM - 2
    assert dict(detector.groups) == {"a": NUM // 2 - 1, "b": NUM // 2 - 1}


@pytest.mark.parametrize(
    ("changes", "k", "reason"),
    [
        ({"sides": Sides(np.ones(NUM, bool), np.zeros(NUM, bool))}, 3, "no incorrect answer"),
        ({}, 25, "there are 24 heads to choose 25 of"),
        ({"uncertainty": np.ones(NUM)}, 3, "all answers have one value"),
    ],
)
def test_what_cannot_be_fitted_says_why(changes, k, reason):
    with pytest.raises(InvalidInput, match=reason):
        fitted(replace(given(), **changes), k=k)
