"""Whether what an answer attends to in its document tells what people mark in summaries: FaithBench.

A packaged model reads 750 summaries that ten other models wrote of 75 documents. People marked their spans: *unwanted*
where the document does not support them, *questionable* or *benign* else. Within each summary, signals rank the tokens
of marked spans above the others, and a fit on other documents says what each adds to controls that know no model.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from analysis.datasets.example import Example, Span
from analysis.datasets.public.marked_sets import MARKED_SETS, load_marked_set
from analysis.evidence.record import Record
from benchmarks.documents.beyond import CONTROLS, with_controls
from benchmarks.documents.ranking import BEST_HEAD, MEAN_SHARE, OWN, UNKNOWN, documents_of, interval
from benchmarks.documents.reading import COLLAPSE, LOGPROB, Reading, shares_of, signals_of, traces
from benchmarks.support.recording import measured, tell
from rauq.checkpoints.named import NAMED_MODELS
from rauq.errors import DataSetNotFound, InvalidInput
from rauq.labels import TRANSFORMERS, number
from rauq.model.language_model import LanguageModel
from rauq.model.loading import load_model
from rauq.trace.parts import shows_text, tokens_in
from rauq.trace.trace import Trace

FOLDER, FAITHBENCH = "RAUQ_FAITHBENCH", MARKED_SETS["faithbench"]
PLACE, SQUARED = "control: place in the summary", "control: place in the summary, squared"
ABSENT = "control: the word is not in the document"
UNWANTED, ALL = "unwanted", "unwanted, questionable or benign"
COLUMNS = (
    "model",
    "marked",
    "signal",
    "summaries",
    "ROC-AUC",
    "low",
    "high",
    "beyond controls",
    "beyond low",
    "beyond high",
)
_OF_A_DOCUMENT = 10  # summaries, which are read in one batch
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, kw_only=True)
class MarkedSummary:
    """A summary of a document, and its marked spans as first and last (exclusive) code points."""

    document: int
    prompt: str
    text: str
    unwanted: tuple[Span, ...]
    others: tuple[Span, ...]


def measure() -> Record:
    """Read all summaries by every packaged model that is installed, and rank their tokens by each signal."""
    given = read_folder(os.environ.get(FOLDER, ""))
    return record_of([row for model in NAMED_MODELS if model.is_here for row in _rows_by(model.name, given)])


def _rows_by(model: str, given: Sequence[MarkedSummary]) -> list[tuple]:
    tell(f"{model} reads {len(given)} summaries")
    return rows_by_group(model, list(read_marked(load_model(model, engine=TRANSFORMERS), given)))


def read_folder(folder: str) -> list[MarkedSummary]:
    """The summaries of all batches in a copy; those of a document stand together.

    Raises:
        InvalidInput: no folder is named, or it has no batches, or others.
    """
    try:
        examples = load_marked_set(FAITHBENCH, Path(folder) if folder else None).examples
    except DataSetNotFound as error:
        message = f"{error} Here the folder is given in {FOLDER}, which is {folder!r} now."
        raise InvalidInput(message) from error
    sources = list(dict.fromkeys(example.source for example in examples))
    return sorted(
        (_marked(example, sources.index(example.source)) for example in examples), key=lambda one: one.document
    )


def _marked(example: Example, document: int) -> MarkedSummary:
    return MarkedSummary(
        document=document,
        prompt=example.prompt,
        text=example.answer or "",
        unwanted=example.wrong_spans,
        others=example.unclear_spans,
    )


def read_marked(lm: LanguageModel, given: Sequence[MarkedSummary]) -> Iterator[Reading]:
    """Each summary twice: with the unwanted spans marked, the other spans left out, and with all spans marked."""
    for summary, trace in zip(given, traces(lm, given, batch_size=_OF_A_DOCUMENT), strict=True):
        if not isinstance(trace, Trace):
            tell(f"Not read: {trace}")
            continue
        unwanted, others = (tokens_in(trace.answer_tokens, spans) for spans in (summary.unwanted, summary.others))
        text = shows_text(trace)
        reading = Reading(
            document=summary.document,
            group=UNWANTED,
            signals={**signals_of(trace), **_place(len(trace.answer_tokens)), ABSENT: _absent(trace, summary)},
            details=unwanted[None],
            wrong=0,
            counted=text & ~(others & ~unwanted),
            **shares_of(trace),
        )
        yield reading
        yield replace(reading, group=ALL, details=(unwanted | others)[None], counted=text)


def _place(num_tokens: int) -> Mapping[str, np.ndarray]:
    """How far into the summary each token (N,) is, from 0 to 1: more of it is marked in the middle, or at an end."""
    place = np.linspace(0, 1, num_tokens)
    return {PLACE: place, SQUARED: place**2}


def _absent(trace: Trace, summary: MarkedSummary) -> np.ndarray:
    """Which tokens (N,) belong to a word that the document does not have."""
    known = {word.lower() for word in _WORD.findall(summary.prompt)}
    spans = [word.span() for word in _WORD.finditer(summary.text) if word.group().lower() not in known]
    return tokens_in(trace.answer_tokens, spans).astype(float)


def rows_by_group(model: str, read: Sequence[Reading]) -> list[tuple]:
    """The rows of a model: with the unwanted spans marked, then with all."""
    return [(model, *row) for group in (UNWANTED, ALL) for row in rows_of([one for one in read if one.group == group])]


def record_of(rows: Sequence[tuple]) -> Record:
    """The table, and what it shows."""
    return measured(
        "faithbench",
        title="What a summary attends to in its document, and what people marked",
        about="FaithBench, read by packaged models: ROC-AUC of tokens of marked spans vs others, within each summary; "
        "mean, 95 % interval by resampling documents. A smaller share of the document ranks higher.",
        columns=COLUMNS,
        rows=rows,
        notes=(
            "Summaries by ten models of 75 documents, chosen because detectors disagree about them.",
            "A span is unwanted if any annotator says so; tokens of questionable and benign spans are then left out.",
            "Beyond controls: what the signal adds to the ROC-AUC of a logistic fit on all controls, held out.",
            "The head is one of all layers, chosen with its direction on the documents of four other folds.",
        ),
        finding=finding(rows),
    )


def rows_of(read: Sequence[Reading]) -> list[tuple]:
    """All signals, alone and beside the controls, for the summaries that have marked tokens and others."""
    usable = [one for one in read if 0 < (one.details[0] & one.counted).sum() < one.counted.sum()]
    documents = documents_of(usable)
    rows = []
    for name, (alone, beyond) in with_controls(usable).items():
        added = UNKNOWN if np.isnan(beyond).all() else interval(beyond, documents)
        ends = [round(end, 3) for end in (*interval(alone, documents), *added)]
        rows.append((usable[0].group, name, int(np.isfinite(alone).sum()), *ends))
    return rows


def finding(rows: Sequence[tuple]) -> str:
    """What shares and scores reach where people marked unwanted spans, and beyond the controls, by model."""
    models = dict.fromkeys(row[0] for row in rows)
    said = [f"{model}: {_of_model([row[1:] for row in rows if row[0] == model])}" for model in models]
    return f"ROC-AUC for tokens of unwanted spans. {' '.join(said)}"


def _of_model(rows: Sequence[tuple]) -> str:
    of = {row[1]: row for row in rows if row[0] == UNWANTED}
    shown = {
        "the document's share of attention in a head chosen on other documents": BEST_HEAD.format(OWN),
        "in the mean of the window": MEAN_SHARE.format(OWN),
        LOGPROB: LOGPROB,
        "collapse of RAUQ by entropy": COLLAPSE,
    }
    said = [
        f"{label} {_ends(of[name][3:6])}, beyond the controls {_ends(of[name][6:9])}" for label, name in shown.items()
    ]
    return f"{'; '.join(said)}; controls together {_ends(of[CONTROLS][3:6])}."


def _ends(ends: Sequence[float]) -> str:
    value, low, high = (number(float(end)) for end in ends)
    return f"{value} [{low}, {high}]"
