"""A monitor beside transformers' own `generate`: after the last token, its score is that of the whole answer."""

import math

import numpy as np
import pytest
import torch
from transformers import DynamicCache

import rauq
from rauq.capture import kernel_sums
from rauq.capture.session import last_key_weight
from rauq.errors import InvalidInput, UnsupportedModel
from rauq.model import monitor as monitors
from rauq.model.monitor import Monitor
from rauq.scoring.online import OnlineState
from rauq.scoring.settings import Settings
from tests.architectures import named, tiny_language_model

PROMPT = [5, 9, 30, 77, 100, *range(42, 62)]
FAMILIES = (
    "llama",
    "qwen3",
    "mixtral",
    "gemma2-softcap-window",
    "gemma3-window",
    "gpt-oss-sinks-window",
    "phi3-window",
)
EVERY = {"layers": "all"}
SETTINGS = {
    "paper": Settings(**EVERY),
    "probability": Settings(signal="probability", alpha=0.3, **EVERY),
    "mean of heads": Settings(heads="mean", **EVERY),
    "fixed": Settings(heads=((0, 2), (1, 0), (2, 1)), signal="entropy", **EVERY),
    "mean of layers": Settings(layer_aggregation="mean", **EVERY),
}


@pytest.fixture(scope="module", params=FAMILIES)
def lm(request):
    return tiny_language_model(named(request.param))


def generate(lm, monitor, *, count=20, padding=0, **options):
    """The ids that transformers adds to the prompt, which may stand after padding."""
    ids = torch.tensor([[0] * padding + PROMPT])
    seen = torch.tensor([[0] * padding + [1] * len(PROMPT)])
    options |= {"attention_mask": seen, "max_new_tokens": count, "do_sample": False, "eos_token_id": None}
    with monitor:
        found = lm.model.generate(ids, stopping_criteria=[monitor], **options)
    return found[0, ids.shape[1] :].tolist()


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_after_each_token_the_score_is_that_of_the_answer_so_far(lm, settings):
    monitor = Monitor(lm, settings)
    ids = generate(lm, monitor)
    assert [token.id for token in monitor.tokens] == ids
    whole = lm.read(PROMPT, ids)
    np.testing.assert_allclose([token.logprob for token in monitor.tokens], whole.logprobs, atol=1e-5)
    np.testing.assert_allclose([token.entropy for token in monitor.tokens], whole.entropies, atol=1e-5)
    for count in (1, 2, 7, 20):
        token, score = monitor.tokens[count - 1], rauq.score(lm.read(PROMPT, ids[:count]), settings)
        assert token.uncertainty == pytest.approx(score.uncertainty, abs=1e-5)
        if count > 1 and settings.layer_aggregation == "max":
            row = score.layers.index(score.layer)
            assert (token.layer, token.head) == (score.layer, score.heads[row] if score.heads[row] >= 0 else None)
            assert token.attention == pytest.approx(score.attention[row, -1], abs=1e-5)
            assert token.confidence == pytest.approx(score.confidence[row, -1], abs=1e-5)
    assert monitor.uncertainty == monitor.tokens[-1].uncertainty


@pytest.mark.parametrize("name", ["probability", "fixed"])
def test_with_the_sums_of_torchs_kernel_the_score_and_the_answer_are_the_same(lm, name, monkeypatch):
    before = generate(lm, Monitor(lm, SETTINGS[name]))
    used = []
    monkeypatch.setattr(kernel_sums, "_SHORT", 1)
    own = monitors.with_sums
    monkeypatch.setattr(monitors, "with_sums", lambda *call: (used.append(own(*call)), used[-1])[1])
    monitor = Monitor(lm, SETTINGS[name])
    ids = generate(lm, monitor)
    assert ids == before
    expected = rauq.score(lm.read(PROMPT, ids), SETTINGS[name])
    assert monitor.uncertainty == pytest.approx(expected.uncertainty, abs=1e-5)
    has_plain = lm.model.config.model_type in {"llama", "qwen3", "mixtral", "gemma3_text"}
    assert any(sums is not None for _, sums in used) == has_plain  # others have masks, soft caps or sinks in each layer


@pytest.mark.parametrize("options", [{"padding": 5}, {"past_key_values": DynamicCache}], ids=["padded", "all keys"])
def test_keys_that_are_masked_weigh_nothing(lm, options):
    """Padding before the prompt, and a cache that keeps keys which a window hides."""
    options = {name: value() if callable(value) else value for name, value in options.items()}
    monitor = Monitor(lm, SETTINGS["probability"])
    ids = generate(lm, monitor, **options)
    expected = rauq.score(lm.read(PROMPT, ids), SETTINGS["probability"])
    assert monitor.uncertainty == pytest.approx(expected.uncertainty, abs=1e-5)


