"""The check of a capture: exact captures pass at any size of the scores and in every precision; others fail."""

import threading
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.ao.quantization import quantize_dynamic
from transformers.models.llama import modeling_llama

from rauq.capture import cache, session, tap
from rauq.capture import check as check_module
from rauq.capture.check import Check
from rauq.capture.recompute import watching
from rauq.capture.session import StepwiseSession
from rauq.errors import UnsupportedModel
from rauq.model.loading import wrap
from tests.architectures import ARCHITECTURES, byte_tokenizer, named, seeded_prompts, tiny_language_model, tiny_model
from tests.capture_mutants import MUTANTS

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
[PROMPT] = seeded_prompts(30)
SEEN_ALONE = [name for name, mutant in MUTANTS.items() if mutant.lengths == (30,)]
# Scaled weights make attention certain: rounding then moves no weight, and a key without weight may be any.
SEEN_WHERE_CERTAIN = [name for name in SEEN_ALONE if name not in {"rounded queries", "a stale key"}]


def wrapped(model):
    return wrap(model, byte_tokenizer(), name="tiny")


def with_large_scores(name):
    """The tiny model with queries and keys scaled until scores of some hundreds come out of them."""
    norms = {"use_qk_norm": False} if name.startswith("llama4") else {}  # a norm would take the size away
    model = tiny_model(named(name), **norms)
    with torch.no_grad():
        for parameter, weights in model.named_parameters():
            if "q_proj" in parameter or "k_proj" in parameter:
                weights.mul_(12)
            elif "sink" in parameter:
                weights.add_(300)
    return model


def largest_score(model):
    found = []

    def note(call):
        keys = call.key[0].double().repeat_interleave(call.query.shape[1] // call.key.shape[1], dim=0)
        found.append(float((call.query[0].double() @ keys.mT).abs().max() * call.options["scaling"]))

    with watching(model, note), torch.inference_mode():
        model(torch.tensor([PROMPT]))
    return max(found)


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES[1:], ids=str)
def test_every_architecture_is_exact_in_low_precision_too(architecture, dtype):
    """In float32 they are loaded, and so checked, by `test_capture`."""
    found = wrapped(tiny_model(architecture).to(dtype)).check(PROMPT)
    assert found.exact
    assert found.layers == architecture.layers
    assert len(found.differences) == len(found.tolerances) == len(found.eager_differences) == len(found.layers)
    assert np.isnan(found.eager_differences).all() == architecture.stepwise
    if not architecture.stepwise:
        assert max(found.tolerances) < 1e-3  # of float32, whatever the model computes in


@pytest.mark.parametrize("name", ["qwen2-scores-100", "qwen2-scores-500"])
def test_the_biases_make_scores_as_large_as_the_row_says(name):
    assert largest_score(tiny_model(named(name))) >= named(name).scores


@pytest.mark.parametrize("mutant", SEEN_ALONE)
def test_a_wrong_capture_is_not_exact(mutant, monkeypatch):
    architecture, _, break_it = MUTANTS[mutant]
    lm = tiny_language_model(named(architecture))
    break_it(monkeypatch)
    assert not lm.check(PROMPT).exact


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("mutant", SEEN_WHERE_CERTAIN)
def test_a_wrong_capture_is_not_exact_at_scores_of_500(mutant, dtype, monkeypatch):
    architecture, _, break_it = MUTANTS[mutant]
    model = with_large_scores(architecture)
    assert largest_score(model) >= 500
    lm = wrapped(model.to(dtype))
    break_it(monkeypatch)
    assert not lm.check(PROMPT).exact


