"""What all sessions of the app share: one loaded model, and the answers that links may lead back to."""

import gc
import sys
import threading
from collections import OrderedDict
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import streamlit as st

import rauq
from rauq.trace import Kind, Trace

if TYPE_CHECKING:
    from rauq.candidate import Candidate
    from rauq.language_model import LanguageModel

MOST_ANSWERS_BYTES = 256 * 2**20  # of attention and extras: 35 answers of 200 tokens with 32 layers of 32 heads


@dataclass(frozen=True, kw_only=True)
class ModelChoice:
    """Which model, and where and how it computes; "auto" and None leave the choice to the library."""

    name: str = "atlas"
    device: str = "auto"
    dtype: str = "auto"
    kind: Kind | None = None


@dataclass(eq=False)
class Loaded:
    """The model in memory, if any: another one takes its place, and the first is freed before that loads.

    A job that is still at work with the first keeps it until it ends.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    choice: ModelChoice | None = None
    model: "LanguageModel | None" = None


@dataclass(eq=False)
class KeptAnswers:
    """Answers by a name that cannot be guessed, the least recently used first."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    traces: OrderedDict[str, Trace] = field(default_factory=OrderedDict)


def model(choice: ModelChoice) -> "LanguageModel":
    """Load a model, or return the one that is loaded. Torch is imported by this, long after the first widgets.

    Raises:
        RauqError: no such model, it does not fit, or its attention cannot be captured exactly.
    """
    loaded = _loaded()
    with loaded.lock:
        if loaded.model is None or loaded.choice != choice:
            loaded.model, loaded.choice = None, None
            _free()
            loaded.model = rauq.load_model(choice.name, device=choice.device, dtype=choice.dtype, kind=choice.kind)
            loaded.choice = choice
        return loaded.model


def examine(choice: ModelChoice) -> "Candidate":
    """What is known of a model before it is loaded; after one that is loading, for imports do not bear two threads.

    Raises:
        RauqError: no such model, or none of a kind that can be used.
    """
    with _loaded().lock:
        return rauq.examine(**asdict(choice))


def busy() -> bool:
    """Whether a model is being loaded or looked at: who asks for one now has to wait."""
    return _loaded().lock.locked()


def in_memory() -> bool:
    """Whether any model is loaded."""
    return _loaded().model is not None


def if_loaded(choice: ModelChoice) -> "LanguageModel | None":
    """The model if it is in memory; nothing is loaded, and nobody waits for one that is."""
    loaded = _loaded()
    found = loaded.model
    return found if loaded.choice == choice else None


@st.cache_resource(max_entries=1, show_spinner=False)
def answers() -> KeptAnswers:
    """The answers of all sessions; `pages.ui.answers` keeps and finds them."""
    return KeptAnswers()


@st.cache_resource(max_entries=1, show_spinner=False)
def _loaded() -> Loaded:
    return Loaded()


def _free() -> None:
    """Give back what the model before held, on a GPU too."""
    gc.collect()
    if (torch := sys.modules.get("torch")) is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
