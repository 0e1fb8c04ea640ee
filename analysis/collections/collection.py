"""A collection: runs side by side, each the cell of a model and a data set, with its own measure of quality."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np

from analysis.datasets.facts.tables import FAMILIES
from analysis.datasets.names import EMBEDDED_SETS, FACT_SETS
from analysis.datasets.paper_set import Task as PaperTask
from analysis.datasets.twelve import PAPER_SETS
from analysis.quality.judgement import Thresholds
from analysis.quality.measures import measure
from analysis.runs.manifest import Answerer
from analysis.runs.opened import Run
from rauq.checkpoints.kinds import find_preset
from rauq.errors import InvalidInput
from rauq.methods.table import METHODS

Task = Literal[PaperTask, "Facts", "Embedded", "Own files"]
TASKS: tuple[Task, ...] = get_args(Task)
"""The paper's three, then those of data sets that it does not have: these are averaged on their own, never as QA."""

ModelClass = Literal["base", "small_large", "instruct"]
"""The paper has a table for each: base models (1), those of at most 1B or at least 70B (15), instruct models (16)."""

_SMALL, _LARGE = 1.5e9, 60e9  # parameters: the paper's "1B" has 1.24e9
_FACTS = (*FACT_SETS, *(f"{name}: {family}" for name in FACT_SETS for family in FAMILIES))
_TASK_OF: dict[str, Task] = {
    **{one.title: one.task for one in PAPER_SETS.values()},
    **dict.fromkeys(EMBEDDED_SETS, "Embedded"),
    **dict.fromkeys(_FACTS, "Facts"),
}
_COLUMN_OF = MappingProxyType({"CNN/DailyMail": "CNN", "WMT14 Fr-En": "WMT14", "WMT19 De-En": "WMT19"})
_PAPER_ORDER = (
    *("XSum", "SamSum", "CNN", "WMT14", "WMT19", "MedQUAD", "TruthfulQA", "CoQA", "SciQ", "TriviaQA", "MMLU", "GSM8k"),
)


