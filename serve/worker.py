"""The thread that has the model: jobs wait in a bounded queue and are answered in batches."""

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

from rauq.checkpoints.memory import give_back
from rauq.errors import EngineStopped, Failure, OutOfMemory
from rauq.model.language_model import LanguageModel
from serve import LOG
from serve.job import Job
from serve.refusals import STOPPING, Refusal, where

Turn = Callable[[], AbstractContextManager[object]]
_log = logging.getLogger(LOG)
# A batch begins once no job has come for so many seconds, and no request is on its way to become one: clients whose
# answers ended together come back together, and who comes too late waits for the end of the batch. After a batch of
# several it is as long as a token took, within these bounds: on a busy machine clients come back more slowly.
_LEAST_QUIET, _MOST_QUIET = 0.02, 0.1
_MOST_GATHERING = 0.3  # seconds
_REST = 30.0  # seconds without work, after which memory goes back to the system
# Tokens of the cache where answers join others: for a batch of the first, but for short ones at least and long ones at
# most so many; the first one fits whatever it needs.
_USUAL, _MOST_CELLS = 512, 8192
_SHIFT = 10.0  # seconds after which no answer joins others any more, where somebody else may wait for the model


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a server takes: jobs that wait, answers of a batch, tokens of an answer, seconds from request to answer."""

    waiting: int = 64
    batch: int = 8
    tokens: int = 1024
    seconds: float = 600.0


class _AllGone:
    """Whether nobody waits for a batch any more."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.jobs = jobs

    def is_set(self) -> bool:
        """Whether to stop."""
        return all(job.gone.is_set() for job in self.jobs)


