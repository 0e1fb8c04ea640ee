"""Load: simulated users of one real server, in two equal rounds: no errors, no mixed-up text, no memory growth.

A simulated user does seeded random actions, and puts a word of its own into everything it writes.
"""

import re
import signal
import tempfile
import time
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import numpy as np

from analysis.evidence.record import Bound, Cell, Record
from benchmarks.support.recording import measured
from benchmarks.support.server import Server, memory_mib, processor_seconds, started
from tests.listed import PAGES
from tests.robustness.client import LONG_PROMPT, OF_ATLAS, Client, connected
from tests.robustness.instrumented_server import LOADED

SECONDS, SESSIONS, SEED = 300.0, 20, 0
MOST_GROWTH = 0.05
SLOWEST_STOP = 5.0  # seconds

PROMPTS = ("Q: Where is {}?\nA:", "Text: {} was drawn on Friday in Lyon.\nSummary:", "German: {} ist da.\nEnglish:")
PASTED = " In Peru.\n"
ACTIONS_PER_SESSION = 3, 10  # at least, and fewer than
FEWEST = 3  # actions of each user, however slow the machine, so that every kind is done

_STOPPED = "Stopped"  # the title shown for a job that was stopped before its first token
_WORD = re.compile(rb"Zq[a-z]{10}")
_LETTERS = list("abcdefghijklmnoprstuvwxyz")
_TTL = 1  # seconds that the server keeps a session whose browser has left
_INSTRUMENTED, _OPTIONS = "tests.robustness.instrumented_server", (f"--server.disconnectedSessionTTL={_TTL}",)
_ERRORS = re.compile(r"Traceback|\bERROR\b|\w+(Error|Exception):")
_IDLE, _LOOK, _PATIENCE = 0.05, 0.5, 60.0  # processor seconds of an idle server, seconds of one look, and of all


@dataclass(frozen=True)
class Done:
    """An action, and the seconds until its page had settled."""

    action: str
    seconds: float


@dataclass(eq=False, kw_only=True)
class User:
    """A simulated user, until a time (monotonic), and until `fewest` actions are done.

    `word` is part of everything it writes, `others` are the words of all other users.
    """

    address: str
    word: str
    others: frozenset[str]
    random: np.random.Generator
    until: float
    fewest: int
    done: list[Done] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    saw_own: bool = False

    @property
    def finished(self) -> bool:
        """After a fault it need not do the rest of its actions: the server may have died."""
        return time.monotonic() >= self.until and (len(self.done) >= self.fewest or bool(self.faults))

    def use(self) -> "User":
        """Use the app in one session after the other, each of which begins with a link."""
        while not self.finished:
            try:
                self._session()
            except Exception as error:  # noqa: BLE001 - every error is a fault
                self.faults.append(f"{type(error).__name__}: {error}")
        return self

    def any_of(self, values: Sequence[Any]) -> Any:
        """One of the values, at random."""
        return values[self.random.integers(len(values))]

    def prompt(self) -> str:
        """A prompt with its word."""
        return str(self.any_of(PROMPTS)).format(self.word)

    def _session(self) -> None:
        with connected(self.address, self._receive) as client:
            try:
                self._do(_follow_a_link, client)
                for _ in range(self.random.integers(*ACTIONS_PER_SESSION)):
                    if not self.finished:
                        self._do(self.any_of(ACTIONS), client)
            finally:
                self.faults += client.faults
                self.faults += [refusal for refusal in client.refusals if refusal != _STOPPED]

    def _do(self, action: "Action", client: Client) -> None:
        self.done.append(Done(action.__name__.strip("_").replace("_", " "), action(client, self)))

    def _receive(self, raw: bytes) -> None:
        words = {word.decode() for word in _WORD.findall(raw)}
        self.saw_own |= self.word in words
        self.faults += [f"{self.word} was shown {word}" for word in words & self.others]


Action = Callable[[Client, User], float]
"""Does something in a session, and returns how many seconds its page took to settle."""


def words(count: int, seed: int) -> list[str]:
    """Words that no model writes by itself."""
    random = np.random.default_rng(seed)
    return ["Zq" + "".join(random.choice(_LETTERS, 10)) for _ in range(count)]


def _seconds(wait: Callable[[], None]) -> float:
    begun = time.monotonic()
    wait()
    return time.monotonic() - begun


def _follow_a_link(client: Client, user: User) -> float:
    links = (
        ("inspect", {"prompt": PROMPTS[0].format(user.word), "answer": PASTED, "alpha": "0.3"}),
        ("inspect", {"run": "smollm2-facts", "number": "7", "from": "answer_sets"}),
        ("answer_sets", {"run": "smollm2-facts", "view": "length"}),
        ("methods", {"run": "smollm2-facts"}),
        ("compare", {}),
        ("learn", {}),
        ("runs", {}),
        ("evidence", {"view": "speed"}),
    )
    page, query = user.any_of(links)
    return _seconds(lambda: client.open(page, urlencode(query)))