@pytest.mark.parametrize("name", ["qwen2-scores-100", "qwen2-scores-500", "gpt-oss-scores-500"])
@pytest.mark.parametrize("mutant", ["one key off", "another head", "rounded queries", "a stale key"])
def test_a_wrong_capture_is_not_exact_where_biases_make_the_scores(name, mutant, monkeypatch):
    lm = tiny_language_model(named(name))
    MUTANTS[mutant].break_it(monkeypatch)
    assert not lm.check(PROMPT).exact


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["falcon", "falcon-alibi", "bloom", "bloom-scores-500", "gptj", "mpt"])
def test_misplaced_weights_of_a_model_run_step_by_step_are_not_exact(name, dtype, monkeypatch):
    lm = wrapped(tiny_model(named(name)).to(dtype))
    assert lm.engine.session_type is StepwiseSession
    real = session._nearest_of
    for shift in (1, -1):
        monkeypatch.setattr(session, "_nearest_of", lambda *given, shift=shift: real(*given).roll(shift, dims=-1))
        assert not lm.check(PROMPT).exact


def quantised(name, **changes):
    """The tiny model with dynamic int8: the scale of its activations is common to all tokens of a pass."""
    model = tiny_model(replace(named(name), std=0.5), **changes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch names a successor in another package
        return quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)


@pytest.mark.parametrize(
    ("name", "changes"), [("llama", {"num_hidden_layers": 8}), ("bloom", {}), ("gptj", {}), ("mpt", {})]
)
def test_dynamic_quantisation_is_checked_call_by_call(name, changes):
    found = wrapped(quantised(name, **changes)).check(PROMPT)
    assert found.exact
    assert max(found.differences) < 1e-5
    assert max(found.pass_differences) > 1e-2
    assert len(found.pass_differences) == len(found.layers)
    assert str(found).endswith(f"differ by {max(found.pass_differences):.1e}, which is not an error of the capture")


@pytest.mark.parametrize("mutant", ["one key off", "another head", "rounded queries", "a stale key"])
def test_a_wrong_capture_of_a_quantised_model_is_not_exact(mutant, monkeypatch):
    lm = wrapped(quantised("qwen2" if mutant == "a stale key" else "llama", num_hidden_layers=8))
    MUTANTS[mutant].break_it(monkeypatch)
    found = lm.check(PROMPT)
    assert not found.exact
    assert found.pass_differences


@pytest.mark.parametrize("name", ["bloom", "gptj", "mpt"])
def test_misplaced_weights_of_a_quantised_model_run_step_by_step_are_not_exact(name, monkeypatch):
    lm, real = wrapped(quantised(name)), session._nearest_of
    for change in (
        lambda *given: real(*given).roll(1, dims=-1),
        lambda *given: real(*given).roll(-1, dims=-1),
        lambda *given: real(*given).roll(1, dims=1),
        lambda *given: real(*given) * (1 + 2**-9),
    ):
        monkeypatch.setattr(session, "_nearest_of", change)
        found = lm.check(PROMPT)
        assert not found.exact
        assert found.pass_differences


