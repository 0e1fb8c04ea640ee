"""Runs over sets of answers: that of a real model, which comes with the app, and that of the embedded model.

Of both, the uncertainties and verdicts are kept beside the recorded answers, so that an answer can be ranked among
those of its model where the run itself is not at hand or not read yet.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors.numpy import load_file

from analysis.datasets.example import DataSet
from analysis.datasets.names import WRITTEN, load
from analysis.quality.judgement import Judgement
from analysis.quality.measures import load_judge
from analysis.runs.answering import add_methods
from analysis.runs.create import prepare, request_for
from analysis.runs.files.arrays import with_checksums
from analysis.runs.files.tables import SCHEMA
from analysis.runs.library import BUNDLED, bundled_folder
from analysis.runs.manifest import Request, answers_path, is_exported, traces_path
from analysis.runs.methods import without_download
from analysis.runs.opened import open_run
from analysis.runs.reference import reference_scores
from analysis.runs.traces import tokens
from analysis.runs.work import work
from rauq.errors import InvalidInput
from rauq.model.loading import load_model
from rauq.recorded import scores
from rauq.recorded.scores import write_scores
from rauq.trace.parts import tokens_in
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


def add_to_bundled() -> tuple[str, ...]:
    """Compute the methods that the bundled run lacks, for which its model reads the answers again; their ids."""
    run, lm = open_run(bundled_folder()), load_model("smollm2", device="cpu")
    data = DataSet(name="facts", examples=tuple(run.examples))
    lacking = tuple(method for method in without_download("smollm2", data) if method not in run.methods)
    add_methods(run.folder, lacking, lm=lm)
    return lacking


def judge_bundled() -> int:
    """Judge the answers of the bundled run by the rule as it is now; how many verdicts changed.

    Answers, attention and uncertainties stay as they were made, those of methods that compare samples by their facts
    too.

    Raises:
        InvalidInput: other tokens carry the facts, whose attention is stored: the run has to be made again.
    """
    run = open_run(bundled_folder())
    examples = [run.examples[number] for number in run.answers["number"]]
    found = list(load_judge(run.manifest.request.quality)(examples, run.answers["answer"].tolist()))
    for own, judgement in zip(tokens(run), found, strict=True):
        if not np.array_equal(tokens_in(own.texts, judgement.facts), own.fact):
            message = f"Other tokens of {''.join(own.texts)!r} carry its facts. Make the bundled run again."
            raise InvalidInput(message)
    changed = [one.quality != old for one, old in zip(found, run.answers["quality"], strict=True)]
    for shard in run.shards:
        _write_verdicts(run.folder, shard.number, found[shard.start : shard.start + shard.size])
    write_scores(reference_scores(open_run(run.folder)))
    return sum(changed)


def _write_verdicts(folder: Path, shard: int, found: Sequence[Judgement]) -> None:
    table = pq.read_table(answers_path(folder, shard))
    columns = {
        "quality": [one.quality for one in found],
        "quality_reason": [one.reason for one in found],
        "unclear": [one.unclear for one in found],
    }
    lists = table.to_pydict() | columns
    judged = pa.Table.from_pydict({field.name: lists[field.name] for field in SCHEMA}, schema=SCHEMA)
    written = pa.BufferOutputStream()
    pq.write_table(judged, written, compression="zstd")
    content = bytes(written.getvalue().to_pybytes())
    traces_path(folder, shard).write_bytes(with_checksums(load_file(traces_path(folder, shard)), content))
    answers_path(folder, shard).write_bytes(content)


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