def _open_a_page(client: Client, user: User) -> float:
    page = user.any_of(PAGES)
    return _seconds(lambda: client.open(page))


def _generate(client: Client, user: User) -> float:
    client.open("inspect", OF_ATLAS)
    client.click("run", client.typed("prompt", user.prompt()))
    return _seconds(client.settle)


def _score_a_pasted_answer(client: Client, user: User) -> float:
    client.open("inspect", OF_ATLAS)
    client.click("task_link")
    client.settle()
    client.click("run", client.typed("prompt", user.prompt()), client.typed("answer", PASTED))
    return _seconds(client.settle)


def _change_alpha(client: Client, user: User) -> float:
    client.open("inspect", OF_ATLAS)
    client.change(client.chosen("settings_alpha", f"{user.random.integers(20) / 20:g}"))
    return _seconds(client.settle)


def _stop(client: Client, user: User) -> float:
    client.open("inspect", OF_ATLAS)
    client.click("run", client.typed("prompt", LONG_PROMPT.format(user.word)))
    client.wait_for_page()
    if client.polls:  # else the answer is complete
        client.click("stop")
    return _seconds(client.settle)


ACTIONS: tuple[Action, ...] = (_open_a_page, _generate, _score_a_pasted_answer, _change_alpha, _stop)


@dataclass(frozen=True, kw_only=True)
class Round:
    """The users of a round, and the memory of the server in MiB after they had left."""

    users: tuple[User, ...]
    memory_mib: float

    @property
    def done(self) -> tuple[Done, ...]:
        """What they did, user by user."""
        return tuple(done for user in self.users for done in user.done)

    def seconds(self, *, of: str = "") -> np.ndarray:
        """Duration of each action, of all or of one kind."""
        return np.array([done.seconds for done in self.done if of in ("", done.action)])


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """Two rounds of the same actions, a name for each time that a model was loaded, and all faults."""

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
        """Seconds of the slowest stop in the second round: in the first, a job may wait for the model to load."""
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
    """So many users for so many seconds, and then others with the same actions."""
    every = words(2 * sessions, seed)
    with tempfile.TemporaryFile() as log:
        with started(module=_INSTRUMENTED, options=_OPTIONS, log=log) as server:
            first = _round(server, every, seed, until=time.monotonic() + seconds, fewest=[FEWEST] * sessions)
            second = _round(server, every[::-1], seed, until=0.0, fewest=[len(user.done) for user in first.users])
        log.seek(0)
        lines = log.read().decode(errors="replace").splitlines()
    users = (*first.users, *second.users)
    return Loaded(
        rounds=(first, second),
        models=tuple(line.removeprefix(LOADED) for line in lines if line.startswith(LOADED)),
        faults=(
            # Where no user sees its own word, no mixed-up word would be seen.
            *["no user was shown its own word"] * (not any(user.saw_own for user in users)),
            *(fault for user in users for fault in user.faults),
            *(line for line in lines if _ERRORS.search(line)),
        ),
    )


def _round(server: Server, every: list[str], seed: int, *, until: float, fewest: list[int]) -> Round:
    """Users at the same time, one for each number of actions; the first words are theirs."""
    users = [
        User(
            address=server.address,
            word=word,
            others=frozenset(every) - {word},
            random=np.random.default_rng([seed, number]),
            until=until,
            fewest=count,
        )
        for number, (word, count) in enumerate(zip(every, fewest, strict=False))
    ]
    with ThreadPoolExecutor(len(users)) as pool:
        done = tuple(pool.map(User.use, users))
    return Round(users=done, memory_mib=_idle_memory(server))


def _idle_memory(server: Server) -> float:
    """Memory of the idle server in MiB, after old sessions are gone and garbage is collected."""
    time.sleep(_TTL)
    _wait_until_idle(server)
    address = f"{server.address}/_stcore/metrics"
    urllib.request.urlopen(address, timeout=_PATIENCE).close()  # noqa: S310 - our own server drops old sessions at this
    server.process.send_signal(signal.SIGUSR1)
    _wait_until_idle(server)
    return memory_mib(server)


def _wait_until_idle(server: Server) -> None:
    deadline, before = time.monotonic() + _PATIENCE, -1.0
    while (now := processor_seconds(server)) - before > _IDLE and time.monotonic() < deadline:
        time.sleep(_LOOK)
        before = now
