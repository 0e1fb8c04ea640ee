"""Public data sets of answers whose errors people marked. They are read from a copy: none is part of this project.

The answers are those of other models. A model reads them here, so that its scores tell of its own uncertainty about
them, not of that of the model that wrote them.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from analysis.datasets.example import DataSet, Example, Span, spread
from rauq.errors import DataSetNotFound, InvalidInput

Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class MarkedSet:
    """A data set with marks by people: where it is, under which licence, and how its files become examples.

    `files`: a pattern of those in a copy; `examples` reads one of them, whose rows are those of a JSON file.
    """

    id: str
    title: str
    address: str
    licence: str
    files: str
    examples: Callable[[Path, Any], Iterable[Example]]


def _mu_shroom(_path: Path, rows: Iterable[Row]) -> Iterator[Example]:
    """Answers in 14 languages; a span is wrong where most annotators marked it. The group is the language."""
    for row in rows:
        spans = _spans(row["hard_labels"])
        answer = str(row["model_output_text"])
        yield Example(
            id=str(row["id"]),
            prompt=str(row["model_input"]),
            question=str(row["model_input"]),
            answer=answer,
            quality=float(not spans),
            group=str(row["lang"]).lower(),
            stratum=str(row.get("model_id", "")),
            wrong=_texts(answer, spans),
            wrong_spans=spans,
        )


SUMMARISE = "Summarise the document.\n\n<document>\n{}\n</document>"


def _faithbench(path: Path, batch: Row) -> Iterator[Example]:
    """Summaries by ten models; a span is wrong where an annotator says unwanted, and unclear where only another label.

    A summary with unclear spans alone has no verdict.
    """
    for row in batch["samples"]:
        marks = [
            (mark["summary_start"], mark["summary_end"], _is_unwanted(mark["label"])) for mark in row["annotations"]
        ]
        wrong, unclear = (
            _spans((start, end) for start, end, is_wrong in marks if is_wrong is side) for side in (True, False)
        )
        summary = str(row["summary"])
        yield Example(
            id=f"{path.stem}-{row['sample_id']}",
            prompt=SUMMARISE.format(row["source"]),
            question=SUMMARISE.format(row["source"]),
            source=str(row["source"]),
            answer=summary,
            quality=0.0 if wrong else None if unclear else 1.0,
            stratum=str(row["metadata"]["summarizer"]),
            wrong=_texts(summary, wrong),
            wrong_spans=wrong,
            unclear_spans=unclear,
        )


def _is_unwanted(labels: Iterable[str]) -> bool:
    """Some labels name a kind alone, such as Unwanted.Intrinsic."""
    return any(label.startswith("Unwanted") for label in labels)


def _helm(path: Path, passages: Mapping[str, Row]) -> Iterator[Example]:
    """Sentences that seven models continued Wikipedia passages with; the group is the model.

    Each sentence is an answer to the passage with the sentences before it; the question is the passage.
    """
    for name, row in passages.items():
        before = str(row["prompt"])
        for place, one in enumerate(row["sentences"]):
            text = f" {one['sentence']}"
            yield Example(
                id=f"{path.parent.name}-{name}-{place}",
                prompt=before,
                question=str(row["prompt"]),
                answer=text,
                quality=float(not one["label"]),
                group=path.parent.name,
                stratum=f"sentence {place + 1}",
                wrong=(text.strip(),) if one["label"] else (),
                wrong_spans=((1, len(text)),) if one["label"] else (),
            )
            before += text


def _spans(pairs: Iterable[Iterable[int]]) -> tuple[Span, ...]:
    return tuple(sorted({(int(start), int(end)) for start, end in pairs}))


def _texts(answer: str, spans: tuple[Span, ...]) -> tuple[str, ...]:
    found = (answer[start:end].strip() for start, end in spans)
    return tuple(dict.fromkeys(filter(None, found)))


_SETS = (
    MarkedSet(
        id="mu_shroom",
        title="Mu-SHROOM",
        address="https://github.com/Helsinki-NLP/mu-shroom",
        licence="none found",
        files="**/test_labeled/*/mushroom.*.jsonl",
        examples=_mu_shroom,
    ),
    MarkedSet(
        id="faithbench",
        title="FaithBench",
        address="https://github.com/vectara/FaithBench",
        licence="CC BY-NC-SA 4.0",
        files="**/batch_*[0-9].json",  # a clone has batch_1_annotation.json beside batch_1.json
        examples=_faithbench,
    ),
    MarkedSet(
        id="helm",
        title="HELM of MIND",
        address="https://github.com/oneal2000/MIND",
        licence="none found",
        files="**/helm/data/*/data.json",
        examples=_helm,
    ),
)
MARKED_SETS: MappingProxyType[str, MarkedSet] = MappingProxyType({one.id: one for one in _SETS})


def load_marked_set(marked: MarkedSet, path: Path | None, *, limit: int | None = None, seed: int = 0) -> DataSet:
    """The answers of a copy, which is a folder or one of its files; `limit` of them, drawn by the seed.

    Raises:
        DataSetNotFound: no copy is named, or none of the set's files is there.
        InvalidInput: a file is not one of the set's.
    """
    found = [example for file in _files(marked, path) for example in _read(marked, file)]
    return DataSet(
        name=marked.title,
        examples=spread(found, limit, seed=seed),
        notes=(f"Answers of other models with marks by people, read from a copy of {marked.address}.",),
        quality="given",
        quality_reason="People said which answers are incorrect.",
    )


def _files(marked: MarkedSet, path: Path | None) -> list[Path]:
    if path is not None and path.is_file():
        return [path]
    files = sorted(path.glob(marked.files)) if path is not None and path.is_dir() else []
    if not files:
        got = "no folder was named" if path is None else f"{path} has no {marked.files.rpartition('/')[2]}"
        message = (
            f"{marked.title} is no part of this project (licence: {marked.licence}), and {got}. Get {marked.address}, "
            f"and name its folder or one of its files: {marked.id}=FOLDER."
        )
        raise DataSetNotFound(message)
    return files


def _read(marked: MarkedSet, file: Path) -> list[Example]:
    try:
        text = file.read_text(encoding="utf-8")
        rows = list(map(json.loads, text.splitlines())) if file.suffix == ".jsonl" else json.loads(text)
        found = list(marked.examples(file, rows))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"{file} is no file of {marked.title} ({type(error).__name__}: {error}). Get {marked.address} again."
        raise InvalidInput(message) from error
    if not found:
        message = f"{file} has no answers of {marked.title}. Get {marked.address} again."
        raise InvalidInput(message)
    if bad := [one.id for one in found if any(end > len(one.answer or "") for _, end in one.wrong_spans)]:
        message = f"{file}: {bad[0]} marks characters that its answer does not have. Get {marked.address} again."
        raise InvalidInput(message)
    return found
