"""AlignScore and COMET compute what a plain forward pass over the published weights computes, one text or many."""

from itertools import permutations

import numpy as np
import pytest
import torch

from analysis.quality.convert import convert
from analysis.quality.learned import load_alignscore, load_comet, sparsemax, split_context
from rauq.errors import ModelNotFound
from tests.checkpoints import (
    aligned,
    alignscore_checkpoint,
    comet_checkpoint,
    comet_score,
    nearest_shares,
    pair_tokenizer,
)

TEXTS = ("It is blue. The sea is deep!", "Ein Fluß fließt.", "no", "a long one " * 15)
COMETS = [
    {"layer_transformation": "sparsemax", "layer_norm": False},  # wmt22-comet-da
    {"layer_transformation": "softmax", "layer_norm": True},  # wmt20-comet-da
]


def folder_of(checkpoint, place):
    torch.save(checkpoint, place / "model.ckpt")
    pair_tokenizer().save_pretrained(place / "tokenizer")
    return convert(place / "model.ckpt", place / "made", tokenizer=str(place / "tokenizer"))


@pytest.fixture(scope="module")
def alignscore(tmp_path_factory):
    checkpoint = alignscore_checkpoint()
    return checkpoint, load_alignscore(folder_of(checkpoint, tmp_path_factory.mktemp("alignscore")))


def supported(checkpoint, chunks, sentences):
    return np.mean([max(aligned(checkpoint, chunk, sentence) for chunk in chunks) for sentence in sentences])


def test_alignscore_is_the_mean_over_sentences_of_the_best_chunk(alignscore):
    checkpoint, score = alignscore
    half = "word " * 199 + "end."
    long = f"{half} Other {half}"
    assert split_context(long) == [half, f"Other {half}"]
    wanted = [
        supported(checkpoint, ["Paris is it."], ["Paris."]),
        supported(checkpoint, ["no"], ["One thing.", "Two things!"]),
        supported(checkpoint, [half, f"Other {half}"], ["It ends.", "Does it?"]),
    ]
    pairs = [("Paris is it.\n", " Paris."), ("no", "One thing. Two things!"), (long, "It ends. Does it?")]
    np.testing.assert_allclose(score(pairs), wanted, atol=1e-5)
    assert np.ptp(wanted) > 0.01


def test_alignscore_does_not_depend_on_the_batch(alignscore):
    pairs = [(context, claim) for context in TEXTS for claim in TEXTS] * 2
    together = alignscore[1](pairs)
    np.testing.assert_allclose(together, [alignscore[1]([pair])[0] for pair in pairs], atol=1e-6)
    np.testing.assert_allclose(together[:16], together[16:], rtol=4e-6)  # 32 roundings of float32
    assert alignscore[1]([]) == []


def test_alignscore_reads_empty_texts_as_the_reference_does(alignscore):
    checkpoint, score = alignscore
    assert score([("", "\n")])[0] == pytest.approx(aligned(checkpoint, "(empty)", "(empty)"), abs=1e-5)


def test_alignscore_of_a_sentence_beyond_the_encoder_is_a_number(alignscore):
    assert 0 <= alignscore[1]([("short. " * 3, "x" * 5000)])[0] <= 1


def test_a_context_stays_whole_below_350_words_and_in_sentences_beyond():
    text = " ".join(["One two three four five six seven."] * 120)
    assert split_context("A b. C d.") == ["A b. C d."]
    assert " ".join(split_context(text)) == text
    assert [len(chunk.split()) for chunk in split_context(text)] == [280, 280, 280]


@pytest.mark.parametrize("settings", COMETS, ids=lambda settings: settings["layer_transformation"])
def test_comet_is_the_forward_pass_in_any_batch(settings, tmp_path):
    checkpoint = comet_checkpoint(**settings)
    score = load_comet(folder_of(checkpoint, tmp_path))
    triples = [*permutations(TEXTS[:3]), TEXTS[1:], (TEXTS[0],) * 3]
    wanted = [comet_score(checkpoint, *triple) for triple in triples]
    np.testing.assert_allclose(score(triples), wanted, atol=2e-5)
    np.testing.assert_allclose(score(triples[5:6]), wanted[5:6], atol=2e-5)
    assert np.ptp(wanted) > 0.01
    assert score([]) == []


@pytest.mark.parametrize("seed", range(5))
def test_sparsemax_is_the_nearest_point_of_the_simplex(seed):
    logits = np.random.default_rng(seed).normal(size=25) / (seed + 1)
    shares = sparsemax(torch.tensor(logits)).numpy()
    np.testing.assert_allclose(shares, nearest_shares(logits), atol=1e-9)
    assert shares.sum() == pytest.approx(1)


@pytest.mark.parametrize("load", [load_alignscore, load_comet])
def test_missing_and_broken_weights_say_how_to_make_them(load, tmp_path):
    with pytest.raises(ModelNotFound, match=r"needs the folder .*python -m analysis convert"):
        load(None)
    with pytest.raises(
        ModelNotFound, match=r"has no config.json and no model.safetensors .*python -m analysis convert"
    ):
        load(tmp_path)
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    (tmp_path / "model.safetensors").write_bytes(b"broken")
    with pytest.raises(ModelNotFound, match=r"cannot be read .*python -m analysis convert"):
        load(tmp_path)


def test_the_weights_of_the_other_model_are_refused(tmp_path):
    with pytest.raises(ModelNotFound, match=r"COMET .*cannot be read|not those of COMET"):
        load_comet(folder_of(alignscore_checkpoint(), tmp_path))
