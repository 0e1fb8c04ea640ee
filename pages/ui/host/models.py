"""The model that all sessions of the app share, one at a time, and its queue."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import rauq
from pages.ui.host import hosting
from pages.ui.host.hosting import ModelChoice
from pages.ui.host.queueing.queue import Queue, raise_if_stopped
from pages.ui.host.store import store
from pages.ui.serving.workers import this_worker
from rauq.checkpoints.memory import give_back
from rauq.labels import size

if TYPE_CHECKING:
    from pages.ui.host.queueing.leaving import Admitted
    from rauq.arguments import Cancel, OnProgress
    from rauq.checkpoints.model_info import ModelInfo
    from rauq.model.language_model import LanguageModel


_POLL_SECONDS = 0.1  # seconds between checks whether a waiting job was stopped


def model(
    choice: ModelChoice, *, on_progress: "OnProgress | None" = None, cancel: "Cancel | None" = None
) -> "LanguageModel":
    """Load a model, or return the loaded one. This imports torch, long after the first widgets are drawn.

    Raises:
        RauqError: the model does not exist or does not fit, its attention cannot be captured exactly, or loading was
            cancelled.
    """
    hosting.check_model(choice)
    loaded, weights = store().loaded, replace(choice, kind=None)
    with loaded.lock:
        if loaded.model is None or loaded.choice != weights:
            loaded.model, loaded.choice = None, None
            give_back()
            if (found := loaded.alive.get(weights)) is None:
                options: dict[str, Any] = asdict(weights) | ({"mapped": True} if this_worker().of > 1 else {})
                found = rauq.load_model(**options, on_progress=on_progress, cancel=cancel)
            loaded.model = loaded.alive[weights] = found
            loaded.choice = weights
        return loaded.model.with_kind(choice.kind)


def share(lm: "LanguageModel", *choices: ModelChoice) -> None:
    """Make a loaded model the one that all sessions find under these choices, as long as the caller has it."""
    loaded = store().loaded
    with loaded.lock:
        for choice in choices:
            loaded.model, loaded.choice = lm, replace(choice, kind=None)
            loaded.alive[loaded.choice] = lm


def inspect_model(choice: ModelChoice, *, tokens: int = 0) -> "ModelInfo":
    """Return what is known of a model before it is loaded; waits while one is loading: imports are not thread-safe.

    The free memory includes that of the model in memory, unless a job still uses it.

    Raises:
        RauqError: the model does not exist or is not supported.
    """
    hosting.check_model(choice)
    with store().loaded.lock:
        candidate, leaving = rauq.inspect_model(**asdict(choice), tokens=tokens), store().loaded.model
    if candidate.bytes_free is None or leaving is None:
        return candidate
    return replace(candidate, bytes_free=candidate.bytes_free + bytes_leaving(leaving, choice.device))


def busy() -> bool:
    """Return whether a model is being loaded or inspected, so that another request has to wait."""
    return store().loaded.lock.locked()


def in_use() -> bool:
    """Return whether jobs use the loaded model, so that another one would need memory in addition."""
    found = store().loaded.model
    return found is not None and is_in_use(found)


def if_loaded(choice: ModelChoice) -> "LanguageModel | None":
    """Return the model if it is in memory; nothing is loaded, and the call does not wait for one being loaded."""
    loaded = store().loaded
    found = loaded.model
    return found.with_kind(choice.kind) if found is not None and loaded.choice == replace(choice, kind=None) else None


@contextmanager
def model_in_turn(
    choice: ModelChoice,
    cancel: threading.Event,
    *,
    on_stage: Callable[[str], None],
    visitor: str = "",
    work: "Admitted | None" = None,
) -> "Iterator[LanguageModel | None]":
    """Hold a model in the body, loaded if necessary, when it is this visitor's turn; `on_stage` is told the stages.

    None: another job took this one's `work` along and has ended, with or without an answer to it.

    Raises:
        Stopped: cancelled while waiting.
        RauqError: as in `model`.
    """
    while busy() and not cancel.wait(_POLL_SECONDS):
        pass  # loading cannot be interrupted, but waiting for it can
    raise_if_stopped(cancel)
    if if_loaded(choice) is None:
        from rauq.checkpoints.model_info import model_facts

        on_stage(f"Loading {model_facts(inspect_model(choice))}")
    raise_if_stopped(cancel)

    def tell_progress(done: int, total: int) -> None:
        on_stage(f"Dequantising the weights, once for this file: {size(done)} of {size(total)}")

    lm = model(choice, on_progress=tell_progress, cancel=_Unwanted(choice, cancel))
    on_stage("Waiting for another generation")
    with queue(lm).turn(cancel, visitor, work) as is_own:
        yield lm if is_own else None


@dataclass(frozen=True)
class _Unwanted:
    """Set once a job is cancelled, unless others wait for the model that it loads: they would begin again."""

    choice: ModelChoice
    cancel: "threading.Event"

    def is_set(self) -> bool:
        """Whether loading may end."""
        return self.cancel.is_set() and not any(map(self._waits, list(store().jobs.jobs)))

    def _waits(self, job: "Admitted") -> bool:
        of_this = replace(job.request.model, kind=None) == replace(self.choice, kind=None)
        return of_this and job.waiting and not job.cancel.is_set()


def queue(model: "LanguageModel") -> Queue:
    """Return the queue of a model, for all sessions; all views of its weights share one."""
    return store().queues.setdefault(model.lock, Queue())


def is_in_use(model: "LanguageModel") -> bool:
    """Return whether a job uses a model or waits for it."""
    return queue(model).length > 0


def bytes_leaving(model: "LanguageModel", device: str) -> int:
    """Return the bytes that replacing a loaded model frees on a device: none while jobs use it."""
    return 0 if is_in_use(model) else model.engine.bytes_held(device)
