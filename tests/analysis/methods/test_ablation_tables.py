"""Control, alpha and ablations as tables: every number of the result, in its row."""

import numpy as np
import pytest

from analysis.exports.tables import WITH_INTERVAL
from analysis.methods.ablations import ablate, ablations
from analysis.methods.attention_permutation import REPLACED, control_groups, sweep
from analysis.methods.comparison import WITHIN, groups_of
from analysis.methods.tables import ablation_table, control_table, sweep_table
from analysis.quality.judgement import Thresholds
from tests.analysis.methods.batches import informative_batch

NAMES = ["a"] * 20 + ["b"] * 20
GROUPS = groups_of(NAMES)
BATCH, QUALITY = informative_batch(40, strength=0.2)
HOW = {"metric": "prr", "thresholds": Thresholds()}


def test_an_ablation_is_laid_out_as_in_the_paper():
    table = next(one for one in ablations(range(6)) if one.id == "heads")
    found = ablate(table, BATCH, QUALITY, NAMES, GROUPS, layers=range(6), **HOW)
    frame = ablation_table(found)
    headings = ["PRR of all", "mean PRR within groups", "PRR of a", "PRR of b"]
    assert list(frame) == ["heads of a layer", *(f"{name}{end}" for name in headings for end in WITH_INTERVAL)]
    assert frame["heads of a layer"].iloc[-1] == "RAUQ"
    for at, row in enumerate(found.comparison.estimates):
        assert frame[headings].iloc[at].tolist() == [one.value for one in row]
    np.testing.assert_allclose(frame["mean PRR within groups"], frame[["PRR of a", "PRR of b"]].mean(axis=1))


def test_a_sweep_has_a_row_for_each_attention_at_each_alpha_in_each_group():
    found = sweep(BATCH, QUALITY, NAMES, GROUPS, signal="entropy", **HOW)
    frame = sweep_table(found)
    assert len(frame) == 4 * 4 * 11
    assert set(frame["group"]) == {"all", WITHIN, "a", "b"}
    assert set(frame["alpha"][frame["paper"]]) == {0.5}
    at = frame[(frame["group"] == "b") & (frame["alpha"] == 0.3)].set_index("attention")
    one = found.of_group("b")[3]
    own = at.loc["real"]
    assert (own["prr"], own["low"], own["high"]) == (one.value, one.low, one.high)
    assert (own["signal"], own["alignment"], own["answers"], own["undefined"]) == ("entropy", "predicting", 20, "")
    assert np.isnan(own["real minus this"])
    for name in REPLACED:
        under, other = found.under(name, "b")[3], at.loc[name]
        assert (other["prr"], other["low"], other["high"]) == (
            under.estimate.value,
            under.estimate.low,
            under.estimate.high,
        )
        assert other[["real minus this", "its low", "its high"]].tolist() == [
            under.difference.value,
            under.difference.low,
            under.difference.high,
        ]


@pytest.mark.parametrize("facts", [None, np.zeros((40, 6), dtype=bool)])
def test_the_control_has_a_row_for_each_exchange_in_each_group(facts):
    found = control_groups(BATCH, QUALITY, NAMES, GROUPS, facts=facts, **HOW)
    frame = control_table(found)
    assert len(frame) == 16
    assert set(frame["alignment"]) == {"predicting"}
    assert set(frame["tokens"]) == {"all" if facts is None else "fact"}
    one = found[2].under("random head")
    own = frame[(frame["group"] == "a") & (frame["attention replaced by"] == "a random head's")].iloc[0]
    expected = [one.estimate.value, one.difference.value, one.difference.low, one.difference.high]
    assert own[["prr", "real minus replaced", "low", "high"]].tolist() == pytest.approx(expected, nan_ok=True)
    assert (own["undefined"] == "") == (facts is None)
