"""Prompts and answers as token ids: text or ids in, checked ids out."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from rauq.errors import InvalidInput
from rauq.tokens import Tokens

TokensOrText = str | Sequence[int]
Given = TypeVar("Given", str, tuple[int, ...])


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """A prompt as the model sees it: the text, its token ids, and whether the chat template made them."""

    text: str
    ids: tuple[int, ...]
    chat_applied: bool


def encode_prompt(tokens: Tokens, prompt: TokensOrText, *, chat: bool, vocab_size: int) -> Prompt:
    """Ids of a prompt; `chat` wraps plain text in the chat template, ids are taken as they are.

    Raises:
        InvalidInput: empty, not valid Unicode, an id that the model does not know, or no chat template.
    """
    if not isinstance(prompt, str):
        ids = _not_empty("prompt", _known(prompt, vocab_size))
        return Prompt(text=tokens.text(ids), ids=ids, chat_applied=False)
    _not_empty("prompt", prompt)
    ids = _not_empty("prompt", tuple(tokens.encode_chat(prompt) if chat else tokens.encode(prompt, special=True)))
    return Prompt(text=prompt, ids=ids, chat_applied=chat)


def encode_answer(tokens: Tokens, answer: TokensOrText, *, vocab_size: int, what: str = "answer") -> tuple[int, ...]:
    """Ids of an answer: text without the tokens that start a sequence, ids as they are; `what` is its name in errors.

    Raises:
        InvalidInput: empty, not valid Unicode, or an id that the model does not know.
    """
    ids = tuple(tokens.encode_answer(answer)) if isinstance(answer, str) else _known(answer, vocab_size)
    return _not_empty(what, ids)


def two_of(pair: object) -> tuple[Any, Any]:
    """Prompt and answer of a pair, as they are.

    Raises:
        InvalidInput: no tuple or list of two.
    """
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        message = f"Got {pair!r} where a pair was expected. Give a prompt and an answer."
        raise InvalidInput(message)
    prompt, answer = pair
    return prompt, answer


def _not_empty(what: str, given: Given) -> Given:
    if not given:
        message = f"The {what} is empty: it has no token. Give some text, or at least one token id."
        raise InvalidInput(message)
    return given


def _known(ids: Sequence[int], vocab_size: int) -> tuple[int, ...]:
    if isinstance(ids, bytes | bytearray):
        message = (
            f"Got {type(ids).__name__}. Give text, or one flat sequence of token ids; bytes must be decoded first."
        )
        raise InvalidInput(message)
    try:
        known = tuple(map(operator.index, ids))
    except TypeError as error:
        message = f"Got {type(ids).__name__} ({error}). Give text, or one flat sequence of token ids."
        raise InvalidInput(message) from error
    if wrong := [token for token in known if not 0 <= token < vocab_size]:
        message = f"Token id {wrong[0]} is unknown to this model; its ids go from 0 to {vocab_size - 1}."
        raise InvalidInput(message)
    return known
