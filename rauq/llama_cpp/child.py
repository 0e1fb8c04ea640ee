"""The process that runs llama.cpp: it opens one file and answers one request after another.

A fault of a file or of the library ends this process alone. What llama.cpp writes goes to the standard error.
"""

import os
import threading
from io import BufferedReader
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from rauq.errors import InvalidInput, RauqError
from rauq.llama_cpp.check import checked
from rauq.llama_cpp.context import Context, open_model, tokens_of
from rauq.llama_cpp.library import find_library, load_library, name_of
from rauq.llama_cpp.messages import Message, receive, send

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def main() -> None:
    """Serve requests from the standard input until it ends."""
    # A reader of its own: Python aborts at its end if another thread still waits for the standard input.
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the library prints must not stand among the replies
    _serve(requests, replies)


def _serve(requests: BufferedReader, replies: BinaryIO) -> None:
    cancelled, queue = threading.Event(), SimpleQueue[Message | None]()
    threading.Thread(target=_listen, args=(requests, queue, cancelled), daemon=True).start()
    worker = _Worker(cancelled)
    while (request := queue.get()) is not None:
        send(replies, worker.reply(request))


def _listen(requests: BufferedReader, queue: "SimpleQueue[Message | None]", cancelled: threading.Event) -> None:
    """Pass requests on; one to cancel is heard while another is answered."""
    while (request := receive(requests)) is not None:
        if request.header["do"] == "cancel":
            cancelled.set()
        else:
            cancelled.clear()
            queue.put(request)
    queue.put(None)


class _Worker:
    """Answers requests by name; an error of this package is a reply, any other ends the process."""

    def __init__(self, cancelled: threading.Event) -> None:
        self.cancelled = cancelled
        self.context: Context | None = None
        self.answers: Mapping[str, Callable[..., Message]] = {
            "open": self._open,
            "begin": self._begin,
            "parts": self._parts,
            "copy": self._copy,
            "copy_whole": self._copy_whole,
            "remove": self._remove,
            "feed": self._feed,
            "check": self._check,
            "tokenize": self._tokenize,
        }

    def reply(self, request: Message) -> Message:
        """What comes of a request."""
        options = {name: value for name, value in request.header.items() if name != "do"}
        try:
            return self.answers[request.header["do"]](*request.arrays, **options)
        except RauqError as error:
            return Message({"error": type(error).__name__, "message": str(error)})

    def _open(self, *, path: str, threads: int, full_window: bool, half_cache: bool) -> Message:
        library = load_library(find_library())
        model = open_model(library, Path(path))
        self.context = Context(
            library, model, threads, self.cancelled.is_set, full_window=full_window, half_cache=half_cache
        )
        return Message({"engine": name_of(library.path), "vocab_size": self.context.vocab_size})

    def _begin(self, *, cells: int, offsets: int) -> Message:
        self._opened.begin(cells, offsets=offsets)
        return Message({})

    def _parts(self, columns: np.ndarray, *, number: int) -> Message:
        self._opened.set_parts(columns, number=number)
        return Message({})

    def _copy(self, *, source: int, target: int, length: int) -> Message:
        self._opened.copy(source, target, length)
        return Message({})

    def _copy_whole(self, *, source: int, target: int, length: int) -> Message:
        return Message({"is_whole": self._opened.copy_whole(source, target, length)})

    def _remove(self, *, sequence: int) -> Message:
        self._opened.remove(sequence)
        return Message({})

    def _feed(self, *arrays: np.ndarray) -> Message:
        fed = self._opened.feed(tokens_of(*arrays))
        return Message({"layers": fed.layers}, [fed.logits, fed.band, fed.shares])

    def _check(self, *arrays: np.ndarray) -> Message:
        return checked(self._opened, *arrays)

    def _tokenize(self, *, text: str) -> Message:
        return Message({"ids": self._opened.tokenize(text)})

    @property
    def _opened(self) -> Context:
        if self.context is None:
            message = "No model is open yet; open one first."
            raise InvalidInput(message)
        return self.context


if __name__ == "__main__":
    main()
