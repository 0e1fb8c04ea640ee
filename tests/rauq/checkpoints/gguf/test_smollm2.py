"""A real model from its GGUF file: SmolLM2-135M-Instruct, quantised as Q4_1."""

import re
import time
from functools import cache
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from rauq import Settings, score, score_arrays
from rauq.capture.cache import common_length
from rauq.checkpoints.gguf.header import read_header
from rauq.checkpoints.gguf.tokenizer import read_tokenizer
from rauq.checkpoints.loading import find_checkpoint, load_weights
from rauq.checkpoints.model_info import inspect_model
from rauq.checkpoints.store import default_store
from rauq.model.loading import load_model
from tests.real_models import SMOLLM2
from tests.tiny import assert_close

PARAMETERS = 134_515_008
QUESTION = "What is the capital of France?"
TEXTS = ["Name of  12 roses\n\n\tand 3.14é", "def f(x):\n    return x  # 日本", "<|im_start|>user\n"]


@pytest.fixture(scope="module")
def smollm2():
    """Loaded once, which dequantises it for all tests here."""
    return load_model(SMOLLM2, device="cpu")


@pytest.fixture(scope="module")
def folder(smollm2, tmp_path_factory):
    """The same weights as a folder of transformers."""
    (kept,) = [entry.folder for entry in default_store().entries() if entry.folder.name.startswith(smollm2.revision)]
    place = tmp_path_factory.mktemp("smollm2")
    for path in kept.iterdir():
        (place / path.name).symlink_to(path)
    return place


def test_it_is_described_in_a_moment(smollm2):
    began = time.process_time()  # other processes take time too
    info = inspect_model(SMOLLM2, device="cpu", tokens=1000)
    assert time.process_time() - began < 2  # AutoConfig and AutoTokenizer take 12
    assert (info.architecture, info.num_layers, info.num_heads) == ("LlamaForCausalLM", 30, 9)
    assert (info.kind, info.quantisation, info.parameters) == ("instruct", "Q4_1", PARAMETERS)
    assert (info.bytes_in_file, info.bytes_needed) == (98_362_432, 4 * PARAMETERS)
    assert info.bytes_cache == 1000 * 30 * 2 * 3 * 64 * 4
    assert info.kind == smollm2.kind


def test_it_answers_and_is_captured_exactly(smollm2):
    assert smollm2.check().exact
    assert smollm2.generate(QUESTION, max_new_tokens=12).answer == "The capital of France is Paris."
    assert smollm2.end_ids == {2}


def test_questions_share_the_system_prompt_of_the_template_which_is_fed_once(smollm2):
    questions = [QUESTION, "Who wrote Don Quixote?", "What is the chemical symbol of iron?"]
    options = {"max_new_tokens": 8, "last_row": True}
    alone = [smollm2.generate(question, **options) for question in questions]
    shapes, shared = [], common_length([trace.prompt_ids.tolist() for trace in alone])
    hook = smollm2.model.register_forward_pre_hook(
        lambda _module, _args, given: shapes.append(tuple(given["input_ids"].shape)), with_kwargs=True
    )
    together = list(smollm2.generate_batch(questions, **options))
    hook.remove()
    for one, other in zip(together, alone, strict=True):
        assert one.answer_ids.tolist() == other.answer_ids.tolist()
        np.testing.assert_allclose(one.attention, other.attention, atol=1e-4)
        np.testing.assert_allclose(one.logprobs, other.logprobs, atol=1e-3)
    assert shared > 20
    assert shapes[:2] == [(1, shared), (3, max(len(trace.prompt_ids) for trace in alone) - shared)]


def test_the_answer_so_far_is_scored_as_it_will_be(smollm2):
    parts = []
    whole = smollm2.generate(
        "Who is the author of The Trial?",
        max_new_tokens=24,
        last_row=True,
        on_progress=lambda so_far: parts.append(so_far()),
    )
    for part in parts[1::6]:
        number = len(part.answer_ids)
        given = score_arrays(
            whole.previous_token_attention()[..., : number - 1], whole.logprobs[:number],
            Settings(signal="entropy", alpha=0.9), entropies=whole.entropies[:number], vocab_size=whole.vocab_size,
            layer_ids=whole.layers, num_layers=whole.num_layers,
        )  # fmt: skip
        np.testing.assert_allclose(score(part).collapse, given.collapse, atol=1e-4)


def test_the_folder_gives_the_same_bits(smollm2, folder):
    other = load_model(folder, device="cpu", kind="instruct")
    weights = other.model.state_dict()
    assert all(torch.equal(weights[name], found) for name, found in smollm2.model.state_dict().items())
    first, second = (lm.generate(QUESTION, max_new_tokens=4) for lm in (smollm2, other))
    assert_close(first, second)


def test_the_logits_are_those_of_transformers_own_reader(smollm2, monkeypatch):
    for slow in ("GGUFReader", "get_tensor_name_map"):  # asked 2 and 397 times for the same
        monkeypatch.setattr(gguf, slow, cache(getattr(gguf, slow)))
    theirs = AutoModelForCausalLM.from_pretrained(SMOLLM2.parent, gguf_file=SMOLLM2.name, dtype=torch.float32)
    for text in (QUESTION, *TEXTS):
        ids = torch.tensor([smollm2.encode(text).ids])
        with torch.inference_mode():
            found, expected = (model.eval()(ids).logits for model in (smollm2.model, theirs))
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-4)
        assert expected.abs().max() > 10


def test_the_tokenizer_that_is_kept_is_that_of_the_file(smollm2):
    read = read_tokenizer(read_header(SMOLLM2))
    assert [smollm2.tokens.tokenizer(text).input_ids for text in TEXTS] == [read(text).input_ids for text in TEXTS]
    assert smollm2.tokens.tokenizer.chat_template == read.chat_template


def test_loading_takes_no_more_memory_than_the_weights(folder):
    """Of this process, from before to the peak while loading; mapped files count."""
    if not Path("/proc/self/clear_refs").exists():
        return  # no other system says so
    checkpoint = find_checkpoint(str(folder), revision=None)
    before = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    model = load_weights(checkpoint, device="cpu", dtype="float32", takes_less="")
    peak = memory("VmHWM") - before
    assert peak < 1.1 * sum(weights.nbytes for weights in model.parameters())
    assert peak > 0


def memory(name):
    return 1024 * int(re.search(rf"^{name}:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)[1])
