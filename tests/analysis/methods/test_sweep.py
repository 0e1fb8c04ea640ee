"""RAUQ over alpha: each value is that of the score at this alpha, and the paper's is where the paper has it."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.methods.ablations import ALPHAS, sweep
from analysis.methods.comparison import groups_of
from analysis.quality.judgement import Thresholds
from analysis.stats import prr
from rauq.errors import InvalidInput
from rauq.scoring.score import score_many
from rauq.scoring.settings import Settings
from tests.analysis.methods.batches import informative_batch

NAMES = ["a", "b"] * 15 + ["b", "a"] * 15
BATCH, QUALITY = informative_batch(60, strength=0.2)


def swept(batch=BATCH, *, quality=QUALITY, signal="probability"):
    return sweep(batch, quality, groups_of(NAMES), signal=signal, metric="prr", thresholds=Thresholds(), resamples=20)


@pytest.mark.parametrize("signal", ["probability", "entropy"])
@pytest.mark.parametrize("alignment", ["predicting", "own"])
def test_a_value_is_that_of_the_score(signal, alignment):
    batch = replace(BATCH, alignment=alignment)
    found = swept(batch, signal=signal)
    assert (found.alignment, found.signal, found.groups) == (alignment, signal, ("all", "a", "b"))
    for group in groups_of(NAMES):
        for alpha, one in zip(ALPHAS, found.of_group(group.name), strict=True):
            settings = Settings(alpha=alpha, signal=signal, alignment=alignment)
            uncertainty = score_many(batch, settings).uncertainty
            assert one.value == pytest.approx(prr(uncertainty[group.rows], QUALITY[group.rows]))
            assert one.low <= one.high


@pytest.mark.parametrize(
    ("kind", "signal", "alpha"),
    [
        ("base", "probability", 0.2),
        ("base", "entropy", 0.5),
        ("instruct", "probability", 0.6),
        ("instruct", "entropy", 0.9),
    ],
)
def test_the_alpha_of_the_paper(kind, signal, alpha):
    found = swept(replace(BATCH, kind=kind), signal=signal)
    assert found.paper_alpha == alpha
    assert found.at_paper("all") is found.of_group("all")[round(10 * alpha)]


def test_the_best_alpha_has_the_highest_value():
    found = swept()
    values = [one.value for one in found.of_group("all")]
    assert found.best("all") == ALPHAS[int(np.argmax(values))]


def test_a_group_of_one_quality_is_undefined_with_a_reason():
    quality = np.where(np.array(NAMES) == "a", 1.0, QUALITY)
    found = swept(quality=quality)
    assert found.best("a") is None
    assert all(np.isnan(one.value) and one.reason for one in found.of_group("a"))


def test_a_batch_of_no_kind_has_no_alpha_of_the_paper():
    with pytest.raises(InvalidInput, match="kind"):
        swept(replace(BATCH, kind=None))