class Worker:
    """Answers jobs in the order in which they came, as many together as fit.

    Where the engine lets answers join others, a job begins once there is a place; else it waits for the end of the
    batch that runs. `last_row`: as in `LimitOptions`. `turn`: holds the model meanwhile, where others use it too.
    """

    def __init__(self, lm: LanguageModel, limits: Limits, *, last_row: bool = False, turn: Turn | None = None) -> None:
        self.lm, self.limits, self.last_row, self.turn = lm, limits, last_row, turn or nullcontext
        self.longest_shift = math.inf if turn is None else _SHIFT
        self.waiting: deque[Job] = deque()
        self.running: list[Job] = []
        self.is_stopping = False
        self.coming = 0  # requests that are read and not yet jobs; the event loop counts them
        self._moved, self._quiet, self._until = threading.Condition(), _LEAST_QUIET, 0.0
        threading.Thread(target=self._run, name="model", daemon=True).start()

    @property
    def is_idle(self) -> bool:
        """Whether no job waits or runs."""
        return not self.waiting and not self.running

    @contextmanager
    def expecting(self) -> Iterator[None]:
        """Make a batch that is about to begin wait for the jobs submitted in the body of the `with`."""
        self.coming += 1
        try:
            yield
        finally:
            self.coming -= 1

    def submit(self, jobs: Sequence[Job]) -> None:
        """Let jobs wait for their turn.

        Raises:
            Refusal: the queue is full, or the server is stopping.
        """
        with self._moved:
            if self.is_stopping:
                raise Refusal(503, STOPPING)
            count = sum(not job.gone.is_set() for job in self.waiting)
            if count + len(jobs) > self.limits.waiting:
                message = f"{count} answers wait, and at most {self.limits.waiting} may. Try again later."
                raise Refusal(429, message, code="rate_limit_exceeded")
            self.waiting.extend(jobs)
            self._moved.notify_all()

    def stop(self) -> None:
        """Take no new jobs."""
        self.is_stopping = True

    def abort(self) -> None:
        """End what waits or runs: each client is told why."""
        with self._moved:
            for job in (*self.waiting, *self.running):
                job.fail(Refusal(503, STOPPING))
                job.gone.set()

    def _run(self) -> None:
        rest = None  # there is nothing to give back yet
        while True:
            if self._has_work(within=rest):
                with self.turn():
                    self._answer_next()
                rest = _REST
            else:
                give_back()
                rest = None

    def _has_work(self, *, within: float | None) -> bool:
        """Wait until a job waits; False if none has come within so many seconds."""
        with self._moved:
            return bool(self._moved.wait_for(lambda: self.waiting, within))

    def _answer_next(self) -> None:
        if self.lm.most_together:
            self._answer_joining()
            return
        with self._moved:
            self._gather()
            self.running = self._taken()
        if self.running:
            self._answer_batch(self.running)
        self.running = []

    def _answer_joining(self) -> None:
        """Answer jobs, each of which begins once there is a place among those that run, until all have ended.

        The first decides how large the cache is. A job that does not fit beside the others waits, and those behind it.
        """
        with self._moved:
            self._drop()
            if not self.waiting:
                return
            self.running = [first := self.waiting.popleft()]
        self._until = time.monotonic() + self.longest_shift
        places = min(self.limits.batch, self.lm.most_together)
        size = max(_num_cells(first), min(places * max(_num_cells(first), _USUAL), _MOST_CELLS))
        try:
            with self.lm.together(size) as lm, self._moved:
                self._begin(lm, first)
                while self.running:
                    self._join(lm, places, size)
                    self._moved.wait()
        except Exception as error:  # noqa: BLE001 - the model cannot run
            _log.error("no answer can begin: %s", where(error))
            first.fail(error)
            self.running = []

    def _join(self, lm: LanguageModel, places: int, size: int) -> None:
        """Begin the jobs for which there is a place beside those that run."""
        self._drop()
        while self.waiting and len(self.running) < places and time.monotonic() < self._until:
            if sum(map(_num_cells, (*self.running, self.waiting[0]))) > size:
                return
            self.running.append(job := self.waiting.popleft())
            self._begin(lm, job)

    def _begin(self, lm: LanguageModel, job: Job) -> None:
        try:
            threading.Thread(target=self._answer_one, args=(lm, job), name="answer", daemon=True).start()
        except RuntimeError as error:  # the system has no more threads; those that run go on
            self.running.remove(job)
            job.fail(error)

    def _answer_one(self, lm: LanguageModel, job: Job) -> None:
        can_go_on = False
        try:
            can_go_on = self._answer(lm, [job])
        finally:
            with self._moved:
                if not can_go_on:
                    self._until = 0.0  # nobody joins what would fail with it
                self.running.remove(job)
                self._moved.notify_all()

    def _gather(self) -> None:
        """Wait for the jobs that are about to come."""
        until = time.monotonic() + _MOST_GATHERING
        while len(self.waiting) < self.limits.batch and time.monotonic() < until:
            before = len(self.waiting)
            self._moved.wait(self._quiet)
            if len(self.waiting) == before and not self.coming:
                return

    def _taken(self) -> list[Job]:
        """The first job in the queue and those that fit it."""
        self._drop()
        taken: list[Job] = []
        for job in list(self.waiting):
            if len(taken) < self.limits.batch and self._fit([*taken, job]):
                taken.append(job)
                self.waiting.remove(job)
        return taken

    def _drop(self) -> None:
        """Take late jobs, and those without a client, out of the queue."""
        for job in list(self.waiting):
            if job.is_late:
                job.fail(Refusal(503, f"The answer has not begun after {self.limits.seconds:g} s. Try again later."))
            if job.gone.is_set() or job.has_ended:
                self.waiting.remove(job)

    def _fit(self, jobs: Sequence[Job]) -> bool:
        """Whether these can be one batch: put to the model in the same way, and together within its context."""
        if len(jobs) == 1:
            return True
        asked = [job.wanted for job in jobs]
        longest = max(one.num_prompt for one in asked) + max(one.most_tokens for one in asked)
        context = self.lm.context_length
        return len({one.chat for one in asked}) == 1 and (context is None or longest <= context)

    def _answer_batch(self, jobs: Sequence[Job]) -> None:
        """Answer jobs that begin together, and note how long a token of theirs took."""
        began = time.monotonic()
        self._answer(self.lm, jobs)
        seconds = time.monotonic() - began
        a_token = seconds / max(1, *(job.count for job in jobs)) if len(jobs) > 1 else 0.0
        self._quiet = min(max(a_token, _LEAST_QUIET), _MOST_QUIET)

    def _answer(self, lm: LanguageModel, jobs: Sequence[Job]) -> bool:
        """Answer a batch; whatever happens, each of its clients is told. False: others would fail with it."""
        began, faults = time.monotonic(), list[Exception]()
        try:
            outcomes = lm.generate_batch(
                [job.wanted.prompt for job in jobs],
                batch_size=len(jobs),
                watches=[job.watch for job in jobs],
                sampling=[job.wanted.sampling for job in jobs],
                max_new_tokens=max(job.wanted.most_tokens for job in jobs),
                chat=jobs[0].wanted.chat,
                stop=(),
                last_row=self.last_row,
                cancel=_AllGone(jobs),
            )
            for job, outcome in zip(jobs, outcomes, strict=False):  # of a batch that was cancelled, not all are there
                if isinstance(outcome, Failure):
                    faults.append(outcome.error)
                    job.fail(outcome.error)
        except Exception as error:  # noqa: BLE001 - the clients of this batch are told, and the next batch runs
            faults.append(error)
            _log.error("batch failed: %s", where(error))
            for job in jobs:
                job.fail(error)
        for job in jobs:
            job.fail(Refusal(500, "The model gave no answer."))
        _log.info("batch of %d in %.2f s", len(jobs), time.monotonic() - began)
        return not any(isinstance(fault, EngineStopped | OutOfMemory) for fault in faults)


def _num_cells(job: Job) -> int:
    """The tokens that a job may have, with one more, as `LanguageModel.together` counts them."""
    return job.wanted.num_prompt + job.wanted.most_tokens + 1
