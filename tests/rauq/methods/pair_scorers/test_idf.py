"""Inverse document frequencies: the formula, the file, and those of the embedded model."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from rauq.errors import InvalidInput
from rauq.methods.pair_scorers.idf import idf_of, load_idf, save_idf
from tests.hostile import ATTACK


def test_the_formula_by_hand():
    idf = idf_of([[1, 5, 5], [1, 4], [1]], vocab_size=6)
    np.testing.assert_allclose(idf, [math.log(3 / times) for times in (1, 4, 1, 1, 2, 2)], rtol=1e-15)


@settings(max_examples=40)
@given(st.lists(st.lists(st.integers(0, 9), max_size=6), min_size=1, max_size=8), st.randoms())
def test_order_and_repetition_do_not_matter_and_rarer_weighs_more(documents, random):
    idf = idf_of(documents, vocab_size=10)
    shuffled = [random.sample(ids * 2, 2 * len(ids)) for ids in random.sample(documents, len(documents))]
    assert (idf == idf_of(shuffled, vocab_size=10)).all()
    have = np.array([sum(token in ids for ids in documents) for token in range(10)])
    assert (np.argsort(-idf, kind="stable") == np.argsort(have, kind="stable")).all()


@pytest.mark.parametrize("documents", [[], [[0], [10]], [[-1]]])
def test_no_documents_and_foreign_tokens_are_refused(documents):
    with pytest.raises(InvalidInput, match=r"Give at least one|outside of 0 to 9\. Use the model's own tokenizer"):
        idf_of(documents, vocab_size=10)


def test_the_file_gives_back_what_was_written(tmp_path):
    idf = idf_of([[0, 2]], vocab_size=4)
    save_idf(idf, tmp_path / "idf.safetensors")
    read = load_idf(tmp_path / "idf.safetensors")
    assert (read == idf).all()
    assert not read.flags.writeable
    with pytest.raises(InvalidInput, match="cannot be written"):
        save_idf(idf, tmp_path / "none" / "idf.safetensors")


HOSTILE = {
    "other": {"weights": np.zeros(3)},
    "flat": {"idf": np.zeros((2, 2))},
    "empty": {"idf": np.zeros(0)},
    "whole": {"idf": np.zeros(3, dtype=np.int64)},
    "nan": {"idf": np.array([0.0, np.nan])},
    "infinite": {"idf": np.array([0.0, np.inf])},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_other_arrays_are_refused(name, tmp_path):
    save_file(HOSTILE[name], tmp_path / name)
    with pytest.raises(InvalidInput, match="Make it with python -m analysis idf"):
        load_idf(tmp_path / name)


@pytest.mark.parametrize("content", [b"", b"\x80\x04", ATTACK.encode(), (2**62).to_bytes(8, "little") + b"{}"])
def test_other_files_are_refused(content, tmp_path):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(InvalidInput, match="is no file of document frequencies"):
        load_idf(tmp_path / "file")


def test_a_file_that_is_too_large_or_not_there_is_refused(tmp_path):
    with (tmp_path / "large").open("wb") as file:
        file.truncate(2**27)
    for name, reason in {"large": "134,217,728 bytes", "none": "cannot be read", "": "cannot be read"}.items():
        with pytest.raises(InvalidInput, match=reason):
            load_idf(tmp_path / name)


def test_the_embedded_models_are_counts_of_its_corpus():
    """One number for each of its 6,144 tokens; how many documents there are is known from tests/training."""
    idf, number = load_idf("atlas"), 274_254
    counts = number / np.exp(idf) - 1
    np.testing.assert_allclose(counts, counts.round(), atol=1e-6)
    assert (len(idf), counts.min().round(), counts.max().round()) == (6144, 0, number)
    assert counts[:3].round().tolist() == [0, number, 0], "padding, begin, end: documents have no end"
