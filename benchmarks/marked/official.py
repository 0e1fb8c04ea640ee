"""The two scores of Mu-SHROOM's shared task (Vázquez et al., 2025), of characters: overlap and rank correlation.

Written from their definitions; `python -m benchmarks marked` compares them with the scorer in a copy of the data.
"""

import importlib.util
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import spearmanr

from analysis.runs.attention import batch
from analysis.runs.opened import Run
from analysis.runs.traces import tokens
from analysis.survival.controls import capitals
from analysis.survival.tokens import words_of
from analysis.tokens.sentences import SIGNAL_NAMES
from benchmarks.marked.reading import VALIDATION, Read, read_part
from rauq.labels import TRANSFORMERS
from rauq.scoring.score import collapse_many
from rauq.scoring.settings import Settings

Span = tuple[int, int]
_DECIMALS = 8  # of a label: where all are equal, there is no correlation


class Soft(NamedTuple):
    """A span of characters, the last exclusive, and how sure one is that it is wrong."""

    start: int
    end: int
    value: float


def overlap(marked: Iterable[Span], found: Iterable[Span]) -> float:
    """Characters in both over characters in either; 1 where neither has any."""
    one, other = ({place for span in spans for place in range(*span)} for spans in (marked, found))
    return len(one & other) / len(one | other) if one | other else 1.0


def correlation(marked: Sequence[Soft], found: Sequence[Soft], length: int) -> float:
    """Spearman's correlation over the characters of a text; where either is constant, 1 if both are, else 0."""
    one, other = (_of_characters(spans, length) for spans in (marked, found))
    constant = [len(set(np.round(values, _DECIMALS).tolist())) == 1 for values in (one, other)]
    return float(all(constant)) if any(constant) else float(spearmanr(one, other).statistic)


def _of_characters(spans: Sequence[Soft], length: int) -> np.ndarray:
    values = np.zeros(length)
    for start, end, value in spans:
        values[start:end] = value
    return values


def spans_of(texts: Sequence[str], values: np.ndarray) -> list[Soft]:
    """The value of each token (N,) as that of its characters."""
    ends = np.cumsum([len(text) for text in texts]).tolist()
    return [Soft(end - len(text), end, float(value)) for text, end, value in zip(texts, ends, values, strict=True)]


def above(found: Sequence[Soft], threshold: float) -> list[Span]:
    """The spans whose value is above the threshold."""
    return [(start, end) for start, end, value in found if value > threshold]


class Official(NamedTuple):
    """Correlation and overlap by name of a signal or control, and the largest difference from the official scorer."""

    found: Mapping[str, tuple[float, float]]
    off: float


class _Answer(NamedTuple):
    """A row of the official file, and the tokens of its answer."""

    row: Mapping[str, Any]
    texts: Sequence[str]


_THRESHOLDS = np.linspace(0.02, 0.98, 49)  # quantiles of a signal on the validation set


def official_scores(read: Read) -> Official:
    """The official scores of a part of Mu-SHROOM, with a threshold from its English validation set; none of another."""
    root = next((one for one in read.file.parents if (one / "participant_kit" / "scorer.py").is_file()), None)
    if root is None:
        return Official({}, 0.0)
    scorer = _scorer(root / "participant_kit" / "scorer.py")
    chosen, validation = read_part(VALIDATION, read.model, engine=TRANSFORMERS), VALIDATION.path
    answers, off = _answers(read.run, read.file), 0.0
    found: dict[str, tuple[float, float]] = {}
    for name, values in _signals(read.run).items():
        threshold = _best_threshold(_answers(chosen, validation), _signals(chosen)[name])
        pairs = [_both(answer, own, threshold) for answer, own in zip(answers, values, strict=True)]
        theirs = [_theirs(scorer, answer, own, threshold) for answer, own in zip(answers, values, strict=True)]
        off = max(off, float(np.abs(np.subtract(pairs, theirs)).max()))
        correlations, overlaps = np.mean(pairs, axis=0)
        found[name] = float(correlations), float(overlaps)
    return Official(found, off)


def _scorer(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("scorer", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _answers(run: Run, file: Path) -> list[_Answer]:
    rows = {row["id"]: row for row in map(json.loads, file.read_text(encoding="utf-8").splitlines())}
    pairs = zip(run.answers["id"], tokens(run), strict=True)
    return [_Answer(rows[name], own.texts) for name, own in pairs]


def _signals(run: Run) -> Mapping[str, list[np.ndarray]]:
    """The signals of every token (N,) of every answer, the first included, and controls that know no model, by name."""
    answers, texts = batch(run), [own.texts for own in tokens(run)]
    collapse = collapse_many(answers, Settings(alignment=answers.alignment))
    surprise, entropy = ([np.empty(0)] * len(collapse) for _ in range(2))
    for places, block in answers.blocks():
        for row, place in enumerate(places.tolist()):
            length = block.lengths[row]
            surprise[place] = -np.expm1(block.logprobs[row, :length])
            entropy[place] = block.entropies[row, :length]
    return {
        SIGNAL_NAMES["collapse"]: list(collapse),
        SIGNAL_NAMES["probability"]: surprise,
        SIGNAL_NAMES["entropy"]: entropy,
        "control: capital letter or digit": [capitals(words_of(own)) for own in texts],
        "control: position": [np.arange(len(own), dtype=float) for own in texts],
        "control: everything is marked": [np.ones(len(own)) for own in texts],
    }


def _best_threshold(answers: Sequence[_Answer], values: Sequence[np.ndarray]) -> float:
    candidates = np.quantile(np.concatenate(values), _THRESHOLDS)
    pairs = list(zip(answers, values, strict=True))
    candidates = np.array([candidates[0] - 1, *candidates])  # below all: everything is marked
    means = [np.mean([_overlap(answer, own, threshold) for answer, own in pairs]) for threshold in candidates]
    return float(candidates[int(np.argmax(means))])


def _overlap(answer: _Answer, values: np.ndarray, threshold: float) -> float:
    marked = [(start, end) for start, end in answer.row["hard_labels"]]
    return overlap(marked, above(spans_of(answer.texts, values), threshold))


def _both(answer: _Answer, values: np.ndarray, threshold: float) -> tuple[float, float]:
    marked = [Soft(one["start"], one["end"], one["prob"]) for one in answer.row["soft_labels"]]
    length = len(answer.row["model_output_text"])
    return correlation(marked, spans_of(answer.texts, values), length), _overlap(answer, values, threshold)


def _theirs(scorer: ModuleType, answer: _Answer, values: np.ndarray, threshold: float) -> tuple[float, float]:
    found = spans_of(answer.texts, values)
    marked = dict(answer.row) | {"text_len": len(answer.row["model_output_text"])}
    soft = [{"start": start, "end": end, "prob": value} for start, end, value in found]
    own = {"id": marked["id"], "soft_labels": soft, "hard_labels": above(found, threshold)}
    return float(scorer.score_cor(marked, own)), float(scorer.score_iou(marked, own))
