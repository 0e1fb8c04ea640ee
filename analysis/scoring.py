"""Scoring in Python, as `python -m analysis score` does it: a data set, a model and methods give a run."""

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from analysis.datasets.example import DataSet
from analysis.quality.measures import OWN
from analysis.runs.create import EMBEDDED, named, prepare, request_for, whole_path
from analysis.runs.job import OnProgress
from analysis.runs.manifest import Request
from analysis.runs.opened import Run, open_run
from analysis.runs.own import MOST_SECONDS, QualityFunction, detector_files, own_methods
from analysis.runs.work import work
from rauq.errors import InvalidInput
from rauq.methods.method import Method

_SET_BY_THE_DATA = ("data", "data_sha256", "count", "own_methods", "own_quality", "detectors")


def score_run(
    folder: Path | str,
    data: DataSet,
    *,
    model: str = EMBEDDED,
    methods: Iterable[str | Method] = ("default",),
    quality: str | QualityFunction | None = None,
    method_seconds: float | None = MOST_SECONDS,
    on_progress: OnProgress | None = None,
    **options: Any,  # noqa: ANN401 - the fields of a request
) -> Run:
    """Answer a data set, score and judge every answer, and open the run; called again, it resumes a stopped one.

    `model`: atlas, a hub id or a folder. `methods`: ids, the words "default" and "no-download", "tad=FILE" for a
    supervised method with its detector, and `rauq.Method`s of your own, which may take `method_seconds` for an answer
    (None: no limit). `quality`: the id of a measure, or a function of an `Example` and the text of an answer, higher is
    better; by default that of the data set. `options` are further fields of `Request`, such as batch_size,
    max_new_tokens, samples, seed, nli or stored_layers.

    Raises:
        InvalidInput: an option, a method or a measure that no run can have.
        RunError: the folder holds something else, a method or the function has changed since the run was started, or
            the run cannot be written.
        RauqError: the model cannot be loaded, or quality cannot be measured.
    """
    given, where = [methods] if isinstance(methods, str) else list(methods), Path(folder)
    function = None if quality is None or isinstance(quality, str) else quality
    own = own_methods([one for one in given if not isinstance(one, str)], quality=function, seconds=method_seconds)
    _check_options(options)
    files = detector_files([one for one in given if isinstance(one, str) and "=" in one])
    ids = [one.partition("=")[0] if isinstance(one, str) else one.id for one in given]
    request = request_for(
        data,
        model=whole_path(model),
        methods=named(
            ids, model=model, data=data, own=[*(note.id for note in own.notes), *(file.method for file in files)]
        ),
        own_methods=own.notes,
        detectors=files,
        quality=OWN.id if function else quality,
        own_quality=own.quality_note,
        **options,
    )
    prepare(where, data, request)
    work(where, own=own, on_progress=on_progress)
    return open_run(where)


def _check_options(options: dict[str, Any]) -> None:
    known = [field.name for field in fields(Request) if field.name not in _SET_BY_THE_DATA]
    if unknown := [name for name in options if name not in known]:
        message = f"Unknown option {unknown[0]!r}; choose from {', '.join(known)}."
        raise InvalidInput(message)
