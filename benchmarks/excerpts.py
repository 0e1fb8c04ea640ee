"""Parts of the kept tables that documents show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from analysis.evidence.record import Cell, Record, shown
from analysis.online.curves import NAMES, OnlineScore
from analysis.online.early import HALFWAY
from benchmarks.online import CONTROL, WAYS
from benchmarks.online.alarms import RAUQ, STATED

_RUN = "run"
_SIMPLER: tuple[OnlineScore, ...] = ("mean_entropy", "mean_logprob", "token_entropy", CONTROL)


@dataclass(frozen=True, kw_only=True)
class Excerpt:
    """A part of a record with a line for each combination of the cells in the columns `lines`, a column for each run.

    Of the rows, it has those whose cells are in `kept`, by the name of a column. Each shows its cells in the columns
    `cells`, joined by a stroke.
    """

    record: str
    kept: Mapping[str, Sequence[Cell]]
    lines: tuple[str, ...]
    cells: tuple[str, ...]


EXCERPTS = MappingProxyType(
    {
        "distances": Excerpt(
            record="online",
            kept={"score": [NAMES[RAUQ]]},
            lines=("after",),
            cells=("median distance to the final score, sd", "pairs reordered, %"),
        ),
        "areas": Excerpt(
            record="online",
            kept={"after": [str(HALFWAY)], "score": [NAMES[name] for name in (*WAYS, CONTROL)]},
            lines=("score",),
            cells=("ROC-AUC", "ROC-AUC of the final score"),
        ),
        "alarms": Excerpt(
            record="alarms",
            kept={
                "correct that may be stopped, %": [round(100 * STATED)],
                "score": [NAMES[name] for name in (RAUQ, *_SIMPLER)],
            },
            lines=("score", "threshold"),
            cells=("incorrect stopped, %",),
        ),
    }
)


def table_of(excerpt: Excerpt, record: Record) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
    """The columns and the rows of an excerpt, in the order of the record."""
    rows = [dict(zip(record.columns, row, strict=True)) for row in record.rows]
    rows = [row for row in rows if all(row[name] in allowed for name, allowed in excerpt.kept.items())]
    runs = tuple(dict.fromkeys(str(row[_RUN]) for row in rows))
    found: dict[tuple[Cell, ...], dict[Cell, str]] = {}
    for row in rows:
        own = found.setdefault(tuple(row[name] for name in excerpt.lines), {})
        own[row[_RUN]] = " / ".join(shown(row[name]) for name in excerpt.cells)
    return (*excerpt.lines, *runs), [(*line, *(own[run] for run in runs)) for line, own in found.items()]
