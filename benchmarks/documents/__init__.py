"""Whether the attention that goes to a document tells a detail that was replaced from those that were restated.

A packaged model reads summaries of short documents of facts, each with one detail replaced. Within each summary, the
share of the document ranks the replaced detail among the others, and so do probability, entropy, collapse, and controls
that know no model: position, capitals, length, and whether the name is in the document.
"""

from collections.abc import Sequence

import numpy as np

from analysis.evidence.record import Cell, Record
from benchmarks.documents.ranking import (
    BEST_HEAD,
    DETAILS,
    MEAN_SHARE,
    OWN,
    TOKENS,
    UNKNOWN,
    documents_of,
    interval,
    ranked,
)
from benchmarks.documents.reading import ABSENT, CAPITAL, COLLAPSE, ENTROPY, LOGPROB, POSITION, Reading, read_summaries
from benchmarks.documents.summaries import REPLACEMENTS, Replacement, summaries
from benchmarks.support.recording import measured, tell
from rauq.labels import TRANSFORMERS, number
from rauq.model.loading import load_model

MODEL, DOCUMENTS = "smollm2", 150
COLUMNS = (
    "detail replaced",
    "among",
    "signal",
    "n",
    "ROC-AUC",
    "low",
    "high",
    "beyond -log p",
    "beyond low",
    "beyond high",
)
Row = tuple[Cell, ...]


def measure() -> Record:
    """Read all summaries, and rank their details by each signal."""
    tell(f"{MODEL} reads {2 * DOCUMENTS} summaries")
    lm = load_model(MODEL, engine=TRANSFORMERS)
    return record_of(list(read_summaries(lm, list(summaries(DOCUMENTS)))))


def record_of(read: Sequence[Reading]) -> Record:
    """The table, and what it shows."""
    rows = [
        row for replacement in REPLACEMENTS for among in (DETAILS, TOKENS) for row in rows_of(read, replacement, among)
    ]
    return measured(
        "documents",
        title="What an answer attends to in its document",
        about="ROC-AUC, the replaced detail of a summary vs the rest of it, within each summary; mean, 95 % interval "
        "by resampling documents. A smaller share of the document ranks higher.",
        columns=COLUMNS,
        rows=rows,
        notes=(
            "A document has ten sentences of facts. A summary restates four in other words, one with another name.",
            "Names: the mean over the tokens of each name. All tokens: those that show text, one by one.",
            "The query that predicts a token has seen the name before it at most; its own query is the next row.",
            "The head is one of all layers, chosen with its direction on the documents of four other folds.",
            "Beyond -log p: the difference of the two ROC-AUC of the same summaries.",
        ),
        finding=finding(rows),
    )


def rows_of(read: Sequence[Reading], replacement: Replacement, among: str) -> list[Row]:
    """All signals in the summaries with this replacement."""
    own = [one for one in read if one.group == replacement]
    found, documents = ranked(own, among), documents_of(own)
    rows: list[Row] = []
    for name, values in found.items():
        beyond = interval(values - found[LOGPROB], documents) if name != LOGPROB else UNKNOWN
        ends = [round(end, 3) for end in (*interval(values, documents), *beyond)]
        rows.append((replacement, among, name, int(np.isfinite(values).sum()), *ends))
    return rows


def finding(rows: Sequence[Row]) -> str:
    """What the share reaches among names, beside probability and the controls."""
    said = "; ".join(_of_replacement(replacement, rows) for replacement in dict.fromkeys(row[0] for row in rows))
    return f"ROC-AUC among the names of a summary, one of which is replaced: {said}."


def _of_replacement(replacement: Cell, rows: Sequence[Row]) -> str:
    of = {row[2]: row for row in rows if row[:2] == (replacement, DETAILS)}
    shown = {
        "the document's share of attention in a head chosen on other documents": BEST_HEAD.format(OWN),
        "in the mean of the window": MEAN_SHARE.format(OWN),
        LOGPROB: LOGPROB,
        ENTROPY: ENTROPY,
        "collapse": COLLAPSE,
        "position": POSITION,
        "capitals and digits": CAPITAL,
        "looking the name up in the document": ABSENT,
    }
    return f"{replacement}, {', '.join(f'{label} {_with_interval(of[name])}' for label, name in shown.items())}"


def _with_interval(row: Row) -> str:
    value, low, high = (number(float(cell), places=2) for cell in row[4:7])
    return f"{value} [{low}, {high}]"
