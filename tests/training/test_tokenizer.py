"""Tokenizer and rows: every text comes back, digits are single tokens, and no document is lost or cut."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from training import rows, tokenizer
from training.names import invent

TEXTS = ["Q: What is the calling code of France?\nA: It is +33.\n", "German: Die Tür kostet 20 Euro.\n"] * 3


@pytest.fixture(scope="module")
def trained():
    return tokenizer.train(TEXTS, size=400)


@given(text=st.text(max_size=40))
def test_every_text_comes_back(trained, text):
    ids = trained.encode(text).ids
    assert ids[0] == tokenizer.BOS_ID
    assert trained.decode(ids[1:], skip_special_tokens=False) == text


def test_digits_are_single_tokens(trained):
    pieces = [trained.decode([token]) for token in trained.encode("+33 and 2050").ids]
    assert [piece for piece in pieces if any(map(str.isdigit, piece))] == list("332050")


def test_documents_run_from_start_to_end(trained):
    (ids,) = tokenizer.encode(trained, TEXTS[:1])
    assert (ids[0], ids[-1]) == (tokenizer.BOS_ID, tokenizer.EOS_ID)
    assert [trained.token_to_id(token) for token in (tokenizer.PAD, tokenizer.BOS, tokenizer.EOS)] == [0, 1, 2]


def test_transformers_loads_what_is_saved(trained, tmp_path):
    tokenizer.save(trained, tmp_path)
    assert AutoTokenizer.from_pretrained(tmp_path)(TEXTS[0]).input_ids == trained.encode(TEXTS[0]).ids


def test_rows_hold_every_document_whole_and_once():
    rng = Random(0)
    documents = [[number + 3] * rng.randrange(1, 33) for number in range(500)]
    packed = rows.pack(documents, length=32, pad=0)
    flat = packed.ravel().tolist()
    assert sorted(token for token in flat if token) == sorted(token for tokens in documents for token in tokens)
    for document in documents:
        text, whole = packed.tolist(), document
        assert any(row[place : place + len(whole)] == whole for row in text for place in range(33 - len(whole)))
    assert (packed == 0).mean() < 0.05


def test_a_document_longer_than_a_row_is_left_out():
    np.testing.assert_array_equal(rows.pack([[5] * 9, [6] * 4], length=8, pad=0), [[6, 6, 6, 6, 0, 0, 0, 0]])


def test_names_are_distinct_and_seeded():
    names = invent("last", 5000, Random(1))
    assert len(set(names)) == 5000
    assert names == invent("last", 5000, Random(1))
