"""How close a score of the first tokens of an answer is to that of all, and how well it tells incorrect from correct.

Answers of three runs are scored from their stored traces as if they were being written: two models that answer
questions about one fact, and one that answers questions about five, each in a sentence. `benchmarks.online.alarms`
says what a threshold stops.
"""

import math
from collections.abc import Iterator, Sequence

from analysis.evidence.record import Cell, Record
from analysis.online.curves import NAMES, OnlineScore
from analysis.online.early import HALFWAY, POINTS, Early, early
from analysis.stats import Estimate, Intervals, in_words
from benchmarks.online.runs import Scored, scored_runs
from benchmarks.support.recording import measured
from rauq.labels import number

WAYS: tuple[OnlineScore, ...] = ("rauq", "rauq_fixed", "rauq_mean")
CONTROL: OnlineScore = "num_tokens"
COMPARED: tuple[OnlineScore, ...] = (*WAYS, "mean_entropy", "mean_logprob", CONTROL)
COLUMNS = (
    "run",
    "score",
    "after",
    "answers",
    "median distance to the final score, sd",
    "95 % quantile",
    "pairs reordered, %",
    "ROC-AUC",
    "within families",
    "ROC-AUC of the final score",
)


def measure() -> Record:
    """Every score at every point of the answers of each run."""
    return record_of(list(scored_runs()))


def record_of(runs: Sequence[Scored]) -> Record:
    """The table, and what half of an answer tells."""
    return measured(
        "online",
        title="Scores while an answer is written",
        about="Scores of the first tokens of answers, from stored traces: how far they are from the final score of the "
        "same kind, in standard deviations of the final scores, how many pairs of answers have another order in the "
        "end, and ROC-AUC, incorrect vs correct, over all answers and within families. 95 % intervals by question.",
        columns=COLUMNS,
        rows=[row for run in runs for row in rows_of(run)],
        notes=(
            "At each point: the answers that go on after it. ROC-AUC of the final score is that of the same answers.",
            "A share of the tokens is known after the end only: there, the number of tokens tells the length.",
            "Heads fixed: in each layer the head with the most attention in the answers to all other questions.",
            "Mean entropy and mean −log p are those of the tokens so far.",
            "Five facts: an answer is incorrect if one of five lines is; gemma3-270m after a worked example.",
        ),
        finding=finding(runs),
    )


def rows_of(run: Scored) -> Iterator[tuple[Cell, ...]]:
    """A row for each score and point."""
    for name in COMPARED:
        for point in POINTS:
            yield (run.name, NAMES[name], str(point), *_cells(early(run.curves, name, point)))


def _cells(found: Early) -> tuple[Cell, ...]:
    return (
        found.n,
        round(found.median, 2),
        round(found.high, 2),
        round(100 * found.reordered, 1),
        _in_words(found.area),
        _with_interval(found.within),
        _in_words(found.final_area),
    )


def _in_words(found: Estimate) -> str:
    return "undefined" if found.reason else in_words(found)


def _with_interval(area: Intervals) -> str:
    value, *ends = (float(one[0]) for one in (area.value, area.low, area.high))
    shown = number(value, places=2)
    return (
        shown if any(map(math.isnan, ends)) else f"{shown} [{number(ends[0], places=2)}, {number(ends[1], places=2)}]"
    )


def finding(runs: Sequence[Scored]) -> str:
    """What RAUQ tells after half of the tokens of an answer, and in the end, and how far the ways are apart."""
    found = [[early(run.curves, name, HALFWAY) for name in (*WAYS, CONTROL)] for run in runs]
    said = "; ".join(
        f"{run.name}: {_in_words(ways[0].area)}, in the end {_in_words(ways[0].final_area)}, "
        f"{100 * ways[0].reordered:.0f} % of pairs reordered, length alone {_in_words(control.area)}"
        for run, (*ways, control) in zip(runs, found, strict=True)
    )
    areas = [[way.area.value for way in ways] for *ways, _control in found]
    apart = max(max(own) - min(own) for own in areas)
    return (
        f"ROC-AUC of RAUQ after half of the tokens, with the heads selected so far: {said}. "
        f"The three ways to select heads differ by at most {number(apart, places=2)}."
    )
