"""All that the page shows of one answer, gathered in one place and handed to what draws, says or exports it."""

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from analysis.one_answer.statements import Statements
from pages.ui.inspect.added_heads import added_heads_line
from pages.ui.inspect.linked_views import payload
from pages.ui.inspect.loop import NO_LOOP, Loop
from pages.ui.inspect.reference import Reference, Separating, judged_payload, reference, separates_best
from pages.ui.inspect.settings import more_attention
from pages.ui.inspect.statements import statements
from pages.ui.inspect.verdict import NOTHING, Own, Verdict, known_verdict, verdict_payload
from pages.ui.shared import selection, state
from pages.ui.shared.measure import scored
from pages.ui.shared.selection import Chosen
from rauq.recorded.answers import Recorded
from rauq.scoring.report import words
from rauq.scoring.score import Score
from rauq.scoring.shown import show_head
from rauq.trace.trace import Trace


@dataclass(frozen=True, kw_only=True)
class Shown:
    """The answer that the page shows: `name` identifies it, `note` says what to look for.

    `recorded`: what is known of a recorded one. `loop`: whether it ends in a loop. `whole`: the answer with its loop,
    where `trace` lacks it. `linked`: what the link that led to it says of it.
    """

    name: str
    trace: Trace
    note: str = ""
    recorded: Recorded | None = None
    loop: Loop = NO_LOOP
    whole: Trace | None = None
    linked: Own = NOTHING

    @property
    def view(self) -> str:
        """What the browser calls it: without its loop it has other tokens, so that it is another answer there."""
        return f"{self.name}, without its loop" if self.loop.left_out else self.name

    @property
    def marked(self) -> Trace:
        """The answer with the tokens that the user has marked as incorrect by now."""
        return replace(self.trace, wrong=state.wrong_tokens(self.trace))


@dataclass(frozen=True, eq=False, kw_only=True)
class AnswerView:
    """A scored answer, with what the user has chosen and marked in it and what is known of it.

    `separates`: the head that separates correct from incorrect answers best, if one is known. `added_heads`: the rank
    by RAUQ + heads in words, or empty.
    """

    shown: Shown
    score: Score
    selected: Chosen
    marked: Trace
    reference: Reference
    separates: Separating | None
    verdict: Verdict
    added_heads: str

    @property
    def trace(self) -> Trace:
        """The answer."""
        return self.shown.trace

    @property
    def whole(self) -> Trace:
        """The answer with the loop that it may lack, and with the user's marks."""
        return replace(self.shown.whole or self.marked, wrong=self.marked.wrong)

    @cached_property
    def statements(self) -> Statements:
        """The sentences of the page besides its score."""
        return statements(self.trace, self.score, self.reference, self.verdict, self.added_heads, loop=self.shown.loop)

    def payload(self) -> dict[str, Any]:
        """Return all that the browser draws of it."""
        own = {"verdict": verdict_payload(self.verdict), "ours": self.added_heads}
        return payload(self.trace, self.score, words(self.trace, self.score, self.shown.note)) | {
            "judged": judged_payload(self.trace, self.score, self.reference, is_correct=self.verdict.is_correct) | own,
            "separates": None if self.separates is None else self.separates._asdict(),
            "offer": more_attention(self.trace, self.score),
            "answer": self.shown.view,
            "isRecorded": self.shown.recorded is not None,
            "selection": asdict(self.selected),
            "serial": selection.serial(self.selected, self.marked.wrong),
            "wrong": self.marked.wrong,
        }


def view_of(shown: Shown) -> AnswerView:
    """Score an answer by the settings of the page, and gather what is shown of it.

    Raises:
        RauqError: it has no score.
    """
    trace, selected = shown.trace, selection.chosen(shown.trace)
    score = show_head(trace, scored(trace), selected.layer, selected.head)
    known = reference(trace, score)
    return AnswerView(
        shown=shown,
        score=score,
        selected=selected,
        marked=shown.marked,
        reference=known,
        separates=separates_best(score, trace, known.scores),
        verdict=known_verdict(shown.name, trace, shown.recorded, shown.linked),
        added_heads=added_heads_line(trace) or "",
    )
