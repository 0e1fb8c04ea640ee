"""Token ids and text: the bytes that each token stands for, text that grows by whole characters, and chat templates.

A chat template is applied to messages, and a text to which it was applied already is recognised.
"""

import codecs
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jinja2 import TemplateError

from rauq.arguments import check_unicode
from rauq.errors import InvalidInput
from rauq.trace.messages import Message, TemplateOptions, option_names

_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_WORD_START = "\u2581"  # how sentencepiece writes a space
_TEMPLATE_FAILURES = (TemplateError, TypeError, ValueError)
_SYSTEM, _USER, _ANSWER = "RAUQ-PROBE-SYSTEM", "RAUQ-PROBE-USER", "RAUQ-PROBE-ANSWER"


@dataclass(frozen=True, eq=False)
class Tokens:
    """A tokenizer, seen as a table of byte strings."""

    tokenizer: Any

    def encode(self, text: str, *, special: bool) -> list[int]:
        """Token ids of a text, with or without the tokens that start a sequence; none is added to a text that has one.

        Raises:
            InvalidInput: the text is not valid Unicode.
        """
        check_unicode(text)
        ids: list[int] = self.tokenizer(text, add_special_tokens=special, verbose=False)["input_ids"]
        begin = self.tokenizer.bos_token
        twice = special and begin and text.startswith(begin) and ids[:2] == [self.tokenizer.bos_token_id] * 2
        return ids[1:] if twice and not text.startswith(2 * begin) else ids

    def encode_answer(self, text: str) -> list[int]:
        """Token ids of a text that goes on from a prompt: sentencepiece would put a space in front of it."""
        ids = self.encode(text, special=False)
        if self.text(ids) == text:
            return ids
        anchor = self.encode("\n", special=False)
        anchored = self.encode("\n" + text, special=False)
        return anchored[len(anchor) :] if anchored[: len(anchor)] == anchor else ids

    def piece(self, token: int) -> bytes:
        """The bytes that a token stands for; the name of a special token."""
        if token in self._added:
            return self._added[token]
        name = self.tokenizer.convert_ids_to_tokens(int(token))
        if name is None:  # models have more logits than tokens
            return f"<{token}>".encode()
        return self._bytes_of_name(name)

    def texts(self, ids: Iterable[int], *, silent: Collection[int] = ()) -> tuple[str, ...]:
        """One text a token; they join to the whole, and are empty where no character is complete yet.

        `silent` tokens, such as the end token, add no text.
        """
        decode = TextStream(self, silent)
        tokens = list(ids)
        return tuple(decode(token, last=place == len(tokens)) for place, token in enumerate(tokens, start=1))

    def text(self, ids: Sequence[int]) -> str:
        """The text of all these tokens together, special ones by name."""
        return b"".join(map(self.piece, ids)).decode(errors="replace")

    @cached_property
    def special_names(self) -> frozenset[str]:
        """Texts of the special tokens, and of other added tokens in angle or square brackets."""
        names = {
            str(added)
            for added in self.tokenizer.added_tokens_decoder.values()
            if added.special or _is_mark(str(added))
        }
        return frozenset(names | set(self.tokenizer.all_special_tokens)) - {""}

    @cached_property
    def _added(self) -> dict[int, bytes]:
        """Names of the special tokens; others that were added are spelled as the rest in sentencepiece alone."""
        return {
            token: str(added).encode()
            for token, added in self.tokenizer.added_tokens_decoder.items()
            if added.special or self._bytes_of_name is not _from_sentencepiece
        }

    @cached_property
    def _bytes_of_name(self) -> Callable[[str], bytes]:
        decoders = _decoder_types(self.tokenizer)
        if "ByteLevel" in decoders:
            return _from_byte_level
        if decoders & {"Metaspace", "ByteFallback"} or _WORD_START in self.tokenizer.get_vocab():
            return _from_sentencepiece
        return str.encode if decoders else _from_word


class TextStream:
    """Text of one token after another, for streaming; `silent` tokens add none."""

    def __init__(self, tokens: Tokens, silent: Collection[int] = ()) -> None:
        self.tokens = tokens
        self.silent = silent
        self.decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def __call__(self, token: int, *, last: bool = False) -> str:
        """What this token adds: nothing while a character is incomplete, a replacement if it stays so at the `last`."""
        piece = b"" if token in self.silent else self.tokens.piece(token)
        return self.decoder.decode(piece, final=last)


def _is_mark(name: str) -> bool:
    return len(name) > 2 and (name[0], name[-1]) in {("<", ">"), ("[", "]")}


def _decoder_types(tokenizer: Any) -> set[str]:
    """Names of the decoding steps of a fast tokenizer, nested ones too."""
    decoder = getattr(getattr(tokenizer, "backend_tokenizer", None), "decoder", None)
    if decoder is None:
        return set()
    state = json.loads(decoder.__getstate__())
    return {step["type"] for step in [state, *state.get("decoders", [])]}


def _byte_level_alphabet() -> dict[str, int]:
    """Byte-level BPE writes a printable byte as itself, and the others as the letters from U+0100 on, in order."""
    printable = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + place): byte for place, byte in enumerate(others)}


_ALPHABET = _byte_level_alphabet()


def _from_byte_level(name: str) -> bytes:
    if all(letter in _ALPHABET for letter in name):
        return bytes(_ALPHABET[letter] for letter in name)
    return name.encode()


def _from_word(name: str) -> bytes:
    return f" {name}".encode()  # without a decoding step, tokens are words between spaces


def _from_sentencepiece(name: str) -> bytes:
    if match := _BYTE_TOKEN.fullmatch(name):
        return bytes([int(match[1], 16)])
    return name.replace(_WORD_START, " ").encode()


