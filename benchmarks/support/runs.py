"""Runs that measurements share: answered once, below the folder of runs."""

from typing import Any

from analysis.datasets.example import DataSet
from analysis.runs.create import prepare, request_for
from analysis.runs.library import runs_folder
from analysis.runs.opened import Run, open_run
from analysis.runs.work import work
from rauq.labels import EngineName


def worked(name: str, data: DataSet, *, model: str, engine: EngineName | None = None, **changes: Any) -> Run:  # noqa: ANN401 - the fields of a request
    """The run of a model in an engine (None: the usual one), answered or read first where it is not there yet."""
    folder = runs_folder() / (f"{name}-{engine}" if engine else name)
    prepare(folder, data, request_for(data, model=model, engine=engine, **changes))
    work(folder)
    return open_run(folder)
