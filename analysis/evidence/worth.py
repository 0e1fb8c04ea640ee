"""What its attention adds to RAUQ, from the record `worth`, on which Learn ends."""

import json
import re
from pathlib import Path
from typing import NamedTuple

SHUFFLED = "minus RAUQ with shuffled attention"
_RECORD = Path(__file__).parent / "records" / "worth.json"
_NUMBER = re.compile(r"[+\N{MINUS SIGN}]?\d\.\d+")


class Worth(NamedTuple):
    """RAUQ on the bundled run: its ROC-AUC, and what is left of it beyond that with the attention of other answers.

    `largest`: the same where it is largest of so many `comparisons`.
    """

    roc_auc: str
    attention: str
    largest: str
    comparisons: int


def worth() -> Worth:
    """Read the first row of the record: `analysis.evidence.record` would load pydantic, for which Learn has no time."""
    record = json.loads(_RECORD.read_text(encoding="utf-8"))
    rows = [dict(zip(record["columns"], row, strict=True)) for row in record["rows"]]
    largest = max((row[SHUFFLED] for row in rows), key=first_number)
    return Worth(rows[0]["RAUQ"], rows[0][SHUFFLED], largest, len(rows))


def first_number(cell: str) -> float:
    """The first number of a cell, which has one."""
    return float(_NUMBER.findall(cell)[0].replace("\N{MINUS SIGN}", "-"))
