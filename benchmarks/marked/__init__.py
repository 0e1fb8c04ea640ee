"""What is left of signals on answers in which people marked errors: Mu-SHROOM and HELM, read by packaged models.

The answers are those of other models; each packaged model that is installed reads them.
"""

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

from analysis.evidence.record import Bound, Cell, Record
from analysis.survival.ladder import ALONE, BEYOND, Ladder, ladders_of
from analysis.survival.sentences import in_numbers
from benchmarks.marked.official import Official, official_scores
from benchmarks.marked.reading import Read, read_all
from benchmarks.support.recording import measured, tell
from benchmarks.survival import CLAIMED, Claims
from benchmarks.token_simulations import token_claims
from rauq.labels import number

_RUNGS = (ALONE, "within", "first", "later", "word", "capital", "place", "answer_words", "length", BEYOND)
_SIZES, SIMULATIONS = (30, 100), 400
COLUMNS = ("data", "model", "signal", *(one.replace("_", " ") for one in _RUNGS), "survives", "correlation", "overlap")


class Judged(NamedTuple):
    """The ladders of the signals of one set that a model read, and their official scores by signal, if it has any."""

    read: Read
    ladders: tuple[Ladder, ...]
    official: Official


def measure() -> Record:
    """Read what is there, judge every signal, and simulate tokens without an effect."""
    judged = [_judged(read) for read in read_all()]
    return record_of(judged, [token_claims(size, simulations=SIMULATIONS) for size in _SIZES])


def _judged(read: Read) -> Judged:
    tell(f"{read.title}, {read.model}: {len(read.given.texts):,} {read.given.level.name}")
    return Judged(read, tuple(ladders_of(read.given, read.signals)), official_scores(read))


def record_of(judged: Sequence[Judged], simulated: Sequence[Claims]) -> Record:
    """The table, what it shows, and the bounds of the test itself."""
    return measured(
        "marked",
        title="Signals where people marked errors",
        about="ROC-AUC of signals on answers of other models that a packaged model reads, alone and under controls, "
        "and what they add to the controls together, with 95 % intervals by question. Of tokens: means over answers.",
        columns=COLUMNS,
        rows=[row for one in judged for row in _rows(one)],
        bounds=[
            *(_equal(one) for one in judged if one.official.found),
            *(_claimed(one) for one in simulated),
        ],
        notes=(
            "Correlation and overlap: the official scores of Mu-SHROOM, means over all answers.",
            "The threshold of the overlap is the one that is best on the English validation set.",
            "Controls of tokens: the word, capitals and digits, position, and whether the question has the word.",
        ),
        finding=" ".join(_finding(one) for one in judged),
        packages=("torch", "transformers", "numpy", "scikit-learn"),
    )


def _rows(one: Judged) -> Iterator[tuple[Cell, ...]]:
    """A row for each signal, and for each control that has official scores."""
    names = {ladder.signal: ladder for ladder in one.ladders}
    for name in dict.fromkeys([*names, *one.official.found]):
        there = {rung.id: in_numbers(rung) for rung in names[name].rungs} if name in names else {}
        survives = ("yes" if names[name].survives else "no") if name in names else "–"
        official = [number(value, places=3) for value in one.official.found.get(name, ())] or ["–", "–"]
        yield one.read.title, one.read.model, name, *(there.get(rung, "–") for rung in _RUNGS), survives, *official


def _equal(one: Judged) -> Bound:
    return Bound(
        text=f"Largest difference from the official scorer, {one.read.title}: {one.official.off:.1e}, at most 1e-9",
        met=one.official.off <= 1e-9,
    )


def _claimed(one: Claims) -> Bound:
    return Bound(
        text=f"Share of {one.of:,} simulated signals without an effect that survive among the tokens of {one.size} "
        f"answers: {one.share:.3f}, at most {CLAIMED}",
        met=one.share <= CLAIMED,
    )


def _finding(one: Judged) -> str:
    survive = [ladder.signal for ladder in one.ladders if ladder.survives]
    best = max(one.ladders, key=lambda ladder: ladder.of(BEYOND).estimate.value)
    return (
        f"{one.read.title}, read by {one.read.model}: {len(survive)} of {len(one.ladders)} signals survive "
        f"({', '.join(survive) or 'none'}); {best.signal} adds most, {in_numbers(best.of(BEYOND))}.{_officially(one)}"
    )


def _officially(one: Judged) -> str:
    """Which signal correlates most with people's marks, and which control."""
    signals = {ladder.signal for ladder in one.ladders}
    sides = [
        {name: value for name, (value, _) in one.official.found.items() if (name in signals) is side}
        for side in (True, False)
    ]
    if not all(sides):
        return ""
    said = (
        f"{name} {number(value, places=2)}" for name, value in (max(side.items(), key=itemgetter(1)) for side in sides)
    )
    return f" Highest official correlation: {'; '.join(said)}."
