"""Prompts and answers as token ids that fit the context of a model, and the limits of an answer."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rauq.cancellation import Cancel
from rauq.chat_template import end_of_answer
from rauq.errors import InvalidInput
from rauq.generation import Limits, stop_strings
from rauq.messages import TemplateOptions
from rauq.prompts import Prompt, PromptLike, TokensOrText, encode_answer, encode_prompt, two_of

if TYPE_CHECKING:
    from rauq.language_model import LanguageModel


def encode(
    lm: "LanguageModel", prompt: PromptLike, *, chat: bool | None, template_options: TemplateOptions | None
) -> Prompt:
    """A prompt that leaves room for an answer.

    Raises:
        InvalidInput: it cannot be used, or it is too long.
    """
    encoded = _encode(lm, prompt, chat=chat, template_options=template_options)
    room_after(lm, len(encoded.ids))
    return encoded


def encode_pair(
    lm: "LanguageModel", pair: object, *, chat: bool | None, template_options: TemplateOptions | None, end: bool = False
) -> tuple[Prompt, tuple[int, ...]]:
    """A prompt, and the ids of an answer that is there already; `end` appends the end token where there is none yet.

    Raises:
        InvalidInput: no pair, one of them cannot be used, no end token is known, or together they are too long.
    """
    prompt, answer = two_of(pair)
    encoded = _encode(lm, prompt, chat=chat, template_options=template_options)
    ids = encode_answer(lm.tokens, answer, vocab_size=lm.vocab_size)
    if end and ids[-1] not in lm.end_ids:
        ids = (*ids, end_token(lm, chat=encoded.chat_applied or lm.kind == "instruct"))
    room_after(lm, len(encoded.ids) + len(ids), needed=0)
    return encoded, ids


def end_token(lm: "LanguageModel", *, chat: bool) -> int:
    """The token that ends an answer: in a chat the one that the template writes after it, else the first known one.

    Known are the end tokens of the generation config, then that of the tokenizer.

    Raises:
        InvalidInput: the model has none.
    """
    if chat and (found := end_of_answer(lm.tokens, lm.end_ids)) is not None:
        return found
    given = getattr(lm.model.generation_config, "eos_token_id", None)
    known = [*(given if isinstance(given, list) else [given]), lm.tokens.tokenizer.eos_token_id]
    if (first := next((token for token in known if token in lm.end_ids), None)) is None:
        message = f"{lm.name} has no known end token. Pass end=False."
        raise InvalidInput(message)
    return int(first)


def encode_prefix(lm: "LanguageModel", prefix: TokensOrText) -> tuple[int, ...]:
    """The ids of the start of an answer.

    Raises:
        InvalidInput: it cannot be used.
    """
    return encode_answer(lm.tokens, prefix, vocab_size=lm.vocab_size, what="answer prefix")


def limits_of(
    lm: "LanguageModel",
    *,
    max_new_tokens: int,
    stop: str | Sequence[str] | None,
    last_row: bool,
    cancel: Cancel | None,
) -> Limits:
    """The limits that were asked for; without stop strings, those of this kind of model.

    Raises:
        InvalidInput: no whole number of tokens, or an unusable stop string.
    """
    strings = stop_strings(stop, lm.kind)
    return Limits(max_new_tokens=max_new_tokens, stop=strings, last_row=last_row, cancel=cancel)


def within_context(lm: "LanguageModel", limits: Limits, num_tokens: int) -> Limits:
    """The same limits, shortened to what fits after so many tokens.

    Raises:
        InvalidInput: no token fits.
    """
    room = room_after(lm, num_tokens)
    return limits if room is None else replace(limits, max_new_tokens=min(limits.max_new_tokens, room))


def room_after(lm: "LanguageModel", num_tokens: int, *, needed: int = 1) -> int | None:
    """Tokens that still fit after so many; None where the model's context has no known limit.

    Raises:
        InvalidInput: fewer fit than are needed.
    """
    if lm.context_length is None:
        return None
    room = lm.context_length - num_tokens
    if room < needed:
        message = (
            f"Got {num_tokens} tokens, and {lm.name} takes {lm.context_length} of prompt and answer together. "
            f"Shorten the text by {needed - room} tokens or more."
        )
        raise InvalidInput(message)
    return room


def _encode(
    lm: "LanguageModel", prompt: PromptLike, *, chat: bool | None, template_options: TemplateOptions | None
) -> Prompt:
    instruct = lm.kind == "instruct"
    return encode_prompt(
        lm.tokens, prompt, chat=chat, instruct=instruct, vocab_size=lm.vocab_size, template_options=template_options
    )
