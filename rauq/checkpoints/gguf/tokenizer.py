"""The tokenizer that a GGUF file describes, as one of transformers: same ids, special tokens and chat template."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel, Digits, PreTokenizer, Split

from rauq.checkpoints.gguf.header import GgufHeader, Strings, damaged, said
from rauq.errors import RauqError, UnsupportedModel
from rauq.transformers_api import PreTrainedTokenizerFast

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_MARK = r"[^\r\n\p{L}\p{N}]?"  # at most one sign, such as a space, in front of a word
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"

_SIGNS = r" ?[^\s\p{L}\p{N}]+[\r\n]*"
_PATH_SIGNS = r" ?[^\s\p{L}\p{N}]+[\r\n/]*"
_LLAMA3 = rf"{_CONTRACTIONS}|{_MARK}\p{{L}}+|\p{{N}}{{1,3}}|{_SIGNS}|{_SPACES}"
_QWEN2 = rf"{_CONTRACTIONS}|{_MARK}\p{{L}}+|\p{{N}}|{_SIGNS}|{_SPACES}"
_TEKKEN = rf"{_MARK}{_UPPER}*{_LOWER}+|{_MARK}{_UPPER}+{_LOWER}*|\p{{N}}|{_PATH_SIGNS}|{_SPACES}"
_GPT4O = (
    rf"{_MARK}{_UPPER}*{_LOWER}+{_CONTRACTIONS}?|{_MARK}{_UPPER}+{_LOWER}*{_CONTRACTIONS}?"
    rf"|\p{{N}}{{1,3}}|{_PATH_SIGNS}|{_SPACES}"
)


@dataclass(frozen=True, kw_only=True)
class Splitting:
    """What happens to text before bytes are merged.

    `pattern` splits it, GPT-2's own where it is None; `single_digits` separates every digit first; `composed` is
    Unicode's form NFC; `whole_words` takes a word that is a token without merging; `begins` puts the begin token in
    front where the file does not say whether to.
    """

    pattern: str | None = None
    single_digits: bool = False
    composed: bool = False
    whole_words: bool = False
    begins: bool = False


_OF_LLAMA3 = Splitting(pattern=_LLAMA3, whole_words=True, begins=True)
_OF_QWEN2 = Splitting(pattern=_QWEN2, composed=True)
_OF_DIGITS = Splitting(single_digits=True)

SPLITTINGS: Mapping[str, Splitting] = MappingProxyType(
    {
        "dbrx": Splitting(pattern=_LLAMA3),  # phi-4
        "deepseek-r1-qwen": _OF_QWEN2,
        "gpt-2": Splitting(),
        "gpt-4o": Splitting(pattern=_GPT4O),
        "llama-bpe": _OF_LLAMA3,
        "llama-v3": _OF_LLAMA3,
        "llama3": _OF_LLAMA3,
        "qwen2": _OF_QWEN2,
        "smollm": _OF_DIGITS,
        "starcoder": _OF_DIGITS,
        "tekken": Splitting(pattern=_TEKKEN, whole_words=True, begins=True),
    }
)


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
_NO_END_OF_TURN = "<|return|>"  # a vocabulary of harmony, where <|end|> ends a channel and not the answer

_SUPPORTED = frozenset(
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
        if not key.startswith(prefix) or name in _SUPPORTED or name in _HARMLESS:
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


def chat_template(header: GgufHeader) -> str | None:
    """The chat template of the file: the default one, or the only one that has a name."""
    named = [key for key in header.metadata if key.startswith("tokenizer.chat_template.")]
    only = header.get(named[0], str) if len(named) == 1 else None
    return header.get("tokenizer.chat_template", str) or only


def end_ids(header: GgufHeader) -> tuple[int, ...]:
    """The tokens that end an answer: end of text, of turn and of message; the one that the file names first.

    Files that name no end of turn often have one: it is the token of that meaning that their chat template writes.
    """
    stated = [token for key in _ENDS if (token := token_id(header, key)) is not None]
    stated += _listed_ends(header)
    template = chat_template(header) or ""
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
        raise damaged(header.path, f"{key} names a token that does not exist")
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


_NORMAL, _CONTROL, _USER_DEFINED = 1, 3, 4  # of llama.h, enum llama_token_type
_SPACE = "\u2581"  # how sentencepiece writes a space


def read_tokenizer(header: GgufHeader) -> PreTrainedTokenizerFast:
    """The tokenizer of a GGUF file.

    Raises:
        UnsupportedModel: it is of a kind, or has an entry, that is not known here; the message names it.
        ModelNotFound: what the file says of it contradicts itself.
    """
    refuse_unknown_entries(header)
    tokens = tokens_of(header)
    if _is_gemma(header):
        tokens = list(map(_respelled, tokens))
    build = {"gpt2": _byte_level, "llama": _sentencepiece}[model_of(header)]
    try:
        backend: Tokenizer = build(header, tokens)
        _add_special_tokens(backend, tokens, _types(header, len(tokens)))
    except RauqError:
        raise
    except Exception as error:  # the library raises bare exceptions on what does not fit together
        raise damaged(header.path, f"its tokenizer cannot be built ({said(str(error))})") from error
    tokenizer: PreTrainedTokenizerFast = PreTrainedTokenizerFast(
        tokenizer_object=_NotCopied(backend=backend),
        chat_template=chat_template(header),
        add_bos_token=_adds(header, "bos", default=begins(header)),
        add_eos_token=_adds(header, "eos", default=False),
        **{role: tokens[token] for role, key in SPECIAL.items() if (token := token_id(header, key)) is not None},
    )
    return tokenizer


def _adds(header: GgufHeader, role: str, *, default: bool) -> bool:
    """Whether every text gets the begin or the end token, which then has to be there."""
    adds = flag_of(header, f"add_{role}_token", default=default)
    if adds and token_id(header, f"{role}_token_id") is None:
        raise damaged(header.path, f"it adds a token to every text, but tokenizer.ggml.{role}_token_id is missing")
    return adds


@dataclass(frozen=True, kw_only=True)
class _NotCopied:
    """A tokenizer that deepcopy gives back as it is: copying one of 262,144 tokens takes five seconds."""

    backend: Tokenizer

    def __deepcopy__(self, memo: dict[int, Any]) -> Tokenizer:
        return self.backend


def _is_gemma(header: GgufHeader) -> bool:
    return header.architecture.startswith("gemma")


def _respelled(token: str) -> str:
    """Gemma's runs of spaces, which files hold as plain spaces, as sentencepiece writes them."""
    return token if token.strip(" ") else _SPACE * len(token)


