"""A model without its weights: prompts and answers as token ids that fit its context, and the limits of an answer."""

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from rauq.arguments import Cancel, check_unicode, is_whole
from rauq.errors import InvalidInput, UnsupportedModel
from rauq.model.templated import as_templated, encode_templated, end_of_answer
from rauq.model.templates.prompt_parts import PromptParts, find_prompt_parts
from rauq.model.templates.template import write
from rauq.model.templates.template_checks import check_known, notes_on
from rauq.model.tokens import Tokens
from rauq.trace.messages import Message, PromptForm, TemplateOptions, checked_options, is_conversation, messages_of
from rauq.trace.prompt_parts import PromptPart
from rauq.trace.trace import Kind

TokensOrText = str | Sequence[int]
PromptLike = TokensOrText | Sequence[Message | Mapping[str, Any]]
Given = TypeVar("Given", str, tuple[int, ...])
_MOST_NAMED = 3  # tokens in an error
_TEMPLATED = "The prompt already contains this model's chat template, so none was applied."
_OTHER_ENDS = "Its line ends were changed to those of the template."


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """A prompt as the model sees it: its text and token ids, how it was given, and whether the chat template made them.

    Of messages, which are kept beside it, the text is that of the last one. `notes` are sentences on what was done to
    the text that was given, such as line ends that were changed. `parts` are those that were asked for,
    `part_texts` what stands in them.
    """

    text: str
    ids: tuple[int, ...]
    chat_applied: bool
    form: PromptForm = "text"
    messages: tuple[Message, ...] = ()
    template_options: TemplateOptions = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    parts: tuple[PromptPart, ...] = ()
    part_texts: tuple[str, ...] = ()


def encode_prompt(
    tokens: Tokens,
    prompt: PromptLike,
    *,
    chat: bool | None,
    instruct: bool,
    vocab_size: int,
    template_options: TemplateOptions | None = None,
    prompt_parts: PromptParts | None = None,
) -> Prompt:
    """Ids of a prompt; `chat` says whether text is wrapped in the chat template, and ids are taken as they are.

    None: text for an `instruct` model is wrapped, unless it has its chat template already.

    Raises:
        InvalidInput: empty, not valid Unicode, an id that the model does not know, messages that cannot be used, no
            chat template, options for one that is not applied, or parts that are not in the prompt.
    """
    options = checked_options(template_options)
    if is_conversation(prompt):
        found = _conversation(tokens, messages_of(prompt), chat=chat, options=options)
        _check_embedded(tokens, found.ids, vocab_size)
        return _with_parts(tokens, found, prompt_parts)
    encoded = (
        _text(tokens, prompt, chat=chat, instruct=instruct, options=options)
        if isinstance(prompt, str)
        else _ids(tokens, prompt, vocab_size)
    )
    if options and not encoded.chat_applied:
        message = (
            f"Got template options, {', '.join(options)}, for a prompt to which no chat template is applied. Leave "
            "them out."
        )
        raise InvalidInput(message)
    _check_embedded(tokens, encoded.ids, vocab_size)
    return _with_parts(tokens, encoded, prompt_parts)


def _with_parts(tokens: Tokens, prompt: Prompt, given: PromptParts | None) -> Prompt:
    if given is None:
        return prompt
    user = (Message(role="user", content=prompt.text),) if prompt.chat_applied else ()
    texts = tokens.texts(prompt.ids)
    parts = find_prompt_parts(
        given,
        texts,
        text=prompt.text,
        tokenizer=tokens.tokenizer,
        messages=prompt.messages or user,
        options=prompt.template_options,
    )
    return replace(prompt, parts=parts, part_texts=tuple("".join(texts[part.start : part.stop]) for part in parts))


def _conversation(
    tokens: Tokens, messages: tuple[Message, ...], *, chat: bool | None, options: TemplateOptions
) -> Prompt:
    if chat is False:
        message = "Got messages with chat=False; only the chat template turns messages into a prompt. Leave out chat."
        raise InvalidInput(message)
    return replace(_written(tokens, messages, options), form="messages", messages=messages)


def _text(tokens: Tokens, prompt: str, *, chat: bool | None, instruct: bool, options: TemplateOptions) -> Prompt:
    check_unicode(_not_empty("prompt", prompt))
    templated = None if chat else as_templated(tokens, prompt)
    if templated is not None:
        ids = _not_empty("prompt", tuple(encode_templated(tokens, templated.text)))
        notes = (_TEMPLATED, _OTHER_ENDS) if templated.has_other_ends else (_TEMPLATED,)
        return Prompt(text=prompt, ids=ids, chat_applied=False, form="templated", notes=notes)
    if chat or (chat is None and instruct):
        return _written(tokens, (Message(role="user", content=prompt),), options)
    ids = _not_empty("prompt", tuple(tokens.encode(prompt, special=True)))
    return Prompt(text=prompt, ids=ids, chat_applied=False)