def test_a_wrong_cache_is_not_taken_for_a_difference_between_passes(monkeypatch):
    """Passes without a cache agree, so one full pass is the reference, whatever the incremental pass gives."""
    lm, real = tiny_language_model(named("gptj")), cache.CachedModel._mask_and_positions
    monkeypatch.setattr(
        cache.CachedModel,
        "_mask_and_positions",
        lambda cached, num_new: {"position_ids": real(cached, num_new)["position_ids"] // 2},
    )
    found = lm.check(PROMPT)
    assert not found.exact
    assert not found.pass_differences


def test_positions_of_a_model_whose_passes_agree_are_still_compared_with_one_full_pass(monkeypatch):
    lm, real = tiny_language_model(named("llama")), check_module._one_pass
    monkeypatch.setattr(check_module, "_one_pass", lambda lm, trace: [one[..., ::-1].copy() for one in real(lm, trace)])
    monkeypatch.setattr(check_module, "own_drifts", lambda *_: [np.zeros(1)] * len(lm.layers))
    found = lm.check(PROMPT)
    assert "at other positions than in one full pass" in found.problem
    assert not found.pass_differences


def test_a_model_that_calls_no_softmax_of_torch_step_by_step_is_not_excused(monkeypatch):
    lm = wrapped(quantised("bloom"))
    monkeypatch.setattr("rauq.capture.check._steps", lambda trace, *_: check_module._Pass(trace, {}))
    assert not lm.check(PROMPT).exact


def test_a_model_that_cannot_be_captured_exactly_is_refused_with_the_reason(monkeypatch):
    MUTANTS["no softcap"].break_it(monkeypatch)
    with pytest.raises(UnsupportedModel, match=r"NOT exact: 3 layers, largest difference"):
        tiny_language_model(named("gemma2-softcap-window"))


def test_a_part_that_the_eager_function_adds_by_itself_is_found(monkeypatch):
    """Captured and recomputed weights would both lack it: the model's own eager function tells."""
    tiny_language_model(named("llama"))  # wraps the function first
    real = tap.eager_function(tiny_model(named("llama")).model.layers[0].self_attn)

    def with_a_slope(module, query, key, value, attention_mask, **kwargs):
        slope = torch.arange(key.shape[2]) * 0.05
        return real(module, query, key, value, attention_mask + slope.to(attention_mask.dtype), **kwargs)

    monkeypatch.setattr(modeling_llama, tap.EAGER, with_a_slope)
    with pytest.raises(UnsupportedModel, match="it has a part that is not captured"):
        tiny_language_model(named("llama"))


def test_the_models_own_precision_is_reported_but_not_tested():
    found = wrapped(tiny_model(named("qwen2-scores-500")).to(torch.bfloat16)).check(PROMPT)
    assert found.exact
    assert min(found.eager_differences) > 100 * max(found.tolerances)


def test_a_check_reports_its_result():
    found = Check((0, 3), (1e-7, 4e-3), (3e-6, 3e-6), (1e-7, 1e-7))
    assert not found.exact
    assert found.worst == 1
    assert str(found) == "NOT exact: 2 layers, largest difference 4.0e-03 (tolerated 3e-06)"
    assert str(Check((2,), (1e-7,), (3e-6,), (0.1,))) == "exact: 1 layer, largest difference 1.0e-07 (tolerated 3e-06)"
    assert str(Check((2,), (1e-7,), (3e-6,), (0.1,), "moved")).startswith("NOT exact: 1 layer")
    assert str(Check((2,), (1e-7,), (3e-6,), (0.1,), "moved")).endswith("; moved")
    assert str(Check((), (), (), ())) == "NOT exact: no layer was captured"


@pytest.mark.parametrize("difference", [float("nan"), float("inf"), 1.1e-6])
def test_no_difference_beyond_its_tolerance_is_exact(difference):
    assert not Check((0, 1), (0.0, difference), (1e-6, 1e-6), (0.0, 0.0)).exact
    assert Check((0, 1), (0.0, 1e-6), (1e-6, 1e-6), (0.0, 0.0)).exact


def test_one_token_is_enough():
    assert tiny_language_model(named("llama")).check([5]).exact


def test_two_checks_at_once_leave_the_functions_as_they_were():
    first, second = tiny_language_model(named("llama")), tiny_language_model(named("gemma2-softcap-window"))
    before = modeling_llama.eager_attention_forward
    found = {}

    def check(name, lm):
        found[name] = [lm.check(PROMPT).exact for _ in range(5)]

    threads = [threading.Thread(target=check, args=pair) for pair in (("first", first), ("second", second))]
    for thread in threads:
        thread.start()
    answers = [first.generate(PROMPT, max_new_tokens=4, stop=()).answer_ids.tolist() for _ in range(5)]
    for thread in threads:
        thread.join()
    assert found == {"first": [True] * 5, "second": [True] * 5}
    assert len(set(map(tuple, answers))) == 1
    assert modeling_llama.eager_attention_forward is before
