"""What one of many guests of the app does, by chance of a seed, with a word of its own in all that it writes."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlencode

import numpy as np

from tests.robustness.visitor import Visitor, visiting

PAGES = ("inspect", "compare", "answer_sets", "methods", "lesson", "runs", "evidence")
PROMPTS = ("Q: Where is {}?\nA:", "Text: {} was drawn on Friday in Lyon.\nSummary:", "German: {} ist da.\nEnglish:")
ENDLESS = "{}. Once upon a time "  # answered with more than a hundred tokens
PASTED = " In Peru.\n"
FEWEST, MOST = 3, 10  # things done in one visit

_STOPPED = "That did not work"  # what a job is called that was stopped before its first token; all else is logged
_WORD = re.compile(rb"Zq[a-z]{10}")
_LETTERS = list("abcdefghijklmnoprstuvwxyz")


@dataclass(frozen=True)
class Done:
    """Something done, and the seconds until the page was as it was to be."""

    action: str
    seconds: float


@dataclass(eq=False)
class Guest:
    """A guest of a server: `word` stands in all that it writes, and `others` are the words of all others."""

    address: str
    word: str
    others: frozenset[str]
    random: np.random.Generator
    done: list[Done] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    told_own: bool = False

    def stay(self, more: Callable[["Guest"], bool]) -> "Guest":
        """Visit the app again and again, each time by a link and in a new session, for as long as there is more."""
        while more(self):
            try:
                self._visit(more)
            except Exception as error:  # noqa: BLE001 - whatever it was, it is what is looked for
                self.faults.append(f"{type(error).__name__}: {error}")
        return self

    def _visit(self, more: Callable[["Guest"], bool]) -> None:
        with visiting(self.address, self._hear) as visitor:
            try:
                self._do(_follow_a_link, visitor)
                for _ in range(self.random.integers(FEWEST, MOST)):
                    if more(self):
                        self._do(ACTIONS[self.random.integers(len(ACTIONS))], visitor)
            finally:
                self.faults += visitor.faults
                self.faults += [refusal for refusal in visitor.refusals if refusal != _STOPPED]

    def _do(self, action: "Action", visitor: Visitor) -> None:
        seconds = action(visitor, self)
        self.done.append(Done(action.__name__.strip("_").replace("_", " "), seconds))

    def _hear(self, raw: bytes) -> None:
        words = {word.decode() for word in _WORD.findall(raw)}
        self.told_own |= self.word in words
        self.faults += [f"{self.word} was shown {word}" for word in words & self.others]


Action = Callable[[Visitor, Guest], float]


def words(count: int, seed: int) -> list[str]:
    """Words that no model writes by itself."""
    random = np.random.default_rng(seed)
    return ["Zq" + "".join(random.choice(_LETTERS, 10)) for _ in range(count)]


def _settled(visitor: Visitor) -> float:
    begun = time.monotonic()
    visitor.settle()
    return time.monotonic() - begun


def _follow_a_link(visitor: Visitor, guest: Guest) -> float:
    begun = time.monotonic()
    links = (
        ("inspect", {"prompt": PROMPTS[0].format(guest.word), "answer": PASTED, "alpha": "0.3"}),
        ("inspect", {"run": "atlas", "number": "7", "from": "answer_sets"}),
        ("answer_sets", {"run": "atlas", "view": "length"}),
        ("methods", {"run": "atlas"}),
        ("compare", {}),
        ("lesson", {}),
        ("runs", {}),
        ("evidence", {"view": "speed"}),
    )
    page, query = links[guest.random.integers(len(links))]
    visitor.open(page, urlencode(query))
    return time.monotonic() - begun


def _open_a_page(visitor: Visitor, guest: Guest) -> float:
    begun = time.monotonic()
    visitor.open(PAGES[guest.random.integers(len(PAGES))])
    return time.monotonic() - begun


def _generate(visitor: Visitor, guest: Guest) -> float:
    prompt = PROMPTS[guest.random.integers(len(PROMPTS))].format(guest.word)
    visitor.open("inspect")
    visitor.click("run", visitor.chosen("task", "generate"), visitor.typed("prompt", prompt))
    return _settled(visitor)


def _score_a_pasted_answer(visitor: Visitor, guest: Guest) -> float:
    visitor.open("inspect")
    visitor.change(visitor.chosen("task", "paste"))
    visitor.settle()
    prompt = PROMPTS[guest.random.integers(len(PROMPTS))].format(guest.word)
    visitor.click("run", visitor.typed("prompt", prompt), visitor.typed("answer", PASTED))
    return _settled(visitor)


def _change_alpha(visitor: Visitor, guest: Guest) -> float:
    visitor.open("inspect")
    visitor.change(visitor.moved("settings_alpha", guest.random.integers(20) / 20))
    return _settled(visitor)


def _stop(visitor: Visitor, guest: Guest) -> float:
    visitor.open("inspect")
    prompt = ENDLESS.format(guest.word)
    visitor.click("run", visitor.chosen("task", "generate"), visitor.typed("prompt", prompt))
    visitor.wait_for_page()
    if visitor.polls:  # else it has ended already
        visitor.click("stop")
    return _settled(visitor)


ACTIONS: tuple[Action, ...] = (_open_a_page, _generate, _score_a_pasted_answer, _change_alpha, _stop)
