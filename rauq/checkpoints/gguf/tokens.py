"""What a GGUF file says of its tokens, before a tokenizer is built: special tokens, and whether all is supported.

An entry that this module does not know is refused by name, since ignoring it could silently change ids.
"""

from collections.abc import Iterable
from types import MappingProxyType

import numpy as np

from rauq.checkpoints.gguf.cursor import Strings, damaged
from rauq.checkpoints.gguf.header import GgufHeader, said
from rauq.checkpoints.gguf.splits import SPLITTINGS, Splitting
from rauq.errors import UnsupportedModel

_LONGEST_TOKEN = 1024  # characters; merges of a token take quadratic time in them

SPECIAL = MappingProxyType(
    {
        "bos_token": "bos_token_id",
        "eos_token": "eos_token_id",
        "unk_token": "unknown_token_id",
        "pad_token": "padding_token_id",
    }
)
_ENDS = ("eos_token_id", "eot_token_id", "eom_token_id")
_MORE_ENDS = "eos_token_ids"  # a list, in files that Ollama writes
_ENDS_OF_TURN = ("<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>")
_NO_END_OF_TURN = "<|return|>"  # a vocabulary of harmony, where <|end|> ends a channel, and the answer goes on

_HONOURED = frozenset(
    {
        *("model", "pre", "tokens", "token_type", "scores", "merges"),
        *SPECIAL.values(),
        *(*_ENDS, _MORE_ENDS),
        *("add_bos_token", "add_eos_token", "add_space_prefix"),
    }
)
# They name tokens that only other uses of a model need: filling gaps, masking, classifying.
_HARMLESS = frozenset(
    {
        *("fim_pre_token_id", "fim_suf_token_id", "fim_mid_token_id", "fim_pad_token_id", "fim_rep_token_id"),
        *("fim_sep_token_id", "prefix_token_id", "suffix_token_id", "middle_token_id", "mask_token_id"),
        *("cls_token_id", "separator_token_id", "seperator_token_id"),
    }
)
# They change nothing when they are off.
_ONLY_OFF = frozenset({"add_sep_token", "add_padding_token", "remove_extra_whitespaces"})


def refuse_unknown_entries(header: GgufHeader) -> None:
    """Refuse a tokenizer that cannot be rebuilt exactly; only the names of its entries are needed.

    Raises:
        UnsupportedModel: the message names the entry.
        ModelNotFound: a special token is not one of the tokens.
    """
    prefix = "tokenizer.ggml."
    for key in header.metadata:
        name = key.removeprefix(prefix)
        if not key.startswith(prefix) or name in _HONOURED or name in _HARMLESS:
            continue
        if name in _ONLY_OFF and header.get(key, bool) is False:
            continue
        raise _unknown(header, key)
    for name in (*SPECIAL.values(), *_ENDS):
        token_id(header, name)
    _listed_ends(header)
    if model_of(header) == "gpt2":
        splitting_of(header)
        if flag_of(header, "add_space_prefix", default=False):
            raise _unknown(header, f"{prefix}add_space_prefix")


def end_ids(header: GgufHeader) -> tuple[int, ...]:
    """The tokens that end an answer: end of text, of turn and of message; the one that the file names first.

    Files that name no end of turn often have one: it is the token of that meaning that their chat template writes.
    """
    stated = [token for key in _ENDS if (token := token_id(header, key)) is not None]
    stated += _listed_ends(header)
    template = header.get("tokenizer.chat_template", str) or ""
    written = [text for text in _ENDS_OF_TURN if text in template]
    if token_id(header, "eot_token_id") is None and written:
        tokens = tokens_of(header)
        if _NO_END_OF_TURN not in tokens:
            stated += [tokens.index(text) for text in written if text in tokens]
    return tuple(dict.fromkeys(stated))


def _listed_ends(header: GgufHeader) -> list[int]:
    key = f"tokenizer.ggml.{_MORE_ENDS}"
    listed = header.get(key, np.ndarray)
    tokens = header.get("tokenizer.ggml.tokens", Strings)
    if listed is None:
        return []
    if listed.dtype.kind not in "iu" or not ((listed >= 0) & (listed < len(tokens or ()))).all():
        raise damaged(header.path, f"{key} names what is not one of its tokens")
    ends: list[int] = listed.tolist()
    return ends


def token_id(header: GgufHeader, name: str) -> int | None:
    """A special token's id, such as that of eos_token_id; None where the file names none.

    Raises:
        ModelNotFound: there is no such token.
    """
    key = f"tokenizer.ggml.{name}"
    token = header.get(key, int)
    tokens = header.get("tokenizer.ggml.tokens", Strings)
    if token is not None and not 0 <= token < len(tokens or ()):
        raise damaged(header.path, f"{key} is {token}, which is not one of its tokens")
    return token


def model_of(header: GgufHeader) -> str:
    """The kind of tokenizer: gpt2 merges bytes, llama is sentencepiece.

    Raises:
        UnsupportedModel: it is another one.
    """
    model = header.get("tokenizer.ggml.model", str)
    if model not in {"gpt2", "llama"}:
        raise _unknown(header, "tokenizer.ggml.model", allowed=("gpt2", "llama"))
    return model


def splitting_of(header: GgufHeader) -> Splitting:
    """How a byte-level tokenizer splits text.

    Raises:
        UnsupportedModel: the file does not say, or in a way not known here.
    """
    splitting = SPLITTINGS.get(header.get("tokenizer.ggml.pre", str) or "")
    if splitting is None:
        raise _unknown(header, "tokenizer.ggml.pre", allowed=SPLITTINGS)
    return splitting


def _unknown(header: GgufHeader, key: str, *, allowed: Iterable[str] = ()) -> UnsupportedModel:
    value = header.metadata.get(key)
    stated = "is missing" if value is None else f"is {said(str(value))}" if isinstance(value, str) else "is set"
    names = ", ".join(sorted(allowed))
    known = f" Supported: {names}." if names else ""
    return UnsupportedModel(
        f"{header.path} cannot be read exactly: its entry {said(key)} {stated}, which is not supported, so that text "
        f"could get other token ids than the model's own.{known} Use the same model in safetensors format."
    )


def tokens_of(header: GgufHeader) -> list[str]:
    """All tokens by their ids, spelled as in the file.

    Raises:
        ModelNotFound: there are none, or they cannot be a vocabulary.
    """
    tokens = header.texts("tokenizer.ggml.tokens")
    if not tokens:
        raise damaged(header.path, "it has no tokens")
    if len(set(tokens)) < len(tokens):
        raise damaged(header.path, "two tokens have the same text")
    if max(map(len, tokens)) > _LONGEST_TOKEN:
        raise damaged(header.path, f"a token has more than {_LONGEST_TOKEN} characters")
    return tokens


def flag_of(header: GgufHeader, name: str, *, default: bool) -> bool:
    """A switch of the tokenizer, such as add_bos_token."""
    stated = header.get(f"tokenizer.ggml.{name}", bool)
    return default if stated is None else stated


def begins(header: GgufHeader) -> bool:
    """Whether the begin token comes first where the file does not say: as llama.cpp decides."""
    return model_of(header) == "llama" or splitting_of(header).begins
