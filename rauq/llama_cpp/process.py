"""The parent's side of the process that runs llama.cpp: start it, ask it, and say why it ended."""

import subprocess
import threading
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedReader
from typing import Any, BinaryIO, cast

import numpy as np

from rauq import errors, layout
from rauq.arguments import Act, Cancel, nothing
from rauq.llama_cpp.library import find_library
from rauq.llama_cpp.messages import Message, receive, send

# Threads that wait spin by default: on a busy machine of two cores, smollm2 then takes ten times as long or more.
_PASSIVE = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "1000"}
_NO_DEBUGGER = {"GGML_NO_BACKTRACE": "1"}  # else a debugger is started where the library aborts, which hides the reason
# Bytes, where the system can be asked for them: the logits of a step fit. Through a smaller pipe they come in parts,
# for each of which both processes wake.
_PIPE = 1 << 20
_LINES = 5  # of what llama.cpp wrote last
_POLL = 0.05  # seconds between two looks at `cancel`
_LAST_SECONDS = 5.0  # seconds in which a process that was asked to end has to


@dataclass(eq=False)
class Process:
    """A running child. It answers one request at a time; the caller holds the model, or runs a batch of its room."""

    running: subprocess.Popen[bytes]
    written: deque[str]

    def ask(
        self,
        do: str,
        *arrays: np.ndarray,
        cancel: Cancel | None = None,
        meanwhile: Act = nothing,
        **options: Any,
    ) -> Message:
        """The reply to a request; `meanwhile` is called once the process has it.

        Where waiting is interrupted the process ends: its reply would be taken for that to the next request.

        Raises:
            EngineStopped: the process has ended.
            RauqError: what it raised.
        """
        if self._requests.closed:  # by another thread, whose request was the first that failed
            raise self._ended()
        try:
            send(self._requests, Message({"do": do, **options}, arrays))
            with self._cancelled_by(cancel):
                fault = _fault_of(meanwhile)
                reply = receive(self._replies)
        except OSError:
            reply = None
        except BaseException:
            self.close()
            raise
        if reply is None:
            raise self._ended()
        if "error" in reply.header:
            raise getattr(errors, reply.header["error"])(reply.header["message"])
        if fault is not None:
            raise fault
        return reply

    def close(self) -> None:
        """End the process."""
        _end(self.running)

    @property
    def is_running(self) -> bool:
        """Whether it can be asked."""
        return self.running.poll() is None

    @property
    def _requests(self) -> BinaryIO:
        return cast("BinaryIO", self.running.stdin)

    @property
    def _replies(self) -> BufferedReader:
        return cast("BufferedReader", self.running.stdout)

    @contextmanager
    def _cancelled_by(self, cancel: Cancel | None) -> Iterator[None]:
        """While a reply is waited for, pass on that the user has cancelled."""
        if cancel is None:
            yield
            return
        done = threading.Event()

        def watch() -> None:
            while not done.wait(_POLL):
                if cancel.is_set():
                    with suppress(OSError):
                        send(self._requests, Message({"do": "cancel"}))
                    return

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()

    def _ended(self) -> errors.EngineStopped:
        self.close()
        said = " ".join(self.written)
        wrote = f" It wrote last: {said}" if said else " It wrote nothing."
        message = (
            f"The process that runs llama.cpp has ended with exit code {self.running.returncode}; this answer is lost, "
            f"and the next prompt starts another.{wrote}"
        )
        return errors.EngineStopped(message)


def _fault_of(act: Act) -> Exception | None:
    """What a call raises: the reply to a request has to be read before."""
    try:
        act()
    except Exception as error:  # noqa: BLE001 - the caller raises it later
        return error
    return None


def start(*, module: str = "rauq.llama_cpp.child") -> Process:
    """Start the process; nothing is loaded in it yet.

    Raises:
        MissingPackage: llama.cpp is not installed.
    """
    find_library()
    running = subprocess.Popen(
        layout.command(module),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_PASSIVE | layout.environment() | _NO_DEBUGGER,
        pipesize=_PIPE,
        start_new_session=True,  # Ctrl+C is for the parent, which ends this one by closing its pipes
    )
    written: deque[str] = deque(maxlen=_LINES)
    threading.Thread(target=_keep_last, args=(cast("BinaryIO", running.stderr), written), daemon=True).start()
    process = Process(running, written)
    weakref.finalize(process, _end, running)
    return process


def _end(running: subprocess.Popen[bytes]) -> None:
    """Close the pipes of a process, which then ends by itself, or is killed."""
    for pipe in (running.stdin, running.stdout):
        with suppress(OSError):
            cast("BinaryIO", pipe).close()
    try:
        running.wait(_LAST_SECONDS)
    except subprocess.TimeoutExpired:
        running.kill()
        running.wait()


def _keep_last(lines: BinaryIO, written: deque[str]) -> None:
    with lines:
        for line in lines:
            if said := line.decode(errors="replace").strip():
                written.append(said)
