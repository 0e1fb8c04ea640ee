"""What a view is: one question about a set of answers, with its computation, figures, sentences and tables."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar

from analysis.answer_sets.sentences import joined
from analysis.exports.tables import Table
from analysis.figures import Figure
from analysis.views.answer_set import AnswerSet

C = TypeVar("C")
R = TypeVar("R")

Click = Literal["", "answer", "layer"]
Topic = Literal[
    "Which heads?",
    "The paper's figures",
    "What is a score worth?",
    "How well do methods rank?",
    "What does the ranking rest on?",
    "Which answers are found?",
]
"""What a view helps to find out; a page lists the views of one topic together."""


class Draw(Protocol):
    """Draws a figure for a light or a dark page."""

    def __call__(self, *, dark: bool = False) -> Figure: ...  # noqa: D102 - as of the class


class Picture(NamedTuple):
    """A figure of a view and its words; `name` is that of its files, and `alt` describes it to those who cannot see it.

    `click`: what a point of it stands for, if a page lets readers choose one. `share`: of the width of a page; figures
    in a row that are narrower than the page stand side by side. `place`: whether a page shows it at once, or in a
    section that is closed at first. `about`: what else there is to know, which a page shows when it is asked for.
    """

    name: str
    heading: str
    alt: str
    caption: str
    draw: Draw
    click: Click = ""
    share: float = 1
    place: Literal["open", "folded"] = "open"
    about: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Seen(Generic[C, R]):
    """What a view found: its result for a set of answers under some choices."""

    answers: AnswerSet
    choices: C
    result: R


def nothing(_seen: Seen[C, R]) -> str:
    """No words."""
    return ""


def no_tables(_seen: Seen[C, R]) -> tuple[Table, ...]:
    """No tables."""
    return ()


def as_chosen(_answers: AnswerSet, choices: C) -> tuple[C, ...]:
    """A report shows a view once, under the choices of the report."""
    return (choices,)


@dataclass(frozen=True, kw_only=True)
class View(Generic[C, R]):
    """A view of a set of answers. Its `id` is its address, its `title` its name in the list of views of its `topic`.

    `needs`: the choices on which its result or its pictures depend, by the names of their fields; "thresholds" and
    "settings" are those of the answers. `claim` says what was found in words that need no statistics, and `sentence` in
    numbers; `more` what else there is to know, `bounds` what unclear answers could change in it; these may be empty.
    `reported`: the choices under which a report shows it. `uses_selection`: whether it depends on the heads that RAUQ
    selects.
    `within`: the id of the view that a page shows it in, where it has no place of its own.
    """

    id: str
    title: str
    topic: Topic
    question: str
    needs: frozenset[str] = frozenset()
    compute: Callable[[AnswerSet, C], R]
    claim: Callable[[Seen[C, R]], str]
    sentence: Callable[[Seen[C, R]], str]
    more: Callable[[Seen[C, R]], str] = nothing
    bounds: Callable[[Seen[C, R]], str] = nothing
    pictures: Callable[[Seen[C, R]], tuple[Picture, ...]]
    tables: Callable[[Seen[C, R]], tuple[Table, ...]] = no_tables
    reported: Callable[[AnswerSet, C], Iterable[C]] = as_chosen
    uses_selection: bool = False
    within: str = ""

    def seen(self, answers: AnswerSet, choices: C) -> Seen[C, R]:
        """Compute it; errors are those of its computation."""
        return Seen(answers=answers, choices=choices, result=self.compute(answers, choices))

    def notes(self, seen: Seen[C, R]) -> str:
        """How heads were selected, where that has to be said; else empty."""
        return seen.answers.about_picks if self.uses_selection else ""

    def words(self, seen: Seen[C, R]) -> str:
        """All its sentences."""
        claim, sentence = (words(seen).removesuffix(".") for words in (self.claim, self.sentence))
        return joined(f"{claim}.", f"{sentence}." if sentence != claim else "", self.more(seen), self.bounds(seen))
