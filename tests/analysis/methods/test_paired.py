"""RAUQ minus another method: on the same answers, and honest where there is nothing."""

import numpy as np
import pytest

from analysis.methods.claims import ranking_claim
from analysis.methods.comparison import compare, groups_of
from analysis.quality.judgement import Thresholds
from analysis.stats import prr, sign_of
from tests.analysis.methods.made_up import SKILL, made_up


def compared(answers, *, metric="prr", methods=tuple(SKILL)):
    return compare(answers, methods, groups_of(list(answers["group"])), metric=metric, thresholds=Thresholds())


def paired(answers, **options):
    return compared(answers, **options).paired


def test_a_difference_is_that_of_the_plain_metric_on_the_answers_that_have_both():
    answers = made_up(60)
    answers.loc[:9, "msp"] = np.nan
    answers.loc[10:14, "rauq"] = np.nan
    answers.loc[15, "quality"] = np.nan
    found = paired(answers)
    got = found.of_group("all")[found.methods.index("msp")]
    judged = answers[answers["quality"].notna()]
    lacking = judged["msp"].isna() | judged["rauq"].isna()
    rauq, msp = (judged[name].mask(lacking).to_numpy() for name in ("rauq", "msp"))
    quality = judged["quality"].to_numpy()
    assert (got.n, got.excluded) == (44, 16)
    assert got.value == pytest.approx(prr(rauq, quality) - prr(msp, quality))
    assert got.low < got.value < got.high


@pytest.mark.parametrize("metric", ["prr", "roc_auc"])
def test_a_method_equals_itself(metric):
    answers = made_up()
    answers["msp"] = np.exp(answers["rauq"])  # the same order
    found = paired(answers, metric=metric)
    for one in found.differences[found.methods.index("msp")]:
        assert one.value == pytest.approx(0, abs=1e-12)
        assert (sign_of(one), one.low) == (0, pytest.approx(-one.high))


def test_pairing_narrows_the_interval_of_methods_that_go_together():
    answers = made_up(300)
    answers["perplexity"] = answers["rauq"] + 0.1 * answers["perplexity"]
    found = paired(answers)
    near, far = (found.of_group("all")[found.methods.index(name)] for name in ("perplexity", "mean_token_entropy"))
    assert near.high - near.low < 0.5 * (far.high - far.low)
    assert far.low > 0
    assert (found.base, found.methods) == ("rauq", ("perplexity", "msp", "mean_token_entropy"))


def test_an_undefined_method_has_no_difference():
    found = paired(made_up().assign(msp=np.nan))
    gone = found.of_group("all")[found.methods.index("msp")]
    assert np.isnan([gone.value, gone.low, gone.high]).all()
    assert gone.reason
    assert (gone.n, gone.excluded) == (0, 120)


@pytest.mark.parametrize(("like", "ends"), [("mean_token_entropy", False), ("rauq", True), ("", False)])
def test_the_headline_says_where_rauq_is_not_shown_better_than_msp(like, ends):
    answers = made_up(300)
    said = ranking_claim(compared(answers.assign(msp=answers[like] if like else np.nan)))
    assert said.startswith("RAUQ is shown to rank better than")
    assert said.endswith(", but not better than MSP") is ends


def test_without_rauq_nothing_is_paired():
    assert paired(made_up(), methods=("msp", "perplexity")) is None
