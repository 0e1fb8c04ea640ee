"""Jobs on one model run one at a time, first come, first served; a waiting job can be stopped."""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import streamlit as st

from rauq.errors import Stopped

if TYPE_CHECKING:
    from rauq.model.language_model import LanguageModel

POLL_SECONDS = 0.1  # seconds between checks whether a waiting job was stopped


# Ours, because a process with a ThreadPoolExecutor(1) cannot exit during a generation, nor see whether one waits.
@dataclass(eq=False)
class Queue:
    """The jobs waiting for a model, the first one running; a lock alone would not keep the order of arrival."""

    moved: threading.Condition = field(default_factory=threading.Condition)
    places: deque[object] = field(default_factory=deque)


def queue(model: "LanguageModel") -> Queue:
    """Return the queue of a model, for all sessions; all views of its weights share one."""
    return _queues().setdefault(model.lock, Queue())


def is_in_use(model: "LanguageModel") -> bool:
    """Return whether a job uses a model or waits for it."""
    return bool(queue(model).places)


def bytes_leaving(model: "LanguageModel", device: str) -> int:
    """Return the bytes that replacing a loaded model frees on a device: none while jobs use it."""
    from rauq.checkpoints.loading import bytes_held

    return 0 if is_in_use(model) else bytes_held(model.model, device)


@contextmanager
def turn(model: "LanguageModel", cancel: threading.Event) -> Iterator[None]:
    """Hold a model's turn in the body, after all jobs that came before.

    Raises:
        Stopped: cancelled while waiting.
    """
    line, place = queue(model), object()
    with line.moved:
        line.places.append(place)
        line.moved.notify_all()
    try:
        with line.moved:
            while line.places[0] is not place and not cancel.is_set():
                line.moved.wait(POLL_SECONDS)
        raise_if_stopped(cancel)
        yield
    finally:
        with line.moved:
            line.places.remove(place)
            line.moved.notify_all()


def raise_if_stopped(cancel: threading.Event) -> None:
    """Raise if cancelled.

    Raises:
        Stopped: cancelled.
    """
    if cancel.is_set():
        message = "Stopped before the first token."
        raise Stopped(message)


@st.cache_resource(max_entries=1, show_spinner=False)
def _queues() -> "WeakKeyDictionary[threading.RLock, Queue]":
    return WeakKeyDictionary()
