"""Runs over sets of answers: that of a real model, which comes with the app, and that of the embedded model.

Of both, the uncertainties and verdicts are kept beside the recorded answers, so that an answer can be ranked among
those of its model where the run itself is not at hand or not read yet.
"""

import shutil
from pathlib import Path

from analysis.datasets.example import DataSet
from analysis.datasets.names import WRITTEN, load
from analysis.runs.create import prepare, request_for, without_download
from analysis.runs.library import BUNDLED, bundled_folder
from analysis.runs.manifest import Request, is_exported
from analysis.runs.opened import open_run
from analysis.runs.reference import reference_scores
from analysis.runs.work import work
from rauq.recorded import scores
from rauq.recorded.scores import write_scores
from rauq.trace.trace import Kind

BUNDLED_PER_FAMILY, ATLAS_PER_FAMILY = 74, 300
READERS: tuple[tuple[str, Kind], ...] = (("smollm2", "instruct"), ("gemma3-270m", "base"))
LONGEST = 32  # tokens of an answer of the bundled run, which has to stay small


def make_bundled(build: Path) -> Path:
    """Answer plain questions about facts with smollm2, in the folder `build`, and put the run among the app's files."""
    data = load("facts", kind="instruct", per_group=BUNDLED_PER_FAMILY)
    request = _request(data, "smollm2", max_new_tokens=LONGEST, shard_size=136)
    _work(build, data, request, name=BUNDLED)
    target = bundled_folder()
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for path in sorted(build.iterdir()):
        if is_exported(path.name):
            shutil.copyfile(path, target / path.name)
    write_scores(reference_scores(open_run(target)))
    return target


def make_atlas(folder: Path) -> Path:
    """Answer a part of the held-out prompts with the embedded model, as a run in `folder`."""
    data = load("atlas", kind="base", per_group=ATLAS_PER_FAMILY)
    request = _request(data, "atlas", stored_layers="all", batch_size=10, shard_size=300)
    _work(folder, data, request, name="atlas")
    write_scores(reference_scores(open_run(folder)))
    return folder


def make_written(folder: Path) -> tuple[Path, ...]:
    """Let the packaged models read written answers, each as a run below `folder`, and keep their scores."""
    folders = []
    for model, kind in READERS:
        data = load(WRITTEN, kind=kind)
        request = request_for(data, model=model, methods=("rauq",), shard_size=300)
        _work(folder / model, data, request, name=f"{model} reads {WRITTEN}")
        write_scores(reference_scores(open_run(folder / model), by="surprisal"), scores.WRITTEN)
        folders.append(folder / model)
    return tuple(folders)


def _request(data: DataSet, model: str, **options: object) -> Request:
    """Few files open faster than many, so shards are large."""
    return request_for(data, model=model, methods=without_download(model, data), **options)


def _work(folder: Path, data: DataSet, request: Request, *, name: str) -> None:
    prepare(folder, data, request, name=name)
    work(folder)