def _written(tokens: Tokens, messages: tuple[Message, ...], options: TemplateOptions) -> Prompt:
    """What the chat template writes for messages, up to where the assistant begins."""
    written = write(tokens.tokenizer, messages, options)
    check_known(tokens.tokenizer, messages, options, written)
    return Prompt(
        text=messages[-1].content,
        ids=_not_empty("prompt", tuple(tokens.encode(written.text, special=False))),
        chat_applied=True,
        template_options=options,
        notes=tuple(notes_on(messages, written)),
    )


def _ids(tokens: Tokens, prompt: Any, vocab_size: int) -> Prompt:
    ids = _not_empty("prompt", _known(prompt, vocab_size))
    return Prompt(text=tokens.text(ids), ids=ids, chat_applied=False, form="ids")


def encode_answer(tokens: Tokens, answer: TokensOrText, *, vocab_size: int, what: str = "answer") -> tuple[int, ...]:
    """Ids of an answer: text without the tokens that start a sequence, ids as they are; `what` is its name in errors.

    Raises:
        InvalidInput: empty, not valid Unicode, or an id that the model does not know.
    """
    ids = tuple(tokens.encode_answer(answer)) if isinstance(answer, str) else _known(answer, vocab_size)
    _check_embedded(tokens, ids, vocab_size)
    return _not_empty(what, ids)


