"""Whether a model is a base or an instruct model, judged by its name and its chat template."""

import os
import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import NamedTuple, Protocol, get_args

from rauq.errors import InvalidInput
from rauq.presets import find_preset
from rauq.trace import Kind

_BASE = re.compile(r"(?<![a-z0-9])(base|pt|pretrain|pretrained)(?![a-z0-9])", re.IGNORECASE)
_QWEN2 = re.compile(r"qwen[-_ ]?2(\.5)?(?![a-z0-9.])", re.IGNORECASE)
_INSTRUCT = re.compile(r"instruct|(?<![a-z0-9])(chat|it)(?![a-z0-9])", re.IGNORECASE)


class KindAndReason(NamedTuple):
    """A kind of model, and what decided it, in words."""

    kind: Kind
    why: str


class HasTemplate(Protocol):
    """Anything with a chat template; None or an empty text where it has none."""

    @property
    def chat_template(self) -> str | None:
        """The template's source."""


def check_kind(kind: Kind | None) -> None:
    """See that a kind is one that there is, or None.

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
