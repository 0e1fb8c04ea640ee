"""Visitors of a hosted app with a real model: a class, a hundred at once, and a crowd that comes, waits and leaves."""

import math
import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO
from urllib.request import urlopen

import numpy as np

from analysis.evidence.record import Bound, Cell, Record
from benchmarks.support.recording import at_least, at_most, measured, tell
from benchmarks.support.server import Server, hosting, memory_mib
from pages.ui.host.queueing.pace import MOST_SECONDS
from rauq.checkpoints.model_info import inspect_model
from tests.robustness.hosted.browser import BY_PROXY
from tests.robustness.hosted.crowd import Arrival, Came, Passing, at_random, come, together
from tests.robustness.short_lived_host import SECONDS as LEFT_SECONDS

SHORT = Passing(seconds=90.0, each_minute=12.0, reading=(5.0, 20.0))
CLASS, MANY, WARM = 30, 100, 12
MOST_GROWTH = 0.10
MOST_FACTOR, LEAST_SHARE = 1.5, 0.9  # of the stated waits, how many may be off by how much
LAST_OF_CLASS = 60.0  # seconds
MOST_PAGE = 2.0  # seconds that pages of others may take
MOST_LATE = 5.0  # seconds from the last answer of those who came together until its page shows it
MOST_LOG = 10.0  # MB

_HOST = "tests.robustness.short_lived_host"
_MODELS = {"RAUQ_MODELS": "smollm2,atlas"}
_UNFINISHED = re.compile(r"^rauq_generations{.*} (\d+)$", re.MULTILINE)
_ANSWER = re.compile(
    r'Z answer outcome="(\w+)" model="smollm2" .* stated=(\S+) waited=(\S+) seconds=(\S+) visitor="([^"]*)"'
)


@dataclass(frozen=True, kw_only=True)
class Answered:
    """An answer, as the log of the host has it: how it ended, and the seconds until it began and ended.

    `stated`: until it began, as its page said first.
    """

    outcome: str
    stated: float
    waited: float
    seconds: float
    visitor: str


@dataclass(frozen=True, kw_only=True)
class Visited:
    """One crowd: its name, the answers in the log, and what the visitors saw."""

    name: str
    answers: tuple[Answered, ...]
    came: Came

    @property
    def done(self) -> list[Answered]:
        """The answers that were given."""
        return [one for one in self.answers if one.outcome == "done"]

    @property
    def factors(self) -> np.ndarray:
        """By what factor each stated wait differs from the actual one; what is below a second counts as one."""
        known = [(one.stated, one.waited) for one in self.done if not math.isnan(one.stated)]
        pairs = np.maximum(1.0, np.array(known).reshape(-1, 2))
        return np.asarray(pairs.max(axis=1) / pairs.min(axis=1))

    @property
    def share_near(self) -> float:
        """How many of the stated waits are within the allowed factor, as a share; nan without any."""
        return float(np.mean(self.factors <= MOST_FACTOR)) if len(self.factors) else float("nan")


@dataclass(frozen=True, kw_only=True)
class Found:
    """All crowds; memory in MiB before and after, bytes of the log, faults in it, and the machine's load before.

    `unfinished`: the answers that are generated or wait in the end.
    """

    crowds: tuple[Visited, ...]
    before: float
    after: float
    unfinished: int
    log_bytes: int
    faults: tuple[str, ...]
    load: float

    @property
    def growth(self) -> float:
        """How much more memory the host has at the end, as a share."""
        return self.after / self.before - 1


def crowds(passing: Passing) -> Mapping[str, Sequence[Arrival]]:
    """The visitors of each crowd, one crowd after the other."""
    return {
        f"{CLASS} of one address at once, 32 tokens": together("pupil", CLASS, tokens=32, address="class"),
        f"{MANY} addresses at once, 16 tokens": together("one of many", MANY, tokens=16),
        f"{passing.each_minute:g} a minute for {passing.seconds / 60:g} min, a third leaves": at_random(
            "passer-by", passing, tokens=64
        ),
    }


def visited(arriving: Mapping[str, Sequence[Arrival]]) -> Found:
    """Let crowds come to a host, each after the one before has left, and all after some that ask once.

    Raises:
        ModelNotFound: the model is not on this machine.
    """
    inspect_model("smollm2")  # else refusals would be measured
    load = os.getloadavg()[0]
    with tempfile.TemporaryFile() as log, hosting(*BY_PROXY, module=_HOST, log=log, changes=_MODELS) as server:
        _come(server, log, "before", together("first", WARM, tokens=32))
        before = memory_mib(server)
        found = tuple(_come(server, log, name, arrivals) for name, arrivals in arriving.items())
        lines = _lines(log)
        return Found(
            crowds=found,
            before=before,
            after=memory_mib(server),
            unfinished=_unfinished(server.address),
            log_bytes=log.tell(),
            faults=(*(fault for one in found for fault in one.came.faults), *_faults(lines)),
            load=load,
        )


def _come(server: Server, log: IO[bytes], name: str, arrivals: Sequence[Arrival]) -> Visited:
    so_far = len(_lines(log))
    came = come(server.address, arrivals)
    time.sleep(3 * LEFT_SECONDS)  # what they left is deleted
    tell(f"{name}: {len(came.asked)} answers")
    answers = map(_answered, filter(None, map(_ANSWER.search, _lines(log)[so_far:])))
    return Visited(name=name, answers=tuple(answers), came=came)


def _lines(log: IO[bytes]) -> list[str]:
    """What is in the log so far; the host writes at its end."""
    return os.pread(log.fileno(), os.fstat(log.fileno()).st_size, 0).decode(errors="replace").splitlines()


