"""Token ids and text: the bytes that each token stands for, and text that grows by whole characters."""

import codecs
import json
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rauq.arguments import check_unicode
from rauq.model.templates.thinking_marks import marks_of
from rauq.trace.thinking import Marks

_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_WORD_START = "\u2581"  # how sentencepiece writes a space


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
        """Token ids of a text that continues a prompt: sentencepiece would put a space in front of it."""
        ids = self.encode(text, special=False)
        if self.text(ids) == text:
            return ids
        anchor = self.encode("\n", special=False)
        anchored = self.encode("\n" + text, special=False)
        return anchored[len(anchor) :] if anchored[: len(anchor)] == anchor else ids

    def piece(self, token: int) -> bytes:
        """The bytes that a token stands for; the name of a special token.

        Each is spelled once: the trace of a growing answer spells all of its alternatives again and again.
        """
        if (known := self._pieces.get(token)) is None:
            known = self._pieces[token] = self._spelled(token)
        return known

    def _spelled(self, token: int) -> bytes:
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
    def _pieces(self) -> dict[int, bytes]:
        """Those that are known by now: of the vocabulary's tokens at most."""
        return {}

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
    def thinking_marks(self) -> Marks:
        """The marks around the thinking of this model, from its chat template and its tokens."""
        return marks_of(self.tokenizer)

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
