"""The public sets as packaged models read them: runs that are made once, and what is judged in each."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from analysis.datasets.names import load
from analysis.runs.create import prepare, request_for
from analysis.runs.library import runs_folder
from analysis.runs.opened import Run, open_run
from analysis.runs.work import work
from analysis.survival.asked import labelled_signals
from analysis.survival.labelled import LabelledUnits, LevelName, Signal
from benchmarks.support.recording import tell
from rauq.checkpoints.named import NAMED_MODELS
from rauq.errors import InvalidInput

FOLDER = "RAUQ_MARKED"
OF_TOKENS = ("collapse", "entropy", "probability", "selected")
OF_ANSWERS = ("rauq", "msp", "perplexity", "mean_token_entropy")


@dataclass(frozen=True, kw_only=True)
class Part:
    """A file of a set, below the folder that `RAUQ_MARKED` names, and the level at which it is judged."""

    id: str
    title: str
    marked: str
    file: str
    level: LevelName


@dataclass(frozen=True, eq=False, kw_only=True)
class Read:
    """A part as a model read it: its run, and what is judged."""

    title: str
    model: str
    file: Path
    run: Run
    given: LabelledUnits
    signals: list[Signal]


def mu_shroom(language: str, split: str) -> str:
    """The file of a language, below the folder of all sets; `split`: "test" or "validation"."""
    known = {"test": f"test_labeled/v1/mushroom.{language}-tst.v1.extra.jsonl"}
    return f"mu-shroom/splits/{known.get(split, f'val/v2/mushroom.{language}-val.v2.extra.jsonl')}"


PARTS = (
    *(
        Part(
            id=f"mu_shroom-{code}",
            title=f"Mu-SHROOM, {language}",
            marked="mu_shroom",
            file=mu_shroom(code, "test"),
            level="tokens",
        )
        for code, language in (("en", "English"), ("es", "Spanish"), ("fr", "French"), ("de", "German"))
    ),
    Part(
        id="helm-llamachat7b",
        title="HELM of MIND, Llama 2 7B Chat",
        marked="helm",
        file="MIND/helm/data/llamachat7b/data.json",
        level="answers",
    ),
)


def read_all() -> Iterator[Read]:
    """Every part whose file is there, by every packaged model that is installed.

    Raises:
        InvalidInput: no folder is named, or none of the files is there.
    """
    root = Path(os.environ.get(FOLDER) or "nowhere")
    parts = [part for part in PARTS if (root / part.file).is_file()]
    if not parts:
        message = (
            f"The sets are no part of this project. Clone those of docs/data_sets.md into one folder, and name it in "
            f"{FOLDER}; there is no {root / PARTS[0].file}."
        )
        raise InvalidInput(message)
    models = [model.name for model in NAMED_MODELS if model.is_here]
    if not models:
        message = "No packaged model is on this machine to read the answers: make smollm2."
        raise InvalidInput(message)
    for model in models:
        for part in parts:
            yield _read(part, model, root / part.file)


def _read(part: Part, model: str, file: Path) -> Read:
    run = read_run(part.id, part.marked, model, file)
    given, signals = labelled_signals(run, OF_TOKENS if part.level == "tokens" else OF_ANSWERS, level=part.level)
    return Read(title=part.title, model=model, file=file, run=run, given=given, signals=signals)


def read_run(name: str, marked: str, model: str, file: Path) -> Run:
    """The run in which a model reads a file, made first where it is not there yet."""
    tell(f"{model} reads {file.name}")
    data = load(f"{marked}={file}", kind="instruct")
    folder = runs_folder() / f"{model}-{name}"
    prepare(folder, data, request_for(data, model=model))
    work(folder)
    return open_run(folder)
