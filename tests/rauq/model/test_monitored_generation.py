"""A monitor in `lm.generate`: with every engine, after each token, its score is that of the trace so far."""

import math
from dataclasses import replace

import numpy as np
import pytest

import rauq
from rauq.capture import session
from rauq.errors import InvalidInput
from rauq.model.loading import load_model
from rauq.model.monitor import Monitor
from rauq.scoring.settings import Settings
from rauq.scoring.watch import Watch
from tests.architectures import named, tiny_language_model
from tests.gguf_files import MERGED, save_gguf
from tests.rauq.model.test_monitor import PROMPT, SETTINGS

FAMILIES = ("llama", "gemma2-softcap-window", "gemma3-window", "gpt-oss-sinks-window", "phi3-window", "bloom")
COUNT = 12
PLAIN = SETTINGS["probability"]


@pytest.fixture(scope="module", params=[*FAMILIES, "llama.cpp"])
def lm(request, tmp_path_factory):
    if request.param != "llama.cpp":
        return tiny_language_model(named(request.param))
    save_gguf(file := tmp_path_factory.mktemp("monitored") / "tiny.gguf", entries=MERGED)
    return load_model(file, engine="llama.cpp", kind="base")


@pytest.fixture(scope="module")
def llama():
    return tiny_language_model(named("llama"))


def fitting(settings, lm):
    """Settings with a head for each layer of a model."""
    if not isinstance(settings.heads, tuple):
        return settings
    return replace(settings, heads=tuple((layer, layer % lm.num_heads) for layer in lm.layers))


def same(token, trace, settings):
    """The token of a monitor says what the score of the trace so far says."""
    score = rauq.score(trace, settings)
    assert token.uncertainty == pytest.approx(score.uncertainty, abs=1e-5, nan_ok=True)
    assert (token.index, token.id) == (len(trace.answer_ids) - 1, trace.answer_ids[-1])
    assert (token.logprob, token.entropy) == pytest.approx((trace.logprobs[-1], trace.entropies[-1]), abs=1e-5)
    if score.layer is not None and token.index and settings.layer_aggregation == "max":
        row = score.layers.index(score.layer)
        assert (token.layer, token.head) == (score.layer, score.heads[row] if score.heads[row] >= 0 else None)
        assert token.attention == pytest.approx(score.attention[row, -1], abs=1e-5)
        assert token.confidence == pytest.approx(score.confidence[row, -1], abs=1e-5)


def generated(lm, monitor, **options):
    """An answer, and the traces so far after each of its tokens, the last one among them."""
    traces = []
    options = {"max_new_tokens": COUNT, "stop": ()} | options
    whole = lm.generate(PROMPT, monitor=monitor, on_progress=lambda so_far: traces.append(so_far()), **options)
    return [*traces, whole]


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_after_each_token_the_score_is_that_of_the_trace_so_far(lm, settings):
    monitor = Monitor(lm, settings := fitting(settings, lm))
    traces = generated(lm, monitor)
    assert len(monitor.tokens) == len(traces)
    for token, trace in zip(monitor.tokens, traces, strict=True):
        same(token, trace, settings)


def test_it_changes_nothing_of_the_answer(lm):
    options = {"max_new_tokens": COUNT, "stop": ()}
    watched, alone = lm.generate(PROMPT, monitor=Monitor(lm), **options), lm.generate(PROMPT, **options)
    np.testing.assert_array_equal(watched.answer_ids, alone.answer_ids)
    np.testing.assert_array_equal(watched.attention, alone.attention)
    np.testing.assert_array_equal(watched.logprobs, alone.logprobs)


def test_tokens_of_a_forced_beginning_are_scored_too(lm):
    monitor, prefix = Monitor(lm, PLAIN), [5, 9, 30]
    traces = generated(lm, monitor, answer_prefix=prefix)
    assert [token.id for token in monitor.tokens[:3]] == prefix
    for token, trace in zip(monitor.tokens[3:], traces, strict=True):
        same(token, trace, PLAIN)
    for count in (1, 2, 3):
        read = rauq.score(lm.read(PROMPT, prefix[:count]), PLAIN)
        assert monitor.tokens[count - 1].uncertainty == pytest.approx(read.uncertainty, abs=1e-5)


