"""Why an answer that the model did not write is scored by its largest surprisal, with the measured figures."""

from collections.abc import Mapping
from functools import cache

from analysis.evidence.record import Cell, Record, find_record
from rauq.labels import number

AREA, PAIRS = "ROC-AUC", "written pairs"
PAPERS = "RAUQ, entropy"
CHOSEN = "largest surprisal of names and numbers, first token minus entropy"
"""Names of the record `written`, which `python -m benchmarks written` makes."""

_BLIND = "Entropy does not depend on the token that was given, so the score is the largest surprisal"


@cache
def why_surprisal(model: str) -> str:
    """One sentence on the choice, with the figures of this model, or, where it was not measured, of another one.

    Raises:
        InvalidInput: the record cannot be read.
    """
    record = find_record("written")
    return f"{_BLIND}." if record is None else _with_figures(record, model)


def _with_figures(record: Record, model: str) -> str:
    rows = [dict(zip(record.columns, row, strict=True)) for row in record.rows]
    areas = [row for row in rows if (row["answers"], row["measure"]) == (PAIRS, AREA)]
    measured = model if any(row["model"] == model for row in areas) else str(areas[0]["model"])
    of = {row["score"]: row for row in areas if row["model"] == measured}
    return (
        f"{_BLIND}: it tells incorrect from correct written answers with a ROC-AUC of {_in_words(of[CHOSEN])}, RAUQ by "
        f"entropy with {_in_words(of[PAPERS])} ({of[CHOSEN]['n']:,} answers that {measured} read)."
    )


def _in_words(row: Mapping[str, Cell]) -> str:
    value, low, high = (number(float(row[name]), places=2) for name in ("value", "low", "high"))
    return f"{value} [{low}, {high}]"
