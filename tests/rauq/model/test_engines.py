"""What generation needs of an engine is what `Engine` says: a third one, of a few lines, passes the same laws."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import rauq
from rauq.arguments import nothing
from rauq.capture.cache import Prefix
from rauq.capture.check import Check
from rauq.capture.extras import Kept
from rauq.errors import InvalidInput, UnsupportedModel
from rauq.model.language_model import LanguageModel
from rauq.model.loading import load_model
from rauq.model.tokens import Tokens
from tests.architectures import byte_tokenizer
from tests.gguf_files import MERGED, save_gguf

LAYERS, HEADS, VOCABULARY = (0, 1, 2), 2, 260


def weights(position, back):
    """The weight of a position on the one so far back: that of every layer and head is another."""
    shares = np.arange(1, len(LAYERS) * HEADS + 1).reshape(len(LAYERS), HEADS) / 10
    return shares * 0.5**back if back <= position else np.full_like(shares, np.nan)


class FakeSession:
    """After token t comes t + 1, with a probability that depends on t alone."""

    def __init__(self, layout, wanted, prefix):
        self.kept, self.offsets, self.seen = Kept((), layout), wanted.offsets, len(prefix.ids)
        self.begins, self.blocks = np.array(layout.begins), []

    def feed(self, ids, *, tail, meanwhile=nothing):
        meanwhile()
        positions = self.seen + np.arange(ids.shape[1])[-tail:] - self.begins[:, None]
        self.seen += ids.shape[1]
        rows = [[[weights(position, back) for back in range(self.offsets)] for position in own] for own in positions]
        self.blocks.append(torch.tensor(np.array(rows), dtype=torch.float32).permute(0, 3, 4, 1, 2))
        return 5 * torch.nn.functional.one_hot((ids[:, -tail:] + 1) % VOCABULARY, VOCABULARY).float()

    def repeat(self, times):
        self.kept.repeat(times)
        self.begins = self.begins.repeat(times)
        self.blocks = [block.repeat_interleave(times, dim=0) for block in self.blocks]

    def band(self):
        return torch.cat(self.blocks, dim=3)

    def latest(self, layers):
        return self.blocks[-1][:, list(layers), :, -1, 0]

    def close(self):
        self.closed = True


class FakeEngine:
    about, run_identity, dtype, runs_alone, lacking = "fake 1", "fake 1", "float32", False, ""
    device, most_together = torch.device("cpu"), 3

    def new_session(self, layout, wanted, prefix, budget):
        assert budget.tokens >= max(layout.answers)
        return FakeSession(layout, wanted, prefix)

    extras = staticmethod(lambda _layers, _num_layers: ("mean_logprob",))
    new_prefixes = staticmethod(lambda: SimpleNamespace(prefix=lambda _sequences, tail: Prefix()))
    running = staticmethod(lambda _doing: nullcontext())
    together = staticmethod(lambda _tokens: nullcontext())
    check = staticmethod(lambda _ids, **_: Check(LAYERS, (0.0,) * 3, (1e-5,) * 3, (0.0,) * 3))


@pytest.fixture(scope="module")
def fake():
    about = {"name": "fake", "revision": "1", "kind": "base", "context_length": 64, "end_ids": frozenset({2})}
    sizes = {"layers": LAYERS, "num_layers": 3, "num_heads": HEADS, "vocab_size": VOCABULARY}
    return LanguageModel(engine=FakeEngine(), tokens=Tokens(byte_tokenizer()), **about, **sizes)


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    save_gguf(file := tmp_path_factory.mktemp("engine") / "tiny.gguf", entries=MERGED)
    return load_model(file, engine="llama.cpp", kind="base")


@pytest.fixture(scope="module")
def transformers(llama):
    return load_model(llama.engine.path, engine="transformers", kind="base")


@pytest.fixture(params=["fake", "llama", "transformers"])
def lm(request):
    return request.getfixturevalue(request.param)


PROMPT, OTHER = [10, 11, 12, 13, 14], [40, 41]


def close(found, expected, within=5e-3):
    assert found.answer_ids.tolist() == expected.answer_ids.tolist()
    np.testing.assert_allclose(found.attention, expected.attention, atol=within)
    np.testing.assert_allclose(found.logprobs, expected.logprobs, atol=within)


def test_reading_an_answer_gives_what_generating_it_gave(lm):
    trace = lm.generate(PROMPT, max_new_tokens=7, stop=(), last_row=True)
    close(lm.read(PROMPT, trace.answer_ids.tolist()), trace)
    assert np.isfinite(rauq.score(trace).uncertainty)
    assert trace.engine == lm.engine.about
    assert lm.check().exact


def test_a_batch_and_a_prefix_give_what_one_prompt_gives(lm):
    options = {"max_new_tokens": 6, "stop": (), "last_row": True}
    for prompt, found in zip([PROMPT, OTHER], lm.generate_batch([PROMPT, OTHER], **options), strict=True):
        alone = lm.generate(prompt, **options)
        close(found, alone)
        first = alone.answer_ids.tolist()[:3]
        close(lm.generate(prompt, answer_prefix=first, max_new_tokens=3, stop=(), last_row=True), alone)


def test_samples_are_read_as_they_were_drawn(lm):
    for trace in lm.sample(PROMPT, k=3, seed=1, max_new_tokens=5, stop=(), last_row=True):
        close(lm.read(PROMPT, trace.answer_ids.tolist()), trace)


def test_a_cancelled_answer_is_kept_as_far_as_it_came(lm):
    heard = SimpleNamespace(count=0)

    def is_set():
        heard.count += 1
        return heard.count > 40

    trace = lm.generate(PROMPT, max_new_tokens=50, stop=(), cancel=SimpleNamespace(is_set=is_set))
    assert trace.stop_reason == "cancelled"
    assert len(trace.answer_ids) < 50


@pytest.fixture(params=["fake", "llama"])
def joining(request):
    return request.getfixturevalue(request.param)


def test_answers_that_join_others_and_leave_them_are_as_if_they_were_alone(joining):
    jobs = [([10 + i % 7, *range(20, 20 + 3 * i)], {"max_new_tokens": 2 + 5 * i % 11, "stop": ()}) for i in range(12)]
    alone = [joining.generate(prompt, last_row=True, **options) for prompt, options in jobs]
    most = max(len(prompt) + options["max_new_tokens"] + 1 for prompt, options in jobs)
    with joining.together(3 * most) as lm, ThreadPoolExecutor(3) as pool:  # less than all of them have together
        found = list(pool.map(lambda job: lm.generate(job[0], last_row=True, **job[1]), jobs))
    for one, expected in zip(found, alone, strict=True):
        close(one, expected)
    close(joining.generate(jobs[5][0], last_row=True, **jobs[5][1]), alone[5])


def test_transformers_lets_none_join(transformers):
    assert transformers.most_together == 0
    with pytest.raises(UnsupportedModel, match="batches of answers that begin together"), transformers.together(100):
        pass


def test_what_an_engine_lacks_is_refused_by_name(llama):
    for extra in ("hidden", "lookback", "logit_lens"):
        with pytest.raises(UnsupportedModel, match=rf"{extra}.*llama.cpp.*transformers"):
            llama.generate(PROMPT, extras=(extra,))
    with pytest.raises(UnsupportedModel, match=r'neither hidden states nor gradients.*engine="transformers"'):
        llama.attribute(llama.generate(PROMPT, max_new_tokens=2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "vllm"}, "Unknown engine 'vllm'; choose one of transformers, llama.cpp"),
        ({"engine": "llama.cpp", "dtype": "bfloat16"}, "bfloat16 was asked for"),
        ({"engine": "llama.cpp", "device_map": "auto"}, "it has no device_map"),
    ],
)
def test_options_that_do_not_go_together_are_refused_before_anything_is_loaded(llama, options, message):
    with pytest.raises(InvalidInput, match=message):
        load_model(llama.engine.path, **options)
    with pytest.raises(InvalidInput, match="is no GGUF file"):
        load_model("atlas", engine="llama.cpp")
