"""A real quantised model: recorded answers of transformers, read by llama.cpp, and the ids of both tokenizers."""

from pathlib import Path

import numpy as np
import pytest

import rauq
from rauq.model.loading import load_model
from tests.real_models import SMOLLM2
from tests.token_texts import token_texts

RECORDED = sorted(Path(rauq.__file__).with_name("recorded").glob("traces/*-smollm2.safetensors"))


@pytest.fixture(scope="module")
def smollm2():
    return load_model(SMOLLM2, engine="llama.cpp")


def test_recorded_answers_have_nearly_the_same_scores_and_heads(smollm2):
    traces = [rauq.Trace.load(path) for path in RECORDED]
    read = [smollm2.read(trace.prompt_ids.tolist(), trace.answer_ids.tolist()) for trace in traces]
    ours, theirs = ([rauq.score(trace) for trace in several] for several in (read, traces))
    assert max(abs(one.uncertainty - other.uncertainty) for one, other in zip(ours, theirs, strict=True)) < 0.02
    same = np.concatenate([one.heads == other.heads for one, other in zip(ours, theirs, strict=True)])
    assert same.mean() > 0.97
    differences = [np.nanmean(abs(one.attention - other.attention)) for one, other in zip(read, traces, strict=True)]
    assert max(differences) < 3e-3
    assert smollm2.check().exact


def test_llama_cpps_own_tokenizer_gives_the_same_ids(smollm2):
    texts = list(token_texts())
    ask = smollm2.engine.process().ask
    wrong = [
        text for text in texts if smollm2.tokens.encode(text, special=False) != ask("tokenize", text=text).header["ids"]
    ]
    assert (wrong, len(texts)) == ([], 200)


def test_the_same_call_gives_the_same_numbers_whatever_came_before(smollm2):
    first = smollm2.generate("Who wrote Hamlet?", max_new_tokens=8)
    smollm2.generate("Name three rivers of Africa, and say where each of them ends.", max_new_tokens=4)
    again = smollm2.generate("Who wrote Hamlet?", max_new_tokens=8)
    assert again.logprobs.tolist() == first.logprobs.tolist()
    assert np.array_equal(again.attention, first.attention, equal_nan=True)