def two_of(pair: object) -> tuple[Any, Any]:
    """Prompt and answer of a pair, as they are.

    Raises:
        InvalidInput: not a tuple or list of two.
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


def _check_embedded(tokens: Tokens, ids: Sequence[int], vocab_size: int) -> None:
    """Refuse the ids of a text whose tokenizer has tokens that the model does not have."""
    if beyond := [token for token in dict.fromkeys(ids) if token >= vocab_size]:
        names = ", ".join(f"{tokens.text([token])!r} (id {token})" for token in beyond[:_MOST_NAMED])
        more = f" and {len(beyond) - _MOST_NAMED} more" if len(beyond) > _MOST_NAMED else ""
        message = (
            f"The tokenizer gives tokens that the model does not have: {names}{more}; its ids go from 0 to "
            f"{vocab_size - 1}. Use the tokenizer that the model was trained with, or a text and a chat template "
            "without these tokens."
        )
        raise InvalidInput(message)


@dataclass(frozen=True, eq=False, kw_only=True)
class ModelDescription:
    """A loaded model without its weights: what is needed to encode a prompt and to describe a trace.

    `layers` are the absolute numbers of those that have attention, `end_ids` the tokens that end an answer, and
    `configured_end_ids` those that the generation config names, in its order. `context_length` is the most tokens of
    prompt and answer together (None: no limit known), `quantisation` how a GGUF file stores the weights, or how they
    were quantised when loaded, `adapter` what was applied to them ("" otherwise).
    """

    name: str
    revision: str
    kind: Kind
    tokens: Tokens
    layers: tuple[int, ...]
    num_layers: int
    num_heads: int
    vocab_size: int
    context_length: int | None
    end_ids: frozenset[int]
    configured_end_ids: tuple[int, ...] = ()
    quantisation: str = ""
    adapter: str = ""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """When an answer ends; `last_row` runs the last token once more, to capture its own attention."""

    max_new_tokens: int = 128
    stop: tuple[str, ...] = ()
    last_row: bool = False
    cancel: Cancel | None = None

    def __post_init__(self) -> None:
        if not (is_whole(self.max_new_tokens) and self.max_new_tokens >= 1):
            message = f"Got max_new_tokens={self.max_new_tokens!r}; it must be a whole number, at least 1."
            raise InvalidInput(message)
        for stop in self.stop:
            _check_stop(stop)


def encode(
    model: ModelDescription,
    prompt: PromptLike,
    *,
    chat: bool | None = None,
    template_options: TemplateOptions | None = None,
    prompt_parts: PromptParts | None = None,
) -> Prompt:
    """A prompt that leaves room for an answer.

    Raises:
        InvalidInput: it cannot be used, or it is too long.
    """
    encoded = _encode(model, prompt, chat=chat, template_options=template_options, prompt_parts=prompt_parts)
    room_after(model, len(encoded.ids))
    return encoded


def encode_pair(
    model: ModelDescription,
    pair: object,
    *,
    chat: bool | None = None,
    template_options: TemplateOptions | None = None,
    prompt_parts: PromptParts | None = None,
    end: bool = False,
) -> tuple[Prompt, tuple[int, ...]]:
    """A prompt, and the ids of an answer that is there already; `end` appends the end token where there is none yet.

    Raises:
        InvalidInput: no pair, one of them cannot be used, no end token is known, or together they are too long.
    """
    prompt, answer = two_of(pair)
    encoded = _encode(model, prompt, chat=chat, template_options=template_options, prompt_parts=prompt_parts)
    ids = encode_answer(model.tokens, answer, vocab_size=model.vocab_size)
    if end and ids[-1] not in model.end_ids:
        ids = (*ids, end_token(model, chat=encoded.chat_applied or model.kind == "instruct"))
    room_after(model, len(encoded.ids) + len(ids), needed=0)
    return encoded, ids


def end_token(model: ModelDescription, *, chat: bool) -> int:
    """The token that ends an answer: in a chat the one that the template writes after it, else the first known one.

    Known are the end tokens of the generation config, then that of the tokenizer.

    Raises:
        InvalidInput: the model has none.
    """
    if chat and (found := end_of_answer(model.tokens, model.end_ids)) is not None:
        return found
    known = (*model.configured_end_ids, model.tokens.tokenizer.eos_token_id)
    if (first := next((token for token in known if token in model.end_ids), None)) is None:
        message = f"{model.name} has no known end token, so none can be appended. Score the answer without one."
        raise InvalidInput(message)
    return int(first)


def known_ends(given: Any, vocab_size: int) -> tuple[int, ...]:
    """The end tokens that a generation config or a tokenizer names, of those that the model can give.

    Raises:
        UnsupportedModel: something other than token ids, with which answers would not end where they should.
    """
    listed = [token for token in (given if isinstance(given, list) else [given]) if token is not None]
    if wrong := [token for token in listed if type(token) is not int]:
        message = (
            f"Got the end token eos_token_id={wrong[0]!r}; it must be a whole number, or a list of them. Correct it in "
            "the model's generation_config.json."
        )
        raise UnsupportedModel(message)
    return tuple(token for token in listed if 0 <= token < vocab_size)


def encode_prefix(model: ModelDescription, prefix: TokensOrText) -> tuple[int, ...]:
    """The ids of the start of an answer.

    Raises:
        InvalidInput: it cannot be used.
    """
    return encode_answer(model.tokens, prefix, vocab_size=model.vocab_size, what="answer prefix")


def limits_of(
    model: ModelDescription,
    *,
    max_new_tokens: int = 128,
    stop: str | Sequence[str] | None = None,
    last_row: bool = False,
    cancel: Cancel | None = None,
) -> Limits:
    """The limits that were asked for; without stop strings, those of this kind of model.

    Raises:
        InvalidInput: no whole number of tokens, or an unusable stop string.
    """
    strings = stop_strings(stop, model.kind)
    return Limits(max_new_tokens=max_new_tokens, stop=strings, last_row=last_row, cancel=cancel)


def within_context(model: ModelDescription, limits: Limits, num_tokens: int) -> Limits:
    """The same limits, shortened to what fits after so many tokens.

    Raises:
        InvalidInput: no token fits.
    """
    room = room_after(model, num_tokens)
    return limits if room is None else replace(limits, max_new_tokens=min(limits.max_new_tokens, room))


def room_after(model: ModelDescription, num_tokens: int, *, needed: int = 1) -> int | None:
    """Tokens that still fit after so many; None where the model's context has no known limit.

    Raises:
        InvalidInput: fewer fit than are needed.
    """
    if model.context_length is None:
        return None
    room = model.context_length - num_tokens
    if room < needed:
        message = (
            f"Got {num_tokens} tokens, and {model.name} takes {model.context_length} of prompt and answer together. "
            f"Shorten the text by {needed - room} tokens or more."
        )
        raise InvalidInput(message)
    return room


def _encode(
    model: ModelDescription,
    prompt: PromptLike,
    *,
    chat: bool | None,
    template_options: TemplateOptions | None,
    prompt_parts: PromptParts | None,
) -> Prompt:
    instruct = model.kind == "instruct"
    return encode_prompt(
        model.tokens,
        prompt,
        chat=chat,
        instruct=instruct,
        vocab_size=model.vocab_size,
        template_options=template_options,
        prompt_parts=prompt_parts,
    )


def stop_strings(given: str | Sequence[str] | None, kind: Kind) -> tuple[str, ...]:
    """The strings that were given, or those of this kind of model: newline for base, none for instruct."""
    if given is None:
        return ("\n",) if kind == "base" else ()
    several: Any = given
    return tuple(several) if isinstance(several, Iterable) and not isinstance(several, str | bytes) else (several,)


def _check_stop(stop: object) -> None:
    if not isinstance(stop, str):
        message = f"Got {stop!r} as a stop string; give one text, or a sequence of texts."
        raise InvalidInput(message)
    if not stop:
        message = "A stop string is empty; leave it out, or pass stop=() for none."
        raise InvalidInput(message)
    check_unicode(stop)
