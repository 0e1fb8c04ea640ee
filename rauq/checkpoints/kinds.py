"""The nine models of the paper, the options of any model, and whether a model is base or instruct."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from types import MappingProxyType
from typing import NamedTuple, Protocol, get_args

from rauq.errors import InvalidInput
from rauq.trace.trace import Kind

AUTO = "auto"
DEVICES = (AUTO, "cpu", "cuda", "mps")  # besides cuda:N, one GPU of several
BYTES_PER_PARAMETER = MappingProxyType({"float32": 4, "bfloat16": 2, "float16": 2})
DTYPES = (AUTO, *BYTES_PER_PARAMETER)
KINDS = (AUTO, *get_args(Kind))
BFLOAT16 = "bfloat16 (dtype='bfloat16' in Python, --dtype bfloat16 in a shell, Precision in the app)"


@dataclass(frozen=True, kw_only=True)
class Preset:
    """One model of the paper; `parameters` as its card states them."""

    name: str
    hub_id: str
    kind: Kind
    parameters: int


# The paper treats Falcon-3 and Qwen-2.5 as base models, although their base checkpoints ship a chat template.
PRESETS = (
    Preset(name="Llama-3.1 8B", hub_id="meta-llama/Llama-3.1-8B", kind="base", parameters=8_030_261_248),
    Preset(name="Llama-3.1 70B", hub_id="meta-llama/Llama-3.1-70B", kind="base", parameters=70_553_706_496),
    Preset(
        name="Llama-3.1 8B-Instruct",
        hub_id="meta-llama/Llama-3.1-8B-Instruct",
        kind="instruct",
        parameters=8_030_261_248,
    ),
    Preset(name="Llama-3.2 1B", hub_id="meta-llama/Llama-3.2-1B", kind="base", parameters=1_235_814_400),
    Preset(name="Qwen-2.5 7B", hub_id="Qwen/Qwen2.5-7B", kind="base", parameters=7_615_616_512),
    Preset(name="Gemma-2 9B", hub_id="google/gemma-2-9b", kind="base", parameters=9_241_705_984),
    Preset(name="Falcon-3 10B", hub_id="tiiuae/Falcon3-10B-Base", kind="base", parameters=10_305_653_760),
    Preset(name="SmolLM-2 360M", hub_id="HuggingFaceTB/SmolLM2-360M", kind="base", parameters=361_821_120),
    Preset(name="GPT-OSS 20B", hub_id="openai/gpt-oss-20b", kind="instruct", parameters=20_914_757_184),
)


def find_preset(name: str) -> Preset | None:
    """The preset of this hub id, in whatever case it is written."""
    return next((preset for preset in PRESETS if preset.hub_id.lower() == name.lower()), None)


_BASE = re.compile(r"(?<![a-z0-9])(base|pt|pretrain|pretrained)(?![a-z0-9])", re.IGNORECASE)
_QWEN2 = re.compile(r"qwen[-_ ]?2(\.5)?(?![a-z0-9.])", re.IGNORECASE)
_INSTRUCT = re.compile(r"instruct|(?<![a-z0-9])(chat|it)(?![a-z0-9])", re.IGNORECASE)


class KindAndReason(NamedTuple):
    """A kind of model, and the reason for it, in words."""

    kind: Kind
    why: str


class HasTemplate(Protocol):
    """Anything with a chat template; None or an empty text where it has none."""

    @property
    def chat_template(self) -> str | None:
        """The template's source."""


def check_kind(kind: Kind | None) -> None:
    """Check that a kind is known, or None.

    Raises:
        InvalidInput: it is not.
    """
    if kind is not None and kind not in get_args(Kind):
        message = f"Unknown kind {kind!r}; choose one of {', '.join(get_args(Kind))}."
        raise InvalidInput(message)


def kind_of(names: str | os.PathLike[str] | Sequence[str], tokenizer: HasTemplate) -> KindAndReason:
    """The kind of a model, from what it is called (hub id, folder, file, or several of these) and its chat template.

    In this order: the paper's list of models; a name with base, pt or pretrain(ed) as a word is base; Qwen2 and
    Qwen2.5 without Instruct are base, although their base models ship a chat template; a model with a chat template
    is instruct; every other is base.
    """
    several = [os.fspath(names)] if isinstance(names, str | os.PathLike) else list(names)
    if (preset := next(filter(None, map(find_preset, several)), None)) is not None:
        return KindAndReason(preset.kind, "the paper's list of models")
    last_parts = [PurePath(name).name for name in several]
    if found := next(filter(None, map(_BASE.search, last_parts)), None):
        return KindAndReason("base", f"its name says {found[1].lower()}")
    if any(map(_QWEN2.match, last_parts)) and not any(map(_INSTRUCT.search, last_parts)):
        return KindAndReason("base", "a Qwen2 or Qwen2.5 model whose name does not say Instruct")
    if tokenizer.chat_template:
        return KindAndReason("instruct", "it has a chat template")
    return KindAndReason("base", "it has no chat template")