def encode_chat(tokens: Tokens, messages: Sequence[Message], options: TemplateOptions) -> list[int]:
    """Token ids of a conversation, up to where the assistant begins.

    Raises:
        InvalidInput: no chat template, or one that fails, leaves out a message or has no such option.
    """
    _check_template(tokens, options)
    try:
        rendered = _render(tokens, messages, options)
    except _TEMPLATE_FAILURES as error:
        raise InvalidInput(_refusal(messages, error)) from error
    _check_complete(messages, rendered)
    ids: list[int] = tokens.tokenizer(rendered, add_special_tokens=False, verbose=False)["input_ids"]
    return ids


def end_of_answer(tokens: Tokens, end_ids: Collection[int]) -> int | None:
    """The first of these end tokens that the template writes after an answer; None where it writes none, or fails."""
    conversation = [Message(role="user", content=_USER), Message(role="assistant", content=_ANSWER)]
    try:
        rendered = _render(tokens, conversation, {}) if tokens.tokenizer.chat_template else ""
    except _TEMPLATE_FAILURES:
        return None
    after = tokens.encode(rendered.rpartition(_ANSWER)[2], special=False)
    return next((token for token in after if token in end_ids), None)


def encode_templated(tokens: Tokens, text: str) -> list[int]:
    """Token ids of a text to which the chat template was applied already.

    White space at its start is left out, and a begin token is added only where the template writes one.
    """
    begin, (before, _) = tokens.tokenizer.bos_token, _around_question(tokens)
    return tokens.encode(text.lstrip(), special=bool(begin) and before.startswith(begin))


def is_templated(tokens: Tokens, text: str) -> bool:
    """Whether a text is a prompt to which this tokenizer's chat template was applied already.

    It is one if it begins, apart from white space and the begin token, with what the template writes before a message:
    a special token and the role, as in "<|im_start|>user" and a line break. Where the template has no such pair, the
    text must also end with what the template writes before the assistant's answer. A text that has these marks
    elsewhere only mentions them.
    """
    if not tokens.tokenizer.chat_template or not any(name in text for name in tokens.special_names):
        return False
    begin, (_, closing) = tokens.tokenizer.bos_token or "", _around_question(tokens)
    is_whole = _has_special(tokens, closing) and text.rstrip().endswith(closing.rstrip())
    return any(
        text.lstrip().startswith((opening, begin + opening)) and (is_whole or _names_role(tokens, opening))
        for opening in _openings(tokens)
    )


def _check_template(tokens: Tokens, options: TemplateOptions) -> None:
    template = tokens.tokenizer.chat_template
    if not template:
        message = (
            "This model has no chat template, which messages, a system prompt and chat=True need. Give the prompt as "
            "one text, or choose a chat model."
        )
        raise InvalidInput(message)
    names = option_names(template) if options else ()
    for name in options:
        if name not in names:
            known = f"its options are {', '.join(names)}" if names else "it has no options"
            message = f"The chat template of this tokenizer has no option {name}; {known}. Leave it out."
            raise InvalidInput(message)


def _render(tokens: Tokens, messages: Sequence[Message], options: TemplateOptions) -> str:
    turns = [{"role": message.role, "content": message.content} for message in messages]
    rendered: str = tokens.tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False, **options)
    return rendered


def _refusal(messages: Sequence[Message], error: Exception) -> str:
    if messages[0].role == "system":
        todo = "Leave out the system prompt, or put its text at the start of the first user message."
    elif len(messages) > 1:
        todo = "Most templates need user and assistant messages in turn, the user's first."
    else:
        todo = "Pass chat=False to leave the template out."
    return f"The chat template of this tokenizer fails ({error}). {todo}"


def _check_complete(messages: Sequence[Message], rendered: str) -> None:
    """Earlier answers of the assistant may be shortened, such as by their thinking; nothing else may be lost."""
    for message in messages:
        if len(messages) > 1 and message.role != "assistant" and message.content.strip() not in rendered:
            error = (
                f"The chat template of this tokenizer leaves out or changes a message of role {message.role}, so the "
                "model would not see it. Leave that message out, or put its text into the last user message."
            )
            raise InvalidInput(error)


def _openings(tokens: Tokens) -> Iterator[str]:
    """How a templated text may begin; first lines alone, since dates may follow."""
    system, user = Message(role="system", content=_SYSTEM), Message(role="user", content=_USER)
    begin = tokens.tokenizer.bos_token or ""
    for messages in ([user], [system, user]):
        try:
            rendered = _render(tokens, messages, {})
        except _TEMPLATE_FAILURES:
            continue
        before, _, after = rendered.partition(messages[0].content)
        between = after.partition(_USER)[0] if messages[1:] else ""
        starts = [between.rfind(name) for name in tokens.special_names if name in between]
        for opening in (before, before.removeprefix(begin), *(between[start:] for start in starts)):
            line = "".join(opening.splitlines(keepends=True)[:1])
            if line.removeprefix(begin).strip() and (_has_special(tokens, line) or line == opening == before):
                yield line


def _around_question(tokens: Tokens) -> tuple[str, str]:
    """What the template writes before and after a question of the user; empty where it fails."""
    try:
        before, _, after = _render(tokens, [Message(role="user", content=_USER)], {}).partition(_USER)
    except _TEMPLATE_FAILURES:
        return "", ""
    return before, after


def _names_role(tokens: Tokens, opening: str) -> bool:
    """Whether an opening has a special token and further text."""
    rest = opening
    for name in tokens.special_names:
        rest = rest.replace(name, "")
    return _has_special(tokens, opening) and bool(rest.strip())


def _has_special(tokens: Tokens, text: str) -> bool:
    return any(name in text for name in tokens.special_names)
