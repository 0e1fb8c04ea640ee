"""What is left of signals on answers in which people marked errors: Mu-SHROOM, HELM and FaithBench.

The answers are those of other models; each packaged model that is installed reads them.
"""

from collections.abc import Iterator, Mapping, Sequence
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
_SIZES, SIMULATIONS, _NONE = (30, 100), 400, "–"
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
    rows = [row for one in judged for row in _rows(one)]
    return measured(
        "marked",
        title="Signals where people marked errors",
        about="ROC-AUC of signals on answers of other models that a packaged model reads, alone and under controls, "
        "and what they add to the controls together, with 95 % intervals by question. Of tokens: means over answers.",
        columns=COLUMNS,
        rows=rows,
        bounds=[
            *(_equal(one) for one in judged if one.official.found),
            *(_claimed(one) for one in simulated),
        ],
        notes=(
            "Correlation and overlap: the official scores of Mu-SHROOM, means over all answers.",
            "The threshold of the overlap is the one that is best on the English validation set.",
            "Read by transformers. Of HELM, every method of one generation that takes no extra pass.",
            "Of FaithBench, one summary of each document, drawn from those in which people marked an error.",
            "Controls of tokens: the word, capitals and digits, position, and whether the question has the word.",
        ),
        finding=finding_of(rows),
        packages=("torch", "transformers", "numpy", "scikit-learn"),
    )


def _rows(one: Judged) -> Iterator[tuple[Cell, ...]]:
    """A row for each signal, and for each control that has official scores."""
    names = {ladder.signal: ladder for ladder in one.ladders}
    for name in dict.fromkeys([*names, *one.official.found]):
        there = {rung.id: in_numbers(rung) for rung in names[name].rungs} if name in names else {}
        survives = ("yes" if names[name].survives else "no") if name in names else _NONE
        official = [number(value, places=3) for value in one.official.found.get(name, ())] or [_NONE, _NONE]
        yield one.read.title, one.read.model, name, *(there.get(rung, _NONE) for rung in _RUNGS), survives, *official


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


def finding_of(rows: Sequence[Sequence[Cell]]) -> str:
    """How many signals survive, where, and in how many sets a control correlates more with people's marks."""
    table = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    judged = [row for row in table if row["survives"] != _NONE]
    survive = [row for row in judged if row["survives"] == "yes"]
    where = "; ".join(
        f"{' and '.join(str(row['signal']) for row in those)} ({data}, read by {model})"
        for (data, model), those in _by_set(survive).items()
    )
    said = f"{len(survive)} of {len(judged)} signals survive the controls{': ' if where else ''}{where}."
    if not (sets := _by_set([row for row in table if row["correlation"] != _NONE])):
        return said
    ahead = sum(map(_control_leads, sets.values()))
    return f"{said} In {ahead} of {len(sets)} sets a control correlates more with people's marks than any signal."


_Named = Mapping[str, Cell]  # the cells of a row, by column


def _by_set(rows: Sequence[_Named]) -> dict[tuple[Cell, Cell], list[_Named]]:
    found: dict[tuple[Cell, Cell], list[_Named]] = {}
    for row in rows:
        found.setdefault((row["data"], row["model"]), []).append(row)
    return found


def _control_leads(rows: Sequence[_Named]) -> bool:
    """Whether the row of the highest official correlation is a control."""
    return max(rows, key=lambda row: float(str(row["correlation"]).replace("−", "-")))["survives"] == _NONE
