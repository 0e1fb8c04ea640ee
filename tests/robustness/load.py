"""Many sessions on one real server, two equal rounds: no errors, no mixed-up text, no growth, and Stop works."""

import os
import re
import signal
import tempfile
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from analysis.evidence.record import Bound, Cell, Record
from benchmarks.recording import measured
from benchmarks.server import Server, processor_seconds, started
from tests.robustness.guest import Done, Guest, words
from tests.robustness.watched import LOADED

SECONDS, SESSIONS, SEED = 300.0, 20, 0
MOST_GROWTH = 0.05
SLOWEST_STOP = 5.0  # seconds

_TTL = 1  # seconds that the server keeps a session whose browser is gone
_WATCHED, _OPTIONS = "tests.robustness.watched", (f"--server.disconnectedSessionTTL={_TTL}",)
_FAULTS = re.compile(r"Traceback|\bERROR\b|\w+(Error|Exception):")
_FEWEST = 3  # things that a guest does, however slow the machine: so all kinds are done
_QUIET, _LOOK, _PATIENCE = 0.05, 0.5, 60.0  # processor seconds of a server at rest, seconds of one look, and of all


@dataclass(frozen=True, kw_only=True)
class Round:
    """What the guests of one round did, and the memory that the server held once they had left, in MiB."""

    done: tuple[Done, ...]
    memory_mib: float

    def seconds(self, *, of: str = "") -> np.ndarray:
        """How long each action took, of all or of one kind."""
        return np.array([done.seconds for done in self.done if of in ("", done.action)])


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """Two rounds of the same actions; `models` are those that were loaded, one a load, `faults` all that went wrong."""

    rounds: tuple[Round, Round]
    models: tuple[str, ...]
    faults: tuple[str, ...]

    @property
    def growth(self) -> float:
        """How much more memory the server held after the second round than after the first, as a share."""
        first, second = self.rounds
        return second.memory_mib / first.memory_mib - 1

    @property
    def slowest_stop(self) -> float:
        """Seconds of the second round's slowest: in the first, a job that waits for the model to load waits on."""
        return float(self.rounds[1].seconds(of="stop").max())


def measure() -> Record:
    """The load in full."""
    found = load(seconds=SECONDS, sessions=SESSIONS, seed=SEED)
    first, second = found.rounds
    slowest = found.slowest_stop
    actions = len(first.done) + len(second.done)
    return measured(
        "load",
        title="Load: concurrent sessions on one server",
        about=f"{SESSIONS} sessions over websockets open pages and links, generate, score pasted answers, change alpha "
        "and stop jobs, without a pause between what they do, for five minutes; then others do the same once more. "
        "Each writes a word of its own into its prompts, which is looked for in what the others are shown. The "
        f"server is started as make app starts it, but forgets a session {_TTL} s after its browser left (make app: "
        "after 120 s), and its log names every model that is loaded.",
        columns=("action", "times", "median s", "95 % s", "slowest s"),
        rows=[_row(name, found) for name in ("", *sorted({done.action for done in first.done}))],
        bounds=[
            Bound(text=f"{len(found.faults)} faults in {actions:,} actions, at most 0", met=not found.faults),
            Bound(text=f"the model was loaded {len(found.models)} times: once allowed", met=len(found.models) == 1),
            Bound(
                text=f"memory {first.memory_mib:.0f} MiB after the first round, {second.memory_mib:.0f} MiB after the "
                f"second: {found.growth:+.1%}, at most +{MOST_GROWTH:.0%} allowed",
                met=found.growth <= MOST_GROWTH,
            ),
            Bound(
                text=f"with the model loaded, a stopped job ended within {slowest:.1f} s: {SLOWEST_STOP:g} s allowed",
                met=slowest <= SLOWEST_STOP,
            ),
        ],
        notes=found.faults[:20],
        packages=("streamlit", "torch", "transformers", "numpy"),
        finding=f"{actions:,} actions of {SESSIONS} concurrent sessions: {len(found.faults)} faults, memory "
        f"{found.growth:+.1%} over an equal round before.",
    )


def _row(action: str, found: Loaded) -> tuple[Cell, ...]:
    seconds = np.concatenate([each.seconds(of=action) for each in found.rounds])
    middle, high = np.quantile(seconds, (0.5, 0.95))
    return action or "all", len(seconds), float(middle), float(high), float(seconds.max())


def load(*, seconds: float, sessions: int, seed: int) -> Loaded:
    """Let so many guests act for so many seconds, and then others do the same once more."""
    every = words(2 * sessions, seed)
    with tempfile.TemporaryFile() as log:
        with started(module=_WATCHED, options=_OPTIONS, log=log) as server:
            until = time.monotonic() + seconds
            first = _stays(
                server,
                every,
                sessions,
                seed,
                lambda _number: lambda guest: time.monotonic() < until or _has_yet_to_do(guest, _FEWEST),
            )
            memory = _memory_at_rest(server)
            counts = [len(guest.done) for guest in first]
            second = _stays(
                server, every[::-1], sessions, seed, lambda number: lambda guest: _has_yet_to_do(guest, counts[number])
            )
            rounds = (_round(first, memory), _round(second, _memory_at_rest(server)))
        log.seek(0)
        lines = log.read().decode(errors="replace").splitlines()
    models = tuple(line.removeprefix(LOADED) for line in lines if line.startswith(LOADED))
    said = [line for line in lines if _FAULTS.search(line)]
    return Loaded(rounds=rounds, models=models, faults=(*_faults([*first, *second]), *said))


def _has_yet_to_do(guest: Guest, count: int) -> bool:
    """A guest that something went wrong for has nothing to do: on a server that died it would try for ever."""
    return len(guest.done) < count and not guest.faults


def _stays(
    server: Server, every: list[str], count: int, seed: int, more: Callable[[int], Callable[[Guest], bool]]
) -> list[Guest]:
    """The first `count` words are those of the guests."""
    guests = [
        Guest(server.address, word, frozenset(every) - {word}, np.random.default_rng([seed, number]))
        for number, word in enumerate(every[:count])
    ]
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(lambda guest, number: guest.stay(more(number)), guests, range(count)))


def _round(guests: list[Guest], memory_mib: float) -> Round:
    return Round(done=tuple(done for guest in guests for done in guest.done), memory_mib=memory_mib)


def _faults(guests: list[Guest]) -> list[str]:
    """What went wrong for guests; if none was shown a word of its own, nothing can have been mixed up."""
    unseen = [] if any(guest.told_own for guest in guests) else ["no guest was shown a word of its own"]
    return [*unseen, *(fault for guest in guests for fault in guest.faults)]


def _memory_at_rest(server: Server) -> float:
    """Memory of a server in MiB, once nothing is at work there and what nobody holds was collected."""
    time.sleep(_TTL)
    _rest(server)
    address = f"{server.address}/_stcore/metrics"
    urllib.request.urlopen(address, timeout=_PATIENCE).close()  # noqa: S310 - our own server: it lets go of old sessions
    server.process.send_signal(signal.SIGUSR1)
    _rest(server)
    pages = int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _rest(server: Server) -> None:
    """Wait until the server asks nothing of the processor."""
    deadline, before = time.monotonic() + _PATIENCE, -1.0
    while (now := processor_seconds(server)) - before > _QUIET and time.monotonic() < deadline:
        time.sleep(_LOOK)
        before = now
