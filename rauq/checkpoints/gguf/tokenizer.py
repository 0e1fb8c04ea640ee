"""The tokenizer that a GGUF file describes, as one of transformers: same ids, same special tokens, same chat template.

An entry that this module does not know is refused by name, since ignoring it could silently change ids.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel, Digits, PreTokenizer, Split
from transformers import PreTrainedTokenizerFast

from rauq.checkpoints.gguf.cursor import damaged
from rauq.checkpoints.gguf.header import GgufHeader, said
from rauq.checkpoints.gguf.tokens import (
    SPECIAL,
    begins,
    flag_of,
    model_of,
    refuse_unknown_entries,
    splitting_of,
    token_id,
    tokens_of,
)
from rauq.errors import RauqError

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
        chat_template=header.get("tokenizer.chat_template", str),
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
