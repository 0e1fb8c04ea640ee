"""The public sets as packaged models read them: runs that are made once, and what is judged in each."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from analysis.datasets.example import Example
from analysis.datasets.names import load
from analysis.runs.opened import Run
from analysis.survival.asked import labelled_signals
from analysis.survival.labelled import LabelledUnits, LevelName, Signal
from benchmarks.support.recording import tell
from benchmarks.support.runs import worked
from rauq.checkpoints.named import NAMED_MODELS
from rauq.errors import InvalidInput
from rauq.labels import TRANSFORMERS, EngineName
from rauq.methods.table import METHODS

FOLDER = "RAUQ_MARKED"
OF_TOKENS = ("collapse", "entropy", "probability", "selected")
OF_ANSWERS = tuple(
    method.id
    for method in METHODS.values()
    if method.family == "one generation" and method.cost == "none" and method.needs <= {"written"}
)


@dataclass(frozen=True, kw_only=True)
class Part:
    """A set, or a file of one, below the folder that `RAUQ_MARKED` names, and the level at which it is judged.

    `one_of_each`: of the answers about one source, one in which people marked an error, drawn by the seed.
    """

    id: str
    title: str
    marked: str
    file: str
    level: LevelName
    one_of_each: bool = False

    @property
    def path(self) -> Path:
        """Where it is on this machine, if it is there."""
        return Path(os.environ.get(FOLDER) or "nowhere") / self.file


@dataclass(frozen=True, eq=False, kw_only=True)
class Read:
    """A part as a model read it: its run, and what is judged."""

    title: str
    model: str
    file: Path
    run: Run
    given: LabelledUnits
    signals: list[Signal]


def _mu_shroom(id_: str, language: str, file: str) -> Part:
    path = f"mu-shroom/splits/{file}"
    return Part(id=f"mu_shroom-{id_}", title=f"Mu-SHROOM, {language}", marked="mu_shroom", file=path, level="tokens")


VALIDATION = _mu_shroom("en-validation", "English, validation", "val/v2/mushroom.en-val.v2.extra.jsonl")
PARTS = (
    *(
        _mu_shroom(code, language, f"test_labeled/v1/mushroom.{code}-tst.v1.extra.jsonl")
        for code, language in (("en", "English"), ("es", "Spanish"), ("fr", "French"), ("de", "German"))
    ),
    Part(
        id="helm-llamachat7b",
        title="HELM of MIND, Llama 2 7B Chat",
        marked="helm",
        file="MIND/helm/data/llamachat7b/data.json",
        level="answers",
    ),
    # What all of its summaries show beyond controls is a record of its own, `faithbench`.
    Part(
        id="faithbench-marked",
        title="FaithBench",
        marked="faithbench",
        file="FaithBench",
        level="tokens",
        one_of_each=True,
    ),
)
_SEED = 0


def read_all() -> Iterator[Read]:
    """Every part whose file is there, by every packaged model that is installed.

    Raises:
        InvalidInput: no folder is named, or none of the files is there.
    """
    parts = parts_here()
    models = [model.name for model in NAMED_MODELS if model.is_here]
    if not models:
        message = "No packaged model is on this machine to read the answers: make smollm2."
        raise InvalidInput(message)
    for model in models:
        for part in parts:
            yield _read(part, model)


def parts_here() -> tuple[Part, ...]:
    """The parts that are there.

    Raises:
        InvalidInput: no folder is named, or none of them is there.
    """
    found = tuple(part for part in PARTS if part.path.exists())
    if not found:
        message = (
            f"The sets are no part of this project. Clone those of docs/data_sets.md into one folder, and name it in "
            f"{FOLDER}; there is no {PARTS[0].path}."
        )
        raise InvalidInput(message)
    return found


def _read(part: Part, model: str) -> Read:
    """By transformers, which alone gives what every method reads."""
    methods = () if part.level == "tokens" else OF_ANSWERS
    run = read_part(part, model, engine=TRANSFORMERS, methods=methods)
    given, signals = labelled_signals(run, methods or OF_TOKENS, level=part.level)
    return Read(title=part.title, model=model, file=part.path, run=run, given=given, signals=signals)


def read_part(part: Part, model: str, *, engine: EngineName, methods: Sequence[str] = ()) -> Run:
    """The run in which a model reads a part in an engine, made first where it is not there; (): the usual methods."""
    tell(f"{model} reads {part.path.name} by {engine}")
    data = load(f"{part.marked}={part.path}", kind="instruct")
    if part.one_of_each:
        data = replace(data, examples=one_of_each(data.examples))
    if methods:
        return worked(f"{model}-{part.id}-signals", data, model=model, engine=engine, methods=tuple(methods))
    return worked(f"{model}-{part.id}", data, model=model, engine=engine)


def one_of_each(examples: Sequence[Example]) -> tuple[Example, ...]:
    """One example of each source whose answer has a wrong span, drawn by the seed; in their order."""
    drawn = np.random.default_rng(_SEED).permutation(len(examples))
    chosen = {examples[place].source: place for place in drawn if examples[place].wrong_spans}
    return tuple(examples[place] for place in sorted(chosen.values()))
