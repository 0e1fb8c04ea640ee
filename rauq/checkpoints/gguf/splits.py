"""How byte-level tokenizers split text before they merge bytes: what `tokenizer.ggml.pre` of a GGUF file stands for.

A name that is not in the table is refused. Sources: `llama-vocab.cpp` of llama.cpp for the names, and for what they do
the `tokenizer.json` that each model was published with, since ids have to equal those that the model was trained on.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

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