def test_a_window_without_a_mask_hides_the_keys_before_it():
    keys, query = torch.randn(2, 1, 2, 9, 4, generator=torch.Generator().manual_seed(0)).unbind()
    query = query.repeat(1, 2, 1, 1)[:, :, :1]
    hidden = torch.arange(9).view(1, 1, 1, 9) >= 9 - 4
    masked = last_key_weight(query, keys, hidden, {})
    torch.testing.assert_close(last_key_weight(query, keys, None, {"sliding_window": 4}), masked)
    assert (last_key_weight(query, keys, None, {}) < masked).all()


def test_a_threshold_stops_the_answer_at_the_first_token_above_it(lm):
    free = Monitor(lm, SETTINGS["probability"])
    generate(lm, free)
    values = [token.uncertainty for token in free.tokens]
    limit = sorted(values)[-3]
    seen = []
    monitor = Monitor(lm, SETTINGS["probability"], threshold=limit, on_token=seen.append)
    first = next(index for index, value in enumerate(values) if value > limit)
    assert len(generate(lm, monitor)) == first + 1
    assert (monitor.alarm, free.alarm) == (first, None)
    assert seen == monitor.tokens


def test_a_monitor_begins_again_with_each_answer_and_leaves_nothing_behind(lm):
    monitor = Monitor(lm)
    first = generate(lm, monitor)
    before = monitor.tokens
    hooks = len(lm.model._forward_hooks)
    assert generate(lm, monitor) == first
    assert [token.uncertainty for token in monitor.tokens] == [token.uncertainty for token in before]
    assert len(lm.model._forward_hooks) == hooks == 0
    assert lm.generate(PROMPT, max_new_tokens=20, stop=()).answer_ids.tolist()[:5] == first[:5]


@pytest.fixture(scope="module")
def llama():
    return tiny_language_model(named("llama"))


def test_before_the_first_token_there_is_no_score(llama):
    assert math.isnan(Monitor(llama).uncertainty)


@pytest.mark.parametrize(
    "changes",
    [{"update": "product"}, {"token_aggregation": "median"}, {"alignment": "own"}, {"heads": "top5"}],
    ids=lambda changes: next(iter(changes)),
)
def test_settings_that_need_the_whole_answer_are_refused_by_name(llama, changes):
    with pytest.raises(InvalidInput, match=next(iter(changes))):
        Monitor(llama, Settings(**changes, **EVERY))


@pytest.mark.parametrize(
    "options", [*({"threshold": value} for value in (math.nan, math.inf, "high")), {"on_alarm": "ring"}], ids=repr
)
def test_a_threshold_is_a_number_and_what_an_alarm_does_is_known(llama, options):
    with pytest.raises(InvalidInput, match=next(iter(options))):
        Monitor(llama, **options)


def test_several_sequences_and_beams_are_refused(llama):
    ids = torch.tensor([PROMPT, PROMPT])
    monitor = Monitor(llama)
    with monitor, pytest.raises(InvalidInput, match="2 sequences"):
        llama.model.generate(ids, max_new_tokens=3, stopping_criteria=[monitor])
    with pytest.raises(InvalidInput, match="sequences"):
        generate(llama, monitor, num_beams=2)


def test_outside_of_with_it_sees_nothing_and_says_so(llama):
    with pytest.raises(InvalidInput, match="inside `with`"):
        llama.model.generate(torch.tensor([PROMPT]), max_new_tokens=3, stopping_criteria=[Monitor(llama)])


def test_a_cache_of_a_fixed_length_is_refused(llama):
    with pytest.raises(UnsupportedModel, match="fixed length"):
        generate(llama, Monitor(llama), cache_implementation="static")


def test_a_model_whose_own_calls_do_not_show_its_attention_is_refused_inside_of_with():
    with pytest.raises(UnsupportedModel, match=r"Use lm\.generate"), Monitor(tiny_language_model(named("bloom"))):
        pass


def test_the_heads_that_are_selected_so_far_may_change():
    online = OnlineState.begin(Settings(signal="probability", alpha=0.5), (4,), 2)
    online = online.after(1.0, None).after(1.0, np.array([[0.5, 0.1]]))
    assert online.partial_score().picked.tolist() == [0]
    online = online.after(1.0, np.array([[0.0, 0.9]]))
    found = online.partial_score()
    assert found.picked.tolist() == [1]
    assert found.uncertainty == pytest.approx(-(np.log(0.55) + np.log(0.5 + 0.5 * 0.9 * 0.55)) / 3)