_PAPER_MODELS = (
    *("Llama-3.1 8B", "Qwen-2.5 7B", "Gemma-2 9B", "Falcon-3 10B"),
    *("SmolLM-2 360M", "Llama-3.2 1B", "Llama-3.1 70B"),
    *("GPT-OSS 20B", "Llama-3.1 8B-Instruct"),
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Cell:
    """A run in a collection: what ranks its A answers. Texts and attention stay on disk, in `folder`.

    `model` and `data` are the names of its row and column. `quality` (A,): nan where undefined; `uncertainties` (A,)
    by the id of the method. `asked`: examples of the run, `failed` of which had an error; `corrected`: verdicts
    that the user changed.
    """

    folder: Path
    run: str
    model: str
    answerer: Answerer
    data: str
    data_sha256: str
    measure: str
    thresholds: Thresholds
    quality: np.ndarray
    uncertainties: Mapping[str, np.ndarray]
    asked: int
    failed: int
    corrected: int

    @property
    def task(self) -> Task:
        """The task that the data set is averaged under; facts, embedded sets and own files have one each."""
        return _TASK_OF.get(self.data, "Own files")

    @property
    def column(self) -> str:
        """The data set as the paper heads its columns."""
        return _COLUMN_OF.get(self.data, self.data)

    @property
    def model_class(self) -> ModelClass:
        """The table of the paper that the model would be in; a model of unknown size is among the base models."""
        if self.answerer.kind == "instruct":
            return "instruct"
        size = _parameters(self.answerer.name)
        return "base" if size is None or _SMALL < size < _LARGE else "small_large"

    @property
    def missing(self) -> int:
        """Examples that are not answered yet, or whose answers are damaged."""
        return self.asked - self.failed - len(self.quality)


@dataclass(frozen=True, eq=False, kw_only=True)
class Collection:
    """Cells, of which no two are of the same model and data set, in the order in which they were given."""

    cells: tuple[Cell, ...]

    @property
    def models(self) -> tuple[str, ...]:
        """The models, the paper's in the order of its tables, then the others in that of their first run."""
        return _ordered((cell.model for cell in self.cells), _PAPER_MODELS)

    @property
    def columns(self) -> tuple[str, ...]:
        """The data sets, the paper's in the order of its tables, then the others."""
        return ordered_columns(self.cells)

    @property
    def methods(self) -> tuple[str, ...]:
        """The ids of all methods that any run has, in the order of `rauq.METHODS`."""
        there = {method for cell in self.cells for method in cell.uncertainties}
        return tuple(method for method in METHODS if method in there)

    def of_class(self, model_class: ModelClass) -> tuple[str, ...]:
        """The models of one of the paper's tables."""
        return _ordered((cell.model for cell in self.cells if cell.model_class == model_class), _PAPER_MODELS)


def ordered_columns(cells: Sequence[Cell]) -> tuple[str, ...]:
    """The data sets of these cells, the paper's in the order of its tables, then the others as they come."""
    return _ordered((cell.column for cell in cells), _PAPER_ORDER)


def _ordered(names: Iterable[str], first: Sequence[str]) -> tuple[str, ...]:
    there = dict.fromkeys(names)
    return (*(name for name in first if name in there), *(name for name in there if name not in first))


def cell_of(run: Run) -> Cell:
    """What a collection keeps of a run."""
    request = run.manifest.request
    judged = measure(request.quality)
    return Cell(
        folder=run.folder,
        run=run.manifest.name,
        model=_model_name(run.answerer),
        answerer=run.answerer,
        data=request.data,
        data_sha256=request.data_sha256,
        measure=judged.name,
        thresholds=judged.thresholds,
        quality=run.answers["quality"].to_numpy(dtype=float),
        uncertainties=MappingProxyType({method: run.uncertainty(method) for method in run.methods}),
        asked=request.count,
        failed=len(run.failures),
        corrected=int(run.answers["corrected"].sum()),
    )


def collect(cells: Iterable[Cell]) -> Collection:
    """Put runs side by side; models of one name that differ, for example in their revision, are told apart.

    Raises:
        InvalidInput: no run, or two runs of the same model on the same data set.
    """
    found = _told_apart(tuple(cells))
    if not found:
        message = "A collection needs at least one run."
        raise InvalidInput(message)
    counts = Counter((cell.model, cell.column) for cell in found)
    (model, column), count = counts.most_common(1)[0]
    if count > 1:
        names = ", ".join(str(cell.folder) for cell in found if (cell.model, cell.column) == (model, column))
        message = f"{count} runs are of {model} on {column}: {names}. A table has one place for them; choose one."
        raise InvalidInput(message)
    return Collection(cells=found)


def _told_apart(cells: tuple[Cell, ...]) -> tuple[Cell, ...]:
    """The cells, with kind and revision in the name of models that share one."""
    identities: dict[str, set[tuple[str, str]]] = {}
    for cell in cells:
        identities.setdefault(cell.model, set()).add((cell.answerer.kind, _revision(cell.answerer)))
    return tuple(
        replace(cell, model=f"{cell.model} ({cell.answerer.kind}, {_revision(cell.answerer)[:7]})")
        if len(identities[cell.model]) > 1
        else cell
        for cell in cells
    )


def _revision(answerer: Answerer) -> str:
    return answerer.weights_sha256 or answerer.revision


def _model_name(answerer: Answerer) -> str:
    """The paper's name of its models, else the last part of the name."""
    preset = find_preset(answerer.name)
    name = preset.name if preset else PurePath(answerer.name).name
    return f"{name} ({answerer.quantisation})" if answerer.quantisation else name


_SIZE = re.compile(r"(?<![a-z0-9.])(\d{1,4}(?:\.\d{1,2})?)([mb])(?![a-z0-9])", re.IGNORECASE)
_UNIT = MappingProxyType({"m": 1e6, "b": 1e9})


def _parameters(name: str) -> float | None:
    """The parameters of a model of the paper, else as its name states them, such as 135M; None where it does not."""
    if preset := find_preset(name):
        return preset.parameters
    stated = _SIZE.search(PurePath(name).name)
    return float(stated[1]) * _UNIT[stated[2].lower()] if stated else None
