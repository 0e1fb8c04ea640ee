"""Prompts and answers as token ids: text, messages or ids in, checked ids out."""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rauq.chat_template import encode_chat, encode_templated, is_templated
from rauq.errors import InvalidInput
from rauq.messages import Message, PromptForm, TemplateOptions, checked_options, is_conversation, messages_of
from rauq.numbers import check_unicode
from rauq.tokens import Tokens

TokensOrText = str | Sequence[int]
PromptLike = TokensOrText | Sequence[Message | Mapping[str, str]]
Given = TypeVar("Given", str, tuple[int, ...])


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """A prompt as the model sees it: its text and token ids, how it was given, and whether the chat template made them.

    Of messages, which are kept beside it, the text is that of the last one.
    """

    text: str
    ids: tuple[int, ...]
    chat_applied: bool
    form: PromptForm = "text"
    messages: tuple[Message, ...] = ()
    template_options: TemplateOptions = field(default_factory=dict)


def encode_prompt(
    tokens: Tokens,
    prompt: PromptLike,
    *,
    chat: bool | None,
    instruct: bool,
    vocab_size: int,
    template_options: TemplateOptions | None = None,
) -> Prompt:
    """Ids of a prompt; `chat` says whether text is wrapped in the chat template, and ids are taken as they are.

    None: text for an `instruct` model is wrapped, unless it has its chat template already.

    Raises:
        InvalidInput: empty, not valid Unicode, an id that the model does not know, messages that cannot be used, no
            chat template, or options for one that is not applied.
    """
    options = checked_options(template_options)
    if is_conversation(prompt):
        return _conversation(tokens, messages_of(prompt), chat=chat, options=options)
    encoded = (
        _text(tokens, prompt, chat=chat, instruct=instruct, options=options)
        if isinstance(prompt, str)
        else _ids(tokens, prompt, vocab_size)
    )
    if options and not encoded.chat_applied:
        message = (
            f"Got template_options, {', '.join(options)}, for a prompt to which no chat template is applied. "
            "Leave them out, or pass chat=True with a plain text."
        )
        raise InvalidInput(message)
    return encoded


def _conversation(
    tokens: Tokens, messages: tuple[Message, ...], *, chat: bool | None, options: TemplateOptions
) -> Prompt:
    if chat is False:
        message = "Got messages with chat=False; only the chat template turns messages into a prompt. Leave out chat."
        raise InvalidInput(message)
    ids = _not_empty("prompt", tuple(encode_chat(tokens, messages, options)))
    return Prompt(
        text=messages[-1].content,
        ids=ids,
        chat_applied=True,
        form="messages",
        messages=messages,
        template_options=options,
    )


def _text(tokens: Tokens, prompt: str, *, chat: bool | None, instruct: bool, options: TemplateOptions) -> Prompt:
    check_unicode(_not_empty("prompt", prompt))
    templated = not chat and is_templated(tokens, prompt)
    if chat or (chat is None and instruct and not templated):
        ids = _not_empty("prompt", tuple(encode_chat(tokens, [Message(role="user", content=prompt)], options)))
        return Prompt(text=prompt, ids=ids, chat_applied=True, template_options=options)
    ids = tuple(encode_templated(tokens, prompt) if templated else tokens.encode(prompt, special=True))
    form: PromptForm = "templated" if templated else "text"
    return Prompt(text=prompt, ids=_not_empty("prompt", ids), chat_applied=False, form=form)


def _ids(tokens: Tokens, prompt: Any, vocab_size: int) -> Prompt:
    ids = _not_empty("prompt", _known(prompt, vocab_size))
    return Prompt(text=tokens.text(ids), ids=ids, chat_applied=False, form="ids")


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
        message = (
            f"Got {type(ids).__name__} ({error}). Give text, or one flat sequence of token ids; a prompt may also be a "
            "list of messages, each with 'role' and 'content'."
        )
        raise InvalidInput(message) from error
    if wrong := [token for token in known if not 0 <= token < vocab_size]:
        message = f"Token id {wrong[0]} is unknown to this model; its ids go from 0 to {vocab_size - 1}."
        raise InvalidInput(message)
    return known
