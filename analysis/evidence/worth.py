"""What its attention adds to RAUQ on questions about facts, from the record `survival`, on which Learn ends."""

import json
from pathlib import Path
from typing import NamedTuple

OWN_ATTENTION = "own attention"
_RECORD = Path(__file__).parent / "records" / "survival.json"


class Worth(NamedTuple):
    """ROC-AUC of RAUQ on the bundled run, and what is left of it beyond that with the attention of other answers."""

    roc_auc: str
    attention: str


def worth() -> Worth:
    """Read the first row of the record: `analysis.evidence.record` would load pydantic, for which Learn has no time."""
    record = json.loads(_RECORD.read_text(encoding="utf-8"))
    row = dict(zip(record["columns"], record["rows"][0], strict=True))
    return Worth(row["alone"], row[OWN_ATTENTION])
