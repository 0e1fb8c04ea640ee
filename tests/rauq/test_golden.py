"""Every number that the reference implementation gave for the synthetic cases, infinities and nan included.

The reference adds 1 to every score but those of `mean_product` and `mean_sum`; it is added here before comparing.
"""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from rauq import Settings, score_arrays, score_many
from rauq.batch import batch_of_arrays
from rauq.grid import score_grid
from rauq.settings import MEAN_UPDATES

FOLDER = Path(__file__).parents[1] / "golden"
META = json.loads((FOLDER / "golden.json").read_text(encoding="utf-8"))
CASES = META["rauq_cases"]

ALPHAS = META["meta"]["axes"]["alpha"]
TOKEN_AGGREGATIONS = ("mean", "median", "sum_log", "mean_log")
LAYER_AGGREGATIONS = ("mean", "median", "max")
UPDATES = (
    *("rauq", "previous_probability", "no_recurrence", "no_attention", "product"),
    *("minus_mean", "ratio_to_mean", "minus_recent_mean", "mean_product", "mean_sum"),
)
SIGNALS = ("probability", "entropy")
ONE_BY_ONE = 150  # cells of each case, drawn
HEADS = ("max", "mean", "top5")


@pytest.fixture(scope="module")
def golden():
    with np.load(FOLDER / "golden.npz") as arrays:
        return dict(arrays)


@pytest.fixture(params=CASES, ids=lambda case: f"case {case['i']}, N={case['N']}, {case['special'] or 'plain'}")
def case(request):
    return request.param


def inputs(golden, case):
    name = f"c{case['i']:02d}"
    arrays = {"attention": golden[f"{name}_attn"], "logprobs": golden[f"{name}_logp"]}
    return arrays | {"entropies": golden[f"{name}_ent"], "vocab_size": case["V"]}


def fixed_heads(golden, case):
    """The reference's single head of a layer: the one that attends most over its training answers."""
    means = golden[f"c{case['i']:02d}_train_attn_cat"].mean(axis=-1)
    assert means.argmax(axis=-1).tolist() == case["heads_single"]
    return tuple(enumerate(case["heads_single"]))


def constant(update):
    return 0.0 if update in MEAN_UPDATES else 1.0


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
    wanted, raised = golden["rauq"][case["i"]], golden["rauq_raised"][case["i"]]
    answers = batch_of_arrays(**inputs(golden, case), alignment="predicting", layer_ids=None, num_layers=None)
    single = fixed_heads(golden, case)
    cells = [cell for cell in itertools.product(*map(range, wanted.shape)) if not raised[cell]]
    scores = score_grid(answers, [cell_settings(cell, single) for cell in cells])[:, 0]
    got = scores + [constant(UPDATES[cell[3]]) for cell in cells]
    np.testing.assert_allclose(got, [wanted[cell] for cell in cells], rtol=1e-9, atol=1e-15)  # atol: 1 - 1 is 0
    assert len(cells) >= 6000


def test_one_setting_at_a_time_equals_the_reference_too(golden, case):
    wanted, raised = golden["rauq"][case["i"]], golden["rauq_raised"][case["i"]]
    answers = batch_of_arrays(**inputs(golden, case), alignment="predicting", layer_ids=None, num_layers=None)
    single = fixed_heads(golden, case)
    rng = np.random.default_rng(case["i"])
    for cell in rng.permutation([cell for cell in np.ndindex(wanted.shape) if not raised[cell]])[:ONE_BY_ONE]:
        got = score_many(answers, cell_settings(cell, single)).uncertainty[0] + constant(UPDATES[cell[3]])
        np.testing.assert_allclose(got, wanted[tuple(cell)], rtol=1e-9, atol=1e-15)


def cell_settings(cell, single):
    alpha, tokens, layers, update, signal, heads, fixed = cell
    mean_ignores_it = HEADS[heads] == "mean" and UPDATES[update] not in MEAN_UPDATES
    return Settings(
        alpha=ALPHAS[alpha],
        signal=SIGNALS[signal],
        heads=single if fixed and not mean_ignores_it else HEADS[heads],
        update=UPDATES[update],
        token_aggregation=TOKEN_AGGREGATIONS[tokens],
        layer_aggregation=LAYER_AGGREGATIONS[layers],
    )


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
