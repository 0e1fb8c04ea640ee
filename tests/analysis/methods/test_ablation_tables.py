"""Control, alpha and ablations as tables: every number of the result, in its row."""

import numpy as np
import pytest

from analysis.methods.ablations import ablate, ablations, sweep
from analysis.methods.attention_permutation import control_groups
from analysis.methods.comparison import groups_of
from analysis.methods.tables import ablation_table, control_table, sweep_table
from analysis.quality.judgement import Thresholds
from tests.analysis.methods.batches import informative_batch

NAMES = ["a"] * 20 + ["b"] * 20
GROUPS = groups_of(NAMES)
BATCH, QUALITY = informative_batch(40, strength=0.2)
HOW = {"metric": "prr", "thresholds": Thresholds(), "resamples": 10}


def test_an_ablation_is_laid_out_as_in_the_paper():
    table = next(one for one in ablations(range(6)) if one.id == "heads")
    found = ablate(table, BATCH, QUALITY, NAMES, GROUPS, layers=range(6), **HOW)
    frame = ablation_table(found)
    assert list(frame) == ["heads of a layer", "PRR of all", "PRR of a", "PRR of b", "mean PRR"]
    assert frame["heads of a layer"].iloc[-1] == "RAUQ"
    for at, row in enumerate(found.comparison.estimates):
        assert frame.iloc[at, 1:4].tolist() == [one.value for one in row]
    np.testing.assert_allclose(frame["mean PRR"], frame[["PRR of a", "PRR of b"]].mean(axis=1))


def test_a_sweep_has_a_row_for_each_alpha_in_each_group():
    found = sweep(BATCH, QUALITY, GROUPS, signal="entropy", **HOW)
    frame = sweep_table(found)
    assert len(frame) == 33
    assert set(frame["alpha"][frame["paper"]]) == {0.5}
    own = frame[(frame["group"] == "b") & (frame["alpha"] == 0.3)].iloc[0]
    one = found.of_group("b")[3]
    assert (own["prr"], own["low"], own["high"]) == (one.value, one.low, one.high)
    assert (own["signal"], own["alignment"], own["answers"], own["undefined"]) == ("entropy", "predicting", 20, "")


@pytest.mark.parametrize("facts", [None, np.zeros((40, 6), dtype=bool)])
def test_the_control_has_a_row_for_each_exchange_in_each_group(facts):
    found = control_groups(BATCH, QUALITY, NAMES, GROUPS, facts=facts, **HOW)
    frame = control_table(found)
    assert len(frame) == 12
    assert set(frame["alignment"]) == {"predicting"}
    assert set(frame["tokens"]) == {"all" if facts is None else "fact"}
    one = found[1].under("random head")
    own = frame[(frame["group"] == "a") & (frame["attention replaced by"] == "a random head's")].iloc[0]
    expected = [one.estimate.value, one.difference.value, one.difference.low, one.difference.high]
    assert own[["prr", "real minus replaced", "low", "high"]].tolist() == pytest.approx(expected, nan_ok=True)
    assert (own["undefined"] == "") == (facts is None)