def _unfinished(address: str) -> int:
    """How many answers are generated or wait for it, by what the host tells its operator."""
    with urlopen(f"{address}/metrics", timeout=MOST_SECONDS) as told:  # noqa: S310 - our own server
        return sum(map(int, _UNFINISHED.findall(told.read().decode())))


def _faults(lines: Sequence[str]) -> Iterator[str]:
    return (line for line in lines if "Traceback" in line or "failed" in line)


def _answered(found: re.Match[str]) -> Answered:
    stated, waited, seconds = map(float, found.groups()[1:4])
    return Answered(outcome=found[1], stated=stated, waited=waited, seconds=seconds, visitor=found[5])


def _row(crowd: Visited) -> tuple[Cell, ...]:
    outcomes = [one.outcome for one in crowd.answers]
    waits, ends = ([getattr(one, name) for one in crowd.done] or [np.nan] for name in ("waited", "seconds"))
    beside = crowd.came.beside or (np.nan,)
    return (
        crowd.name,
        *(outcomes.count(outcome) for outcome in ("done", "stopped", "refused")),
        *map(float, np.quantile(waits, (0.5, 0.95, 1))),
        float(max(ends)),
        max(crowd.came.asked, default=np.nan),
        len(crowd.factors),
        crowd.share_near,
        *map(float, np.quantile(beside, (0.5, 0.95, 1))),
    )


def record(name: str, found: Found, *, title: str, about: str) -> Record:
    """What was measured of the three crowds."""
    of_class, at_once, passing = found.crowds
    refused = sum(one.outcome == "refused" for crowd in found.crowds for one in crowd.answers)
    failed = sum(one.outcome == "failed" for crowd in found.crowds for one in crowd.answers)
    factors = np.concatenate([crowd.factors for crowd in found.crowds])
    share = float(np.mean(factors <= MOST_FACTOR)) if len(factors) else float("nan")
    last = max((one.seconds for one in of_class.done), default=np.nan)
    late = max(
        max(crowd.came.asked, default=np.nan) - max((one.seconds for one in crowd.done), default=np.nan)
        for crowd in (of_class, at_once)
    )
    repeated = sum(crowd.came.repeated for crowd in found.crowds)
    pages = [seconds for crowd in found.crowds for seconds in crowd.came.beside]
    return measured(
        name,
        title=title,
        about=about,
        columns=(
            *("crowd", "answered", "stopped", "refused", "median wait s", "95 % wait s", "longest wait s"),
            *("last answer after s", "last shown after s", "waits stated", f"within {MOST_FACTOR:g}"),
            *("pages of others s", "95 % page s", "longest page s"),
        ),
        rows=[_row(crowd) for crowd in found.crowds],
        bounds=[
            at_most("failures", failed + len(found.faults), 0),
            Bound(text=f"{len(of_class.done)} of {CLASS} in a class answered", met=len(of_class.done) == CLASS),
            at_most("seconds until the last of the class is answered", last, LAST_OF_CLASS),
            Bound(
                text=f"{len(at_once.done)} of {MANY} at once answered, {refused} refused of all who could be answered "
                f"within {MOST_SECONDS:g} s",
                met=len(at_once.done) == MANY and not refused,
            ),
            at_least(f"share of {len(factors)} stated waits within a factor of {MOST_FACTOR:g}", share, LEAST_SHARE),
            at_most("seconds from the last answer until its page shows it", late, MOST_LATE),
            at_most("seconds of the slowest page of others", max(pages), MOST_PAGE),
            at_most("answers that are generated or wait in the end", found.unfinished, 0),
            at_most("growth of memory", found.growth, MOST_GROWTH),
            at_most("MB of log", found.log_bytes / 1e6, MOST_LOG),
        ],
        notes=[
            f"Load of the machine before: {found.load:.1f}.",
            f"Memory: {found.before:.0f} MiB before, {found.after:.0f} MiB after.",
            f"Visitors who came at random and were there at once, on average: {passing.came.present:.0f}.",
            f"Clicks repeated where a page had settled without an answer: {repeated}.",
            *found.faults[:20],
        ],
        packages=("streamlit", "torch", "transformers", "numpy"),
        finding=f"On a host with smollm2, {CLASS} prompts of a class are answered within {last:.0f} s, {MANY} visitors "
        f"at once within {max((one.seconds for one in at_once.done), default=np.nan):.0f} s; of a crowd that comes at "
        f"random, 95 % wait less than {np.quantile([one.waited for one in passing.done] or [np.nan], 0.95):.1f} s.",
    )


def about(passing: Passing) -> str:
    """What is done, and for how long visitors come at random."""
    return (
        f"Real clients ask smollm2 questions about facts: a class behind one address, {MANY} visitors with an address "
        f"each, and for {passing.seconds / 60:g} minutes {passing.each_minute:g} a minute on average (Poisson), who "
        f"ask up to three questions, {passing.reading[0]:g} to {passing.reading[1]:g} s after the answer before. A "
        "third of them closes its tab within 6 s of its last question, a tenth takes messages slowly, and a tenth "
        "uploads 40 MiB. Waits are those of the host's log, until the model is the answer's; what its page said first "
        "is compared with them, less than a second as one. An answer is shown when its visitor's page is drawn, "
        "counted from the click. Another visitor opens pages meanwhile. Server and clients share the machine. The "
        "server is started as "
        f"make host starts it, but deletes what sessions left after {LEFT_SECONDS:g} s, not 300 s."
    )


def measure() -> Record:
    """The crowds in short."""
    found = visited(crowds(SHORT))
    return record("visitors", found, title="Visitors of a hosted app, with smollm2", about=about(SHORT))
