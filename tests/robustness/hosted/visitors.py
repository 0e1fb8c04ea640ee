"""Visitors of a hosted app with a real model, who ask, read the answer, and ask again: waits, failures, memory."""

import re
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from random import Random

import numpy as np

from analysis.datasets.names import fact_set
from analysis.evidence.record import Bound, Record
from benchmarks.support.recording import measured
from benchmarks.support.server import Server, hosting, memory_mib
from rauq.checkpoints.model_info import inspect_model
from tests.robustness.client import Client, connected
from tests.robustness.hosted.browser import BY_PROXY, as_visitor
from tests.robustness.short_lived_host import SECONDS as LEFT_SECONDS

SECONDS, SESSIONS, SEED = 600.0, 20, 11
READING = (20.0, 40.0)  # seconds between an answer and the next question
MOST_GROWTH = 0.10
MOST_WAIT = 30.0  # seconds, for 95 % of the answers

_HOST = "tests.robustness.short_lived_host"
_ANSWER = re.compile(r'Z answer outcome="(\w+)" model="smollm2" .* tokens=(\d+) waited=(\S+) seconds=(\S+) ')
_MODELS = {"RAUQ_MODELS": "smollm2,atlas"}


@dataclass(frozen=True, kw_only=True)
class Answered:
    """One answer, as the log of the host has it: how it ended, its tokens, and the seconds until it began and ended."""

    outcome: str
    tokens: int
    waited: float
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Visited:
    """All answers in the log, the seconds that visitors waited for a page, memory in MiB before and after, faults."""

    answers: tuple[Answered, ...]
    asked: tuple[float, ...]
    before: float
    after: float
    faults: tuple[str, ...]

    @property
    def growth(self) -> float:
        """How much more memory the host has at the end, as a share."""
        return self.after / self.before - 1


@dataclass(eq=False, kw_only=True)
class Visitor:
    """A visitor with an address of its own, who asks questions about facts in one session."""

    address: str
    number: int
    questions: Sequence[str]
    asked: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def visit(self, seconds: float) -> "Visitor":
        """Ask until the time is over, at least once."""
        rng, until = Random(f"{SEED} {self.number}"), time.monotonic() + seconds
        try:
            with connected(self.address, headers=as_visitor(f"visitor {self.number}")) as client:
                client.open("inspect")
                self._ask(client, rng)
                while time.monotonic() + (pause := rng.uniform(*READING)) < until:
                    time.sleep(pause)
                    self._ask(client, rng)
                self.faults += [*client.faults, *client.refusals]
        except Exception as error:  # noqa: BLE001 - every error is a fault
            self.faults.append(f"{type(error).__name__}: {error}")
        return self

    def _ask(self, client: Client, rng: Random) -> None:
        begun = time.monotonic()
        client.click("run", client.typed("prompt", rng.choice(self.questions)))
        client.settle()
        self.asked.append(time.monotonic() - begun)


def visited(*, seconds: float, sessions: int) -> Visited:
    """So many visitors at once for so many seconds, after as many that ask once.

    Raises:
        ModelNotFound: the model is not on this machine.
    """
    inspect_model("smollm2")  # else ten minutes of refusals would be measured
    with tempfile.TemporaryFile() as log:
        with hosting(*BY_PROXY, module=_HOST, log=log, changes=_MODELS) as server:
            first, before = _visit(server, 0.0, sessions)
            every, after = _visit(server, seconds, sessions)
        log.seek(0)
        lines = log.read().decode(errors="replace").splitlines()
    users = (*first, *every)
    return Visited(
        answers=tuple(map(_answered, filter(None, map(_ANSWER.search, lines)))),
        asked=tuple(seconds for user in every for seconds in user.asked),
        before=before,
        after=after,
        faults=(*(fault for user in users for fault in user.faults), *(line for line in lines if "Traceback" in line)),
    )


def _visit(server: Server, seconds: float, sessions: int) -> tuple[list[Visitor], float]:
    """Visitors, and the memory of the host once what they left behind is deleted."""
    questions = [example.prompt for example in fact_set("facts", kind="instruct").examples]
    users = [Visitor(address=server.address, number=number, questions=questions) for number in range(sessions)]
    with ThreadPoolExecutor(sessions) as pool:
        done = list(pool.map(lambda user: user.visit(seconds), users))
    time.sleep(3 * LEFT_SECONDS)
    return done, memory_mib(server)


def _answered(found: re.Match[str]) -> Answered:
    return Answered(outcome=found[1], tokens=int(found[2]), waited=float(found[3]), seconds=float(found[4]))


def measure() -> Record:
    """The visitors in full."""
    found = visited(seconds=SECONDS, sessions=SESSIONS)
    failed = [one for one in found.answers if one.outcome != "done"]
    waits = np.array([one.waited for one in found.answers])
    rows = (
        ("until the model is the answer's", waits),
        ("until the answer is complete", np.array([one.seconds for one in found.answers])),
        ("until its page is drawn", np.array(found.asked)),
    )
    wait = float(np.quantile(waits, 0.95))
    return measured(
        "visitors",
        title="Visitors of a hosted app, with smollm2",
        about=f"{SESSIONS} visitors at once, each with a session of its own, ask smollm2 questions about facts for "
        f"{SECONDS / 60:g} minutes and read for {READING[0]:g} to {READING[1]:g} s before they ask again. The server "
        f"is started as make host starts it, but deletes what sessions left after {LEFT_SECONDS:g} s (make host: after "
        "300 s). Waits are those of its own log.",
        columns=("seconds", "answers", "median", "95 %", "slowest"),
        rows=[(name, len(of), *map(float, np.quantile(of, (0.5, 0.95))), float(of.max())) for name, of in rows],
        bounds=[
            Bound(
                text=f"{len(failed) + len(found.faults)} failures in {len(found.answers)} answers, at most 0",
                met=not failed and not found.faults,
            ),
            Bound(text=f"95 % of the answers wait {wait:.1f} s: {MOST_WAIT:g} s allowed", met=wait <= MOST_WAIT),
            Bound(
                text=f"memory {found.before:.0f} MiB before, {found.after:.0f} MiB after: {found.growth:+.1%}, at most "
                f"+{MOST_GROWTH:.0%} allowed",
                met=found.growth <= MOST_GROWTH,
            ),
        ],
        notes=found.faults[:20],
        packages=("streamlit", "torch", "transformers", "numpy"),
        finding=f"{SESSIONS} visitors of a host ask smollm2 {len(found.asked)} questions in {SECONDS / 60:g} minutes: "
        f"95 % wait less than {wait:.1f} s for the model.",
    )
