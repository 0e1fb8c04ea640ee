"""The extras of a trace, against the model's own full attention, hidden states and distribution."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from rauq.capture import logits, session
from rauq.capture.extras import AttentionEntropy, Hidden, HiddenLayers, HiddenMean, Lookback, MaxAttention, PartShares
from rauq.capture.recompute import eager
from rauq.errors import InvalidInput, UnsupportedModel
from rauq.trace.extras import EXTRAS
from rauq.trace.trace import Trace
from tests.architectures import VOCABULARY, named, seeded_prompts, tiny_language_model
from tests.exactness import entropies
from tests.lens import assert_lens
from tests.tiny import PROMPT, chained, raw_logprobs

EXACT = 1e-5
IDF = np.random.default_rng(0).normal(1.0, 0.3, VOCABULARY)
PROMPTS = seeded_prompts(30, 17, 25)
NAMES = (
    *("llama", "mistral-window", "gemma2-softcap-window", "gpt-oss-sinks-window", "llama4-chunked"),
    *("jamba-hybrid", "falcon-alibi"),
)


@dataclass(frozen=True)
class Full:
    """One eager pass over prompt and answer: attention (L, H, T, T) and the hidden states (T, d) before each layer."""

    attention: np.ndarray
    states: list[np.ndarray]


@pytest.fixture(scope="module", params=NAMES)
def lm(request):
    return tiny_language_model(named(request.param))


@pytest.fixture(scope="module")
def llama():
    return tiny_language_model(named("llama"))


def full(lm, trace: Trace) -> Full:
    ids = torch.tensor([[*trace.prompt_ids.tolist(), *trace.answer_ids.tolist()]])
    with eager(lm.model), torch.inference_mode():
        output = lm.model(input_ids=ids, output_attentions=True, output_hidden_states=True, use_cache=False)
    layers = [weights[0].numpy() for weights in output.attentions if weights is not None]
    return Full(np.stack(layers), [states[0].numpy() for states in output.hidden_states])


def expected(lm, trace: Trace) -> dict[str, np.ndarray]:
    """What the extras are, from their definitions."""
    num_prompt, num_answer, middle = len(trace.prompt_ids), len(trace.answer_ids), lm.num_layers // 2
    whole = full(lm, trace)
    rows = whole.attention[:, :, num_prompt - 1 : num_prompt - 1 + num_answer]
    largest = np.zeros((num_answer, num_answer))
    lookback = np.full((*rows.shape[:3], 2), np.nan)
    lookback[..., 0] = rows[..., :num_prompt].mean(axis=-1)
    for row in range(1, num_answer):
        own = rows[:, :, row, num_prompt : num_prompt + row]
        largest[row, :row], lookback[:, :, row, 1] = own.max(axis=(0, 1)), own.mean(axis=-1)
    states = whole.states[middle]
    found = {
        "max_attention": largest,
        "lookback": lookback,
        "hidden": states[:num_prompt].mean(axis=0) if num_answer == 1 else states[num_prompt + num_answer - 2],
        "part_shares": np.stack(
            [rows[..., 0], rows[..., num_prompt:].sum(-1), rows[..., 1:num_prompt].sum(-1)], axis=-1
        ),
        "attention_entropy": entropies(rows),
        "mean_logprob": raw_logprobs(lm, trace).mean(axis=1),
    }
    found["hidden_layers"] = np.stack([each[num_prompt - 1 :][:num_answer] for each in whole.states])
    found["hidden_mean"] = states[: num_prompt + num_answer - 1].mean(axis=0)
    if middle in lm.layers:
        found["diagonal"] = whole.attention[lm.layers.index(middle)].diagonal(axis1=1, axis2=2)
    return found


def focus(logprobs: np.ndarray, ids: np.ndarray, idf: np.ndarray) -> np.ndarray:
    weighed = np.where(np.exp(logprobs) < 0.01, 0, np.exp(logprobs)) * idf
    focused = weighed / weighed.sum(axis=1, keepdims=True)
    bits = [-sum(value * np.log2(value) for value in row if value) for row in focused]
    return np.stack([focused[np.arange(len(ids)), ids], bits], axis=1)


def assert_exact(lm, traces: list[Trace]) -> None:
    for trace in traces:
        wanted = expected(lm, trace)
        assert set(trace.extras) == {*wanted, "focus", "logit_lens"}
        assert_lens(lm, trace)
        for name, array in wanted.items():
            assert trace.extras[name].dtype == np.float32, name
            size = max(1, np.nanmax(np.abs(array)))  # hidden states are not bounded, as weights are
            np.testing.assert_allclose(trace.extras[name], array, atol=EXACT * size, err_msg=name)


def options(lm, **others):
    return {"extras": lm.extras, "idf": IDF, **others}


def test_extras_of_one_answer(lm):
    long = lm.generate(PROMPTS[0], max_new_tokens=14, stop=(), **options(lm))
    one = lm.generate(PROMPTS[1], max_new_tokens=1, stop=(), **options(lm))
    branch = lm.generate(PROMPTS[1], max_new_tokens=3, stop=(), answer_prefix=PROMPTS[0][:3], **options(lm))
    assert_exact(lm, [long, one, branch, lm.read(PROMPTS[2], PROMPTS[0][:9], **options(lm))])


def test_extras_of_padded_batches(lm):
    assert_exact(lm, list(lm.generate_batch(PROMPTS, max_new_tokens=14, stop=(), **options(lm))))
    pairs = [(PROMPTS[0], PROMPTS[2][:5]), (PROMPTS[1], PROMPTS[0][:9]), (PROMPTS[2], PROMPTS[1][:1])]
    assert_exact(lm, list(lm.read_batch(pairs, **options(lm))))


def test_extras_of_samples(lm):
    samples = lm.sample(PROMPTS[1], k=3, max_new_tokens=6, stop=(), **options(lm))
    assert len({tuple(trace.answer_ids) for trace in samples}) > 1
    assert_exact(lm, [*samples, *lm.sample(PROMPTS[1], k=2, max_new_tokens=1, stop=(), **options(lm))])


@pytest.mark.parametrize("end", [True, False])
def test_answers_of_a_batch_that_end_at_different_steps(end):
    lm = chained(tiny_language_model(named("llama")), "abcdefgh", end=end)
    prompts = ["Where?", "What is it? abcd", "How? abcdefg"]
    traces = list(lm.generate_batch(prompts, max_new_tokens=9, stop=("f",) if not end else (), **options(lm)))
    assert len({len(trace.answer_ids) for trace in traces}) == 3
    assert {trace.stop_reason for trace in traces} == ({"eos"} if end else {"stop", "length"})
    assert_exact(lm, traces)
    for trace in traces:
        read = lm.read(trace.prompt_ids, trace.answer_ids, **options(lm))
        for name, array in read.extras.items():
            if name != "logit_lens":  # ranks differ by whole numbers where scores are nearly equal
                np.testing.assert_allclose(trace.extras[name], array, atol=1e-4, rtol=1e-6, err_msg=name)


@pytest.mark.parametrize(("name", "waiting"), [("llama", 4000), ("mistral-window", 0)])
def test_flushing_in_blocks_and_reading_in_passes_changes_nothing(name, waiting, monkeypatch):
    lm = tiny_language_model(named(name))
    monkeypatch.setattr(session, "_FLUSH_BYTES", waiting)
    monkeypatch.setattr(session, "_CHUNK_BYTES", {"cpu": 3000})
    monkeypatch.setattr("rauq.model.generation._READ_LOGITS_BYTES", 7 * 4 * VOCABULARY)
    traces = list(lm.generate_batch(PROMPTS, max_new_tokens=14, stop=(), **options(lm)))
    assert_exact(lm, [*traces, lm.read(PROMPTS[0], PROMPTS[2], **options(lm))])


def test_a_model_that_skips_tokens_of_the_prompt_leaves_them_undefined():
    lm = tiny_language_model(named("gemma4-shared-keys"))
    long, one = (lm.generate(PROMPTS[0], max_new_tokens=most, stop=(), **options(lm)) for most in (5, 1))
    wanted, skipped = expected(lm, long), len(PROMPTS[0]) - 1
    assert np.isnan(long.extras["diagonal"][:, :skipped]).all()
    np.testing.assert_allclose(long.extras["diagonal"][:, skipped:], wanted["diagonal"][:, skipped:], atol=EXACT)
    np.testing.assert_allclose(long.extras["hidden"], wanted["hidden"], atol=EXACT)
    assert np.isnan(one.extras["hidden"]).all()


def test_focus_is_of_the_weighed_distribution(llama):
    traces = [*llama.generate_batch(PROMPTS, max_new_tokens=9, stop=(), extras=("focus",), idf=IDF)]
    traces.append(llama.read(PROMPTS[0], PROMPTS[1], extras=("focus",), idf=IDF))
    for trace in traces:
        wanted = focus(raw_logprobs(llama, trace), trace.answer_ids, IDF)
        np.testing.assert_allclose(trace.extras["focus"], wanted, atol=1e-4)


def test_tokens_without_a_weight_weigh_one(llama):
    short = llama.read(PROMPTS[0], PROMPTS[1], extras=("focus",), idf=IDF[:100])
    padded = np.concatenate([IDF[:100], np.ones(VOCABULARY - 100)])
    np.testing.assert_array_equal(
        short.extras["focus"], llama.read(PROMPTS[0], PROMPTS[1], extras=("focus",), idf=padded).extras["focus"]
    )


def test_focus_is_undefined_where_everything_weighs_nothing_or_something_less(llama):
    some = np.where(np.arange(VOCABULARY) % 2, 1.0, -0.5)
    nothing, mixed = (llama.read(PROMPTS[0], PROMPTS[1], extras=("focus",), idf=idf) for idf in (0 * IDF, some))
    assert np.isnan(nothing.extras["focus"]).all()
    assert np.isnan(mixed.extras["focus"][:, 1]).any()
    assert not np.isinf(mixed.extras["focus"]).any()


def test_without_extras_nothing_is_kept(llama):
    assert not llama.generate(PROMPT, max_new_tokens=2).extras
    assert not llama.read(PROMPT, "a", idf=IDF).extras


def test_extras_leave_the_rest_as_it_is(llama):
    plain = llama.generate(PROMPT, max_new_tokens=6, stop=())
    rich = llama.generate(PROMPT, max_new_tokens=6, stop=(), **options(llama))
    for name in ("answer_ids", "logprobs", "entropies", "attention"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(rich, name))
    with_last_row = llama.generate(PROMPT, max_new_tokens=6, stop=(), last_row=True, **options(llama))
    for name, array in rich.extras.items():
        np.testing.assert_array_equal(with_last_row.extras[name], array)


CALLS = {
    "generate": lambda lm, **others: lm.generate(PROMPT, **others),
    "read": lambda lm, **others: lm.read(PROMPT, "a", **others),
    "sample": lambda lm, **others: lm.sample(PROMPT, **others),
    "generate_batch": lambda lm, **others: lm.generate_batch([PROMPT], **others),
    "read_batch": lambda lm, **others: lm.read_batch([(PROMPT, "a")], **others),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_what_cannot_be_captured_is_refused_at_once(llama, call):
    with pytest.raises(InvalidInput, match=rf"Got extras 'hiden'.*{', '.join(EXTRAS)}"):
        call(llama, extras=("hidden", "hiden"))
    with pytest.raises(InvalidInput, match="Got extras 'hidden'; give a sequence"):
        call(llama, extras="hidden")
    with pytest.raises(InvalidInput, match="pass idf"):
        call(llama, extras=("focus",))
    for idf in ([], np.ones((2, 2)), np.ones(VOCABULARY + 1), ["a"], None, [np.nan], 1.0):
        with pytest.raises(InvalidInput, match="idf"):
            call(llama, extras=("focus",), idf=idf)


@pytest.mark.parametrize("name", ["jamba-hybrid", "qwen3-next-hybrid"])
def test_a_middle_layer_without_attention_has_no_diagonal(name):
    lm = tiny_language_model(named(name))
    middle = lm.num_layers // 2
    assert ("diagonal" in lm.extras) == (middle in lm.layers)
    if middle not in lm.layers:
        with pytest.raises(
            UnsupportedModel, match=rf"'diagonal' cannot be captured.*layer {middle} of {lm.num_layers}"
        ):
            lm.generate(PROMPT, extras=("diagonal",))


MUTANTS = {
    "max_attention": (MaxAttention, "reduce", lambda real: lambda self, rows, first: real(self, rows, first + 1)),
    "lookback": (Lookback, "reduce", lambda real: lambda self, *given: real(self, *given).flip(-1)),
    "hidden": (Hidden, "cut", lambda real: lambda self, item, tokens: real(self, item, tokens + 1)),
    "hidden_mean": (HiddenMean, "cut", lambda real: lambda self, item, tokens: real(self, item, tokens + 1)),
    "hidden_layers": (HiddenLayers, "of", lambda real: lambda self, *given: real(self, *given).roll(1, dims=1)),
    "diagonal": (session, "own_weights", lambda real: lambda query, key, _mask, rest: real(query, key, None, rest)),
    "part_shares": (PartShares, "reduce", lambda real: lambda self, rows, first: real(self, rows, first + 1)),
    "attention_entropy": (AttentionEntropy, "reduce", lambda real: lambda self, *given: real(self, *given).flip(-1)),
    "mean_logprob": (logits, "_mean_of_possible", lambda real: lambda logprobs: real(logprobs[:, 1:])),
}


@pytest.mark.parametrize("extra", MUTANTS)
def test_a_capture_of_wrong_values_is_detected(llama, extra, monkeypatch):
    owner, name, change = MUTANTS[extra]
    monkeypatch.setattr(owner, name, change(getattr(owner, name)))
    traces = list(llama.generate_batch(PROMPTS, max_new_tokens=6, last_row=True, stop=(), **options(llama)))
    with pytest.raises(AssertionError, match=extra):
        assert_exact(llama, traces)
