"""Capturing adds little time and memory, and keeps concurrent generations apart."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from rauq.capture.cache import CachedModel
from rauq.capture.extras import Kept, Layout
from rauq.capture.session import TappedSession
from rauq.model.language_model import LanguageModel
from rauq.trace.extras import EXTRAS
from rauq.trace.trace import Trace
from tests.architectures import named, seeded_prompts, tiny_language_model, tiny_model

LENGTHS = (30, 17, 25)


class _Observed(TorchDispatchMode):
    """Counts the operations, and keeps the size of the largest tensor of their outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.largest = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        del types
        result = operation(*args, **(kwargs or {}))
        self.names.append(str(operation))
        parts = result if isinstance(result, tuple | list) else [result]
        self.largest = max([self.largest, *(part.numel() for part in parts if isinstance(part, torch.Tensor))])
        return result


@pytest.mark.parametrize("extras", [(), EXTRAS], ids=["plain", "extras"])
@pytest.mark.parametrize("padding", [(0,), (3, 0)])
def test_nothing_is_computed_inside_the_decoding_loop(padding, extras):
    model = tiny_model(named("llama"))
    kept = Kept(extras, Layout(padding, (30,) * len(padding)))
    tapped, plain = TappedSession(model, padding, kept), CachedModel(model, padding)
    ids = torch.tensor(seeded_prompts(*[30] * len(padding)))
    step = ids[:, :1]
    with torch.inference_mode():
        tapped.feed(ids, tail=1)
        plain.forward(ids, tail=1)
        with _Observed() as with_capture:
            tapped.feed(step, tail=1)
        with _Observed() as without:
            plain.forward(step, tail=1)
    extra = [name for name in with_capture.names if name not in without.names]
    assert set(extra) <= {"aten.slice.Tensor"}  # the view of the last logits
    assert len(with_capture.names) <= len(without.names) + 1


@pytest.mark.parametrize("extras", [(), [name for name in EXTRAS if name != "focus"]], ids=["plain", "extras"])
def test_no_tensor_grows_with_the_square_of_the_prompt(extras):
    length = 1200
    lm = tiny_language_model(named("llama"), max_position_embeddings=2 * length)
    with _Observed() as observed:
        lm.generate(seeded_prompts(length)[0], max_new_tokens=4, stop=(), last_row=True, extras=extras)
    assert observed.largest < length * length
    with _Observed() as read:
        lm.read(seeded_prompts(length)[0], seeded_prompts(4)[0], extras=extras)
    assert read.largest < length * length


def test_the_record_of_the_prompt_is_no_view_of_the_whole_prompt():
    model = tiny_model(named("llama"))
    feed = TappedSession(model, [0])
    with torch.inference_mode():
        feed.feed(torch.tensor(seeded_prompts(200)), tail=1)
    [query] = feed.active[0].queries
    assert query.untyped_storage().nbytes() == query.nbytes


def test_old_keys_of_a_window_are_dropped():
    lm = tiny_language_model(named("mistral-window"), sliding_window=8)
    feed = TappedSession(lm.model, [0])
    with torch.inference_mode():
        feed.feed(torch.tensor(seeded_prompts(200)), tail=1)
        for token in seeded_prompts(40)[0]:
            feed.feed(torch.tensor([[token]]), tail=1)
    kept = sum(keys.tensor.untyped_storage().nbytes() for keys in feed.active[0].evicted)
    one_key = feed.active[0].keys.tensor[:, :, 0].nbytes
    assert kept <= (40 + 3 * 8) * one_key


def _together(jobs: list[Callable[[], Trace]]) -> list[Trace]:
    start = threading.Barrier(len(jobs))

    def run(job: Callable[[], Trace]) -> Trace:
        start.wait()
        return job()

    with ThreadPoolExecutor(len(jobs)) as pool:
        return list(pool.map(run, jobs))


def _same(trace: Trace, expected: Trace) -> None:
    np.testing.assert_array_equal(trace.answer_ids, expected.answer_ids)
    np.testing.assert_array_equal(trace.attention, expected.attention)


def test_threads_on_two_models_and_on_one_do_not_mix():
    models = [tiny_language_model(named(name)) for name in ("llama", "mistral-window")]
    jobs = [
        lambda lm=lm, ids=ids: lm.generate(ids, max_new_tokens=20, stop=(), last_row=True)
        for lm in models
        for ids in seeded_prompts(*LENGTHS)
    ]
    alone = [job() for job in jobs]
    for trace, expected in zip(_together(jobs), alone, strict=True):
        _same(trace, expected)


def _steps(lm: LanguageModel, ids: list[int]) -> Iterator[TappedSession]:
    feed = TappedSession(lm.model, [0])
    feed.feed(torch.tensor([ids]), tail=1)
    yield feed
    for token in range(10, 15):
        feed.feed(torch.tensor([[token]]), tail=1)
        yield feed


def test_overlapping_captures_of_one_model_do_not_mix():
    lm = tiny_language_model(named("llama"))
    first, second = seeded_prompts(30, 17)
    with torch.inference_mode():
        alone = [list(_steps(lm, ids))[-1].band() for ids in (first, second)]
        overlapping = list(zip(_steps(lm, first), _steps(lm, second), strict=True))[-1]
    for feed, expected in zip(overlapping, alone, strict=True):
        assert torch.equal(feed.band(), expected)


def test_a_thread_that_captures_does_not_record_another_threads_plain_run():
    lm = tiny_language_model(named("llama"))
    feed = TappedSession(lm.model, [0])
    captured, plain = threading.get_ident(), torch.tensor([[7, 8, 9]])
    with ThreadPoolExecutor(1) as pool:

        def run_beside(*_) -> None:
            if threading.get_ident() == captured:
                pool.submit(lm.model, input_ids=plain).result(timeout=60)

        hook = lm.model.register_forward_pre_hook(run_beside)
        with torch.inference_mode():
            feed.feed(torch.tensor(seeded_prompts(30)), tail=1)
        hook.remove()
    assert [record.seen for record in feed.active] == [30, 30, 30]
