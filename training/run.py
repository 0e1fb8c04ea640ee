"""The run that comes with the app: the embedded model's answers to a part of its held-out prompts."""

import shutil
from pathlib import Path

from analysis.datasets.names import embedded_set
from analysis.runs.create import prepare, request_for, without_download
from analysis.runs.files import is_exported
from analysis.runs.work import work

NAME = "atlas"
PER_FAMILY = 300


def make(build: Path, target: Path) -> int:
    """Answer and score anew in the folder `build`, put the files of the run into `target`, and return how many."""
    shutil.rmtree(build, ignore_errors=True)
    data = embedded_set(NAME, per_group=PER_FAMILY)
    # Few files open faster than many, and the attention of every layer is small here.
    options = {"stored_layers": "all", "batch_size": 10, "shard_size": 300}
    request = request_for(data, model=NAME, methods=without_download(NAME, data), **options)
    prepare(build, data, request, name=NAME)
    work(build)
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    files = sorted(path for path in build.iterdir() if is_exported(path.name))
    for path in files:
        shutil.copyfile(path, target / path.name)
    return len(files)
