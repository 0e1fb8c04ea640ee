"""Every number that the reference implementation gave for the synthetic cases, infinities and nan included."""

import numpy as np
import pytest

from rauq import Settings, score_arrays, score_many
from tests.golden_rauq import (
    CASES,
    EXACT,
    HEADS,
    LAYER_AGGREGATIONS,
    META,
    TOKEN_AGGREGATIONS,
    UPDATES,
    answer,
    arrays,
    cell_settings,
    compare,
    constant,
    fixed_heads,
    inputs,
)

ONE_BY_ONE = 150  # cells of each case, drawn


@pytest.fixture(scope="module")
def golden():
    return arrays()


@pytest.fixture(params=CASES, ids=lambda case: f"case {case['i']}, N={case['N']}, {case['special'] or 'plain'}")
def case(request):
    return request.param


def test_the_axes_are_those_of_the_reference():
    names = {None: "rauq", "no_attn": "no_attention", "no_rec": "no_recurrence", "simple_rec": "previous_probability"}
    names |= {"multiply": "product", "delta_sliding": "minus_mean", "delta_rolling": "minus_recent_mean"}
    names |= {"delta_ratio": "ratio_to_mean", "multiply_uq": "mean_product", "sum_uq": "mean_sum"}
    axes = META["meta"]["axes"]
    assert tuple(names[update] for update in axes["ablation"]) == UPDATES
    assert [name.replace("_", "") for name in TOKEN_AGGREGATIONS] == axes["token_aggregation"]
    assert (list(LAYER_AGGREGATIONS), list(HEADS)) == (axes["aggregation"], axes["head"])
    assert (axes["use_entropy"], axes["single_head"], axes["case"]) == ([False, True], [False, True], len(CASES))


def test_every_setting_equals_the_reference(golden, case):
    found = compare(golden, case)
    np.testing.assert_allclose(found.ours, found.reference, **EXACT)
    assert len(found.cells) >= 6000


def test_one_setting_at_a_time_equals_the_reference_too(golden, case):
    wanted, raised = golden["rauq"][case["i"]], golden["rauq_raised"][case["i"]]
    answers, single = answer(golden, case), fixed_heads(golden, case)
    rng = np.random.default_rng(case["i"])
    for cell in rng.permutation([cell for cell in np.ndindex(wanted.shape) if not raised[cell]])[:ONE_BY_ONE]:
        got = score_many(answers, cell_settings(cell, single)).uncertainty[0] + constant(UPDATES[cell[3]])
        np.testing.assert_allclose(got, wanted[tuple(cell)], **EXACT)


def test_only_fixed_heads_with_top5_raise_in_the_reference(golden):
    raised = golden["rauq_raised"].astype(bool)
    assert raised.any()
    assert not raised[..., :2, :].any()
    assert not raised[..., 0].any()


def test_layer_scores_heads_and_windows_equal_the_reference(golden, case):
    settings = [Settings(alpha=0.2, signal="probability"), Settings(alpha=0.5, signal="entropy")]
    for row, setting in enumerate(settings):
        score = score_arrays(**inputs(golden, case), settings=setting)
        per_layer = golden["rauq_per_layer"][case["i"], row, list(score.layers)]
        np.testing.assert_allclose(score.layer_scores + 1, per_layer, rtol=1e-9)
        assert list(score.layers) == case["layers"]
        assert score.heads.tolist() == [case["heads_max"][layer] for layer in score.layers]


def test_all_layers_equal_the_reference(golden, case):
    score = score_arrays(**inputs(golden, case), settings=Settings(alpha=0.2, signal="probability", layers="all"))
    assert score.uncertainty + 1 == pytest.approx(case["default"]["prob_a0.2_all_layers"], rel=1e-9)
