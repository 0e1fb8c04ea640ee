"""What the attention in RAUQ is worth on facts, lists and sets that people marked, in every model and engine here.

RAUQ is compared with itself under the attention of other answers, with signals that read no attention, and with RAUQ to
which further heads are added; all within groups of answers, or within answers where tokens are judged.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from analysis.evidence.figures import BETTER, WORSE
from analysis.evidence.record import Cell, Record
from analysis.evidence.worth import SHUFFLED, first_number
from analysis.stats import SMALLEST, Estimate, sign_of
from analysis.survival.beyond import Beyond
from analysis.survival.judged import area_within, difference_within
from analysis.survival.labelled import LabelledUnits, drawn
from analysis.survival.ladder import BEYOND, Kind, Rung, added_to, prepare
from analysis.survival.sentences import in_numbers
from benchmarks.support.recording import measured, tell
from benchmarks.worth.cases import Case, cases
from benchmarks.worth.units import Units
from rauq.labels import ENGINES

HEADS = "RAUQ + heads minus RAUQ"
_WITHOUT = ("minus MSP", "minus entropy")  # which read no attention
COLUMNS = (
    *("data", "model", "engine", "level", "judged", "incorrect", "RAUQ", "MSP", "entropy", "RAUQ + heads"),
    *(SHUFFLED, *_WITHOUT, HEADS, "RAUQ beyond controls"),
)
_SEED = 0


class Compared(NamedTuple):
    """A row: ROC-AUC of each score, RAUQ minus others, with heads minus RAUQ, and what RAUQ adds to the controls."""

    case: Case
    units: int
    incorrect: int
    areas: tuple[Estimate | None, ...]
    shuffled: Estimate
    minus: tuple[Estimate, ...]
    heads: Estimate | None
    beyond: Beyond


def measure() -> Record:
    """Judge every case."""
    return record_of([compared(case) for case in cases(ENGINES)])


def compared(case: Case) -> Compared:
    """Compare the scores on units that have all of them."""
    units = _used(case.units)
    given, rauq = units.given, units.rauq
    tell(f"{case.data}, {case.model}, {case.engine}: {len(rauq):,} {given.level.name}")
    strata = _strata(given)

    def minus(other: np.ndarray) -> Estimate:
        return difference_within(rauq[:, None], np.atleast_2d(other).T, given, strata)

    controls = prepare(given, seed=_SEED)
    return Compared(
        case=case,
        units=len(rauq),
        incorrect=int(given.incorrect.sum()),
        areas=tuple(
            None if values is None else area_within(values, given, strata)
            for values in (rauq, units.msp, units.entropy, units.heads)
        ),
        shuffled=minus(units.shuffled),
        minus=(minus(units.msp), minus(units.entropy)),
        heads=None if units.heads is None else difference_within(units.heads[:, None], rauq[:, None], given, strata),
        beyond=added_to(controls, rauq),
    )


def _used(units: Units) -> Units:
    """Those that have every score, or as many of them as are fitted."""
    known = np.flatnonzero(units.have_all)
    return units.take(known[drawn(units.given.take(known), units.given.level.most, seed=_SEED)])


def _strata(given: LabelledUnits) -> np.ndarray:
    """The group (U,) of each answer; tokens are compared within their answer, whatever is said here."""
    return np.unique(np.array(given.groups, dtype=object).astype(str), return_inverse=True)[1].reshape(-1)


def record_of(found: Sequence[Compared]) -> Record:
    """The table, and in how many rows RAUQ is shown to gain from its attention."""
    rows = list(map(_row, found))
    return measured(
        "worth",
        title="What the attention in RAUQ is worth",
        about="ROC-AUC, incorrect vs correct, within families of questions, or within answers where tokens are judged; "
        "and RAUQ minus other scores of the same, with 95 % intervals by question.",
        columns=COLUMNS,
        rows=rows,
        notes=(
            "Facts: greedy answers to questions. Lists: lines of greedy answers that state five facts each.",
            "RAUQ of a line is that of its least certain layer, which may be another than that of the whole answer.",
            "Mu-SHROOM, HELM and FaithBench: answers of other models, read by the model named.",
            "Of FaithBench, one summary of each document, drawn from those in which people marked an error.",
            "Of tokens, RAUQ is the collapse, MSP is 1 - probability, entropy is that before the token.",
            "Shuffled: each answer has the attention of another one of similar length in its group; means over draws.",
            "RAUQ + heads is ours, with five heads, chosen for each family on the others.",
            "Controls: the words of answer and question, length and group; of tokens the word, capitals and position.",
            "What RAUQ adds to the controls is judged among answers of one fold, or tokens of one answer.",
            "A model of yours: rauq score --model M --data facts --out DIR, then rauq survive DIR --signal rauq msp.",
            "The comparisons are not corrected for their number.",
        ),
        finding=finding_of(rows),
        packages=("torch", "transformers", "xllamacpp", "numpy", "scikit-learn"),
    )


def _row(one: Compared) -> tuple[Cell, ...]:
    level = one.case.units.given.level.name
    return (
        *(one.case.data, one.case.model, one.case.engine, level, one.units, one.incorrect),
        *(_cell(estimate, "signal") for estimate in one.areas),
        *(_judged(estimate) for estimate in (one.shuffled, *one.minus, one.heads)),
        _cell(one.beyond.estimate, "difference", p=one.beyond.p) + (", reversed" if one.beyond.is_reversed else ""),
    )


def _judged(difference: Estimate | None) -> str:
    """A difference with its verdict."""
    verdict = ("", BETTER, WORSE)[0 if difference is None else sign_of(difference)]
    return f"{_cell(difference, 'difference')}{verdict}"


def _cell(estimate: Estimate | None, kind: Kind, p: float = math.nan) -> str:
    if estimate is None:
        return "–"
    return in_numbers(Rung(id=BEYOND, name="", question="", kind=kind, estimate=estimate, p=p))


def finding_of(rows: Sequence[Sequence[Cell]]) -> str:
    """In how many comparisons RAUQ is better beyond noise, and how large the largest share of attention is."""
    table = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    largest = max(table, key=lambda row: first_number(str(row[SHUFFLED])))
    better, worse = (
        {name: sum(str(row[name]).endswith(verdict) for row in table) for name in (SHUFFLED, *_WITHOUT)}
        for verdict in (BETTER, WORSE)
    )
    msp, entropy = _WITHOUT
    gain = str(largest[SHUFFLED]).removesuffix(BETTER)
    return (
        f"In {len(table)} comparisons (data, model, engine), RAUQ is better, beyond noise and by at least {SMALLEST}, "
        f"than with shuffled attention in {better[SHUFFLED]} (worse in {worse[SHUFFLED]}), than MSP in {better[msp]} "
        f"(worse in {worse[msp]}), than entropy in {better[entropy]} (worse in {worse[entropy]}). The largest gain "
        f"from its own attention is {gain} ({largest['data']}, {largest['model']}, {largest['engine']})."
    )