def test_each_answer_of_a_batch_has_its_own_monitor_with_its_own_settings(lm):
    prompts = [PROMPT, PROMPT[:3], PROMPT[:9]]
    settings = [SETTINGS["paper"], fitting(SETTINGS["fixed"], lm), Settings(layers=(lm.layers[-1],))]
    monitors = [Monitor(lm, one) for one in settings]
    watches = [Watch(monitor=monitor) for monitor in monitors]
    traces = list(lm.generate_batch(prompts, watches=watches, batch_size=3, max_new_tokens=COUNT, stop=()))
    for monitor, trace, one in zip(monitors, traces, settings, strict=True):
        assert len(monitor.tokens) == len(trace.answer_ids)
        same(monitor.tokens[-1], trace, one)


def test_a_band_that_is_finished_at_once_gives_the_same(llama, monkeypatch):
    waiting, finished = Monitor(llama, PLAIN), Monitor(llama, PLAIN)
    generated(llama, waiting)
    monkeypatch.setattr(session, "_FLUSH_BYTES", 0)
    llama.generate(PROMPT, monitor=finished, max_new_tokens=COUNT, stop=())
    assert [token.uncertainty for token in finished.tokens] == pytest.approx(
        [token.uncertainty for token in waiting.tokens], abs=1e-6
    )


@pytest.fixture(scope="module")
def alarming(llama):
    """A threshold that three of an answer's values pass, and the first of them."""
    monitor = Monitor(llama, PLAIN)
    generated(llama, monitor)
    values = [token.uncertainty for token in monitor.tokens]
    limit = sum(sorted(values)[-4:-2]) / 2  # between two values, whose last bits differ from one answer to the next
    return limit, next(index for index, value in enumerate(values) if value > limit)


def test_an_alarm_stops_the_answer(llama, alarming):
    limit, first = alarming
    monitor, seen = Monitor(llama, PLAIN, threshold=limit), []
    trace = llama.generate(PROMPT, monitor=monitor, on_token=lambda *token: seen.append(token), stop=())
    assert (monitor.alarm, len(trace.answer_ids), len(seen)) == (first, first + 1, first + 1)
    assert trace.stop_reason == "alarm"


def test_an_alarm_is_marked_and_the_answer_goes_on(llama, alarming):
    limit, first = alarming
    monitor = Monitor(llama, PLAIN, threshold=limit, on_alarm="mark")
    assert len(generated(llama, monitor)[-1].answer_ids) == len(monitor.tokens) > first + 1
    assert monitor.alarm == first


def test_an_alarm_calls_back_once(llama, alarming):
    limit, first = alarming
    heard = []
    monitor = Monitor(llama, PLAIN, threshold=limit, on_alarm=heard.append)
    generated(llama, monitor)
    assert heard == [monitor.tokens[first]]


def test_an_alarm_in_a_batch_ends_its_own_answer_alone(llama, alarming):
    limit, first = alarming
    watches = [Watch(monitor=Monitor(llama, PLAIN, threshold=limit)), Watch(monitor=Monitor(llama, PLAIN))]
    stopped, whole = llama.generate_batch([PROMPT, PROMPT], watches=watches, max_new_tokens=COUNT, stop=())
    assert (len(stopped.answer_ids), len(whole.answer_ids)) == (first + 1, COUNT)


def test_a_monitor_of_another_model_or_kind_is_refused(llama):
    for other in (replace(llama, name="another"), llama.with_kind("instruct")):
        with pytest.raises(InvalidInput, match="Got a monitor of"):
            llama.generate(PROMPT, monitor=Monitor(other))


def test_one_monitor_for_two_answers_is_refused(llama):
    watches = [Watch(monitor=Monitor(llama))] * 2
    with pytest.raises(InvalidInput, match="make a monitor for each"):
        llama.generate_batch([PROMPT, PROMPT], watches=watches)


def thinks(lm, part, answer):
    monitor = Monitor(lm, replace(PLAIN, part=part))
    trace = lm.generate(PROMPT, monitor=monitor, answer_prefix=answer, max_new_tokens=1, stop=())
    return monitor, trace


def test_where_a_part_of_an_answer_with_thinking_is_scored_there_is_no_score_so_far(llama):
    monitor, trace = thinks(llama, "answer", "<think>a</think>b")
    assert trace.thinking is not None
    values = [token.uncertainty for token in monitor.tokens]
    opened = next(index for index, value in enumerate(values) if math.isnan(value))
    assert all(map(math.isnan, values[opened:]))
    assert monitor.tokens[-1].layer is None
    whole, trace = thinks(llama, "all", "<think>a</think>b")
    same(whole.tokens[-1], trace, replace(PLAIN, part="all"))
