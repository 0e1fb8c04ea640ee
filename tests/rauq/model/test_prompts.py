"""Text or token ids in, checked ids out."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from tokenizers import processors

from rauq.errors import InvalidInput
from rauq.model.context import encode_answer, encode_prompt
from rauq.model.tokens import Tokens
from tests.architectures import VOCABULARY, byte_tokenizer

TOKENS = Tokens(byte_tokenizer())


def prompt_of(given, *, chat=False, tokens=TOKENS):
    return encode_prompt(tokens, given, chat=chat, instruct=False, vocab_size=VOCABULARY)


def answer_of(given):
    return encode_answer(TOKENS, given, vocab_size=VOCABULARY)


def test_text_and_its_ids_are_the_same_prompt():
    from_text = prompt_of("Where?")
    assert prompt_of(from_text.ids) == replace(from_text, form="ids")
    assert from_text.text == "Where?"
    assert not from_text.chat_applied


@pytest.mark.parametrize(
    "ids",
    [[5, 6], (5, 6), range(5, 7), np.array([5, 6]), np.array([5, 6], np.uint8), torch.tensor([5, 6])],
    ids=lambda ids: type(ids).__name__,
)
def test_any_flat_sequence_of_integers_is_taken(ids):
    assert prompt_of(ids).ids == answer_of(ids) == (5, 6)


@pytest.mark.parametrize(
    "ids",
    [
        None,
        5,
        b"abc",
        [5.0, 6.5],
        ["5", "6"],
        [None],
        [[5, 6]],
        np.array([5.0, 6.0]),
        np.array([[5, 6]]),
        torch.tensor([[5, 6]]),
        torch.tensor([5.5]),
        {"input_ids": [5]},
    ],
    ids=str,
)
def test_anything_else_is_refused(ids):
    for encode in (prompt_of, answer_of):
        with pytest.raises(InvalidInput, match=r"(Give text, or one flat sequence of token ids|is empty)"):
            encode(ids)


@pytest.mark.parametrize("raw", [b"abc", bytearray(b"abc"), b""], ids=repr)
def test_bytes_are_named(raw):
    for encode in (prompt_of, answer_of):
        with pytest.raises(InvalidInput, match=rf"Got {type(raw).__name__}\..*must be decoded"):
            encode(raw)


@pytest.mark.parametrize("token", [-1, VOCABULARY, 2**70])
def test_an_unknown_id_is_named(token):
    for encode in (prompt_of, answer_of):
        with pytest.raises(InvalidInput, match=rf"Token id {token} is unknown .* from 0 to {VOCABULARY - 1}"):
            encode([5, token])


@pytest.mark.parametrize("empty", ["", [], (), np.array([], int), torch.tensor([], dtype=torch.long)], ids=repr)
def test_nothing_is_refused(empty):
    with pytest.raises(InvalidInput, match="The prompt is empty"):
        prompt_of(empty)
    with pytest.raises(InvalidInput, match="The answer is empty"):
        answer_of(empty)


def test_only_text_gets_the_chat_template():
    tokenizer = byte_tokenizer()
    tokenizer.chat_template = "[{{ messages[0].content }}]"
    tokens = Tokens(tokenizer)
    chat = prompt_of("Where?", chat=True, tokens=tokens)
    assert (chat.text, tokens.text(chat.ids), chat.chat_applied) == ("Where?", "[Where?]", True)
    ids = prompt_of([70, 71], chat=True, tokens=tokens)
    assert (ids.ids, ids.chat_applied) == ((70, 71), False)


def test_the_start_token_begins_a_prompt_and_never_an_answer():
    tokenizer = byte_tokenizer()
    start = tokenizer.bos_token_id
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        "<s> $A", special_tokens=[("<s>", start)]
    )
    tokenizer.chat_template = "<s>{{ messages[0].content }}"
    tokens = Tokens(tokenizer)
    plain = tokens.encode("ab", special=False)
    assert prompt_of("ab", chat=False, tokens=tokens).ids == (start, *plain)
    assert prompt_of("ab", chat=True, tokens=tokens).ids == (start, *plain)  # once
    assert encode_answer(tokens, "ab", vocab_size=VOCABULARY) == tuple(plain)