def _types(header: GgufHeader, count: int) -> np.ndarray:
    types = header.get("tokenizer.ggml.token_type", np.ndarray)
    if types is None:
        return np.full(count, _NORMAL)
    if len(types) != count:
        raise damaged(header.path, f"it has {count} tokens and {len(types)} types of tokens")
    return types


def _byte_level(header: GgufHeader, tokens: list[str]) -> Tokenizer:
    splitting = splitting_of(header)
    merges = [merge.partition(" ") for merge in header.texts("tokenizer.ggml.merges") or []]
    pairs = [(left, right) for left, _, right in merges]
    tokenizer = Tokenizer(BPE(_numbered(tokens), pairs, ignore_merges=splitting.whole_words))
    if splitting.composed:
        tokenizer.normalizer = normalizers.NFC()
    steps: list[PreTokenizer] = [Digits(individual_digits=True)] if splitting.single_digits else []
    if splitting.pattern is not None:
        steps.append(Split(Regex(splitting.pattern), "isolated"))
    steps.append(ByteLevel(add_prefix_space=False, use_regex=splitting.pattern is None))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _sentencepiece(header: GgufHeader, tokens: list[str]) -> Tokenizer:
    """Sentencepiece's merges are not in the file: they follow from the vocabulary, best score first."""
    if _is_gemma(header):  # the scores of its runs of spaces are not those of their merges
        merges = list(_merges(tokens))
    else:
        merges = _by_score(tokens, header.get("tokenizer.ggml.scores", np.ndarray), header)
    unknown = token_id(header, "unknown_token_id")
    model = BPE(
        _numbered(tokens),
        merges,
        unk_token=None if unknown is None else tokens[unknown],
        fuse_unk=True,
        byte_fallback=True,
    )
    tokenizer = Tokenizer(model)
    prefix = flag_of(header, "add_space_prefix", default=True)
    replace = normalizers.Replace(" ", _SPACE)
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(_SPACE), replace]) if prefix else replace
    strip = [decoders.Strip(" ", 1, 0)] if prefix else []
    steps = [decoders.Replace(_SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), *strip]
    tokenizer.decoder = decoders.Sequence(steps)
    return tokenizer


def _merges(tokens: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Every pair of tokens that joins to a token, in the order of the tokens, those with a short beginning first."""
    known = set(tokens)
    for token in tokens:
        for place in range(1, len(token)):
            if token[:place] in known and token[place:] in known:
                yield token[:place], token[place:]


def _by_score(tokens: list[str], scores: np.ndarray | None, header: GgufHeader) -> list[tuple[str, str]]:
    """The pairs of `_merges`, those that join to the token of the highest score first."""
    if scores is None or len(scores) != len(tokens):
        raise damaged(header.path, "its tokens have no scores")
    score = dict(zip(tokens, scores.tolist(), strict=True))
    return sorted(
        _merges(tokens), key=lambda pair: (score[pair[0] + pair[1]], len(pair[0]), len(pair[1])), reverse=True
    )


def _numbered(tokens: list[str]) -> dict[str, int]:
    return {token: number for number, token in enumerate(tokens)}


def _add_special_tokens(backend: Tokenizer, tokens: list[str], types: np.ndarray) -> None:
    """Tokens that are matched in the text before anything else; those that steer a model are special."""
    for kind, add in ((_CONTROL, backend.add_special_tokens), (_USER_DEFINED, backend.add_tokens)):
        chosen = [tokens[number] for number in np.flatnonzero(types == kind)]
        add([AddedToken(token, normalized=False, special=kind == _CONTROL) for token in chosen if token])
