"""Jobs on one model come one after another, in the order in which they asked; who waits can be stopped."""

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

LOOK = 0.1  # seconds between two looks at whether a job that waits was stopped


@dataclass(eq=False)
class Queue:
    """Who stands before a model, the first at work; a lock alone would let anyone come first, and somebody last."""

    moved: threading.Condition = field(default_factory=threading.Condition)
    places: deque[object] = field(default_factory=deque)


def queue(model: "LanguageModel") -> Queue:
    """The queue before a model, of all sessions; one for all views of its weights, which share a lock."""
    return _queues().setdefault(model.lock, Queue())


def is_in_use(model: "LanguageModel") -> bool:
    """Whether a job works with a model, or waits for it."""
    return bool(queue(model).places)


def bytes_leaving(model: "LanguageModel", device: str) -> int:
    """What a loaded model gives back on a device once another takes its place: nothing while jobs use it."""
    from rauq.checkpoints.loading import bytes_held

    return 0 if is_in_use(model) else bytes_held(model.model, device)


@contextmanager
def turn(model: "LanguageModel", cancel: threading.Event) -> Iterator[None]:
    """Work with a model after all who came before.

    Raises:
        Stopped: cancelled before it came to that.
    """
    line, place = queue(model), object()
    with line.moved:
        line.places.append(place)
        line.moved.notify_all()
    try:
        with line.moved:
            while line.places[0] is not place and not cancel.is_set():
                line.moved.wait(LOOK)
        raise_if_stopped(cancel)
        yield
    finally:
        with line.moved:
            line.places.remove(place)
            line.moved.notify_all()


def raise_if_stopped(cancel: threading.Event) -> None:
    """Go on unless cancelled.

    Raises:
        Stopped: cancelled.
    """
    if cancel.is_set():
        message = "Stopped before the first token."
        raise Stopped(message)


@st.cache_resource(max_entries=1, show_spinner=False)
def _queues() -> "WeakKeyDictionary[threading.RLock, Queue]":
    return WeakKeyDictionary()
