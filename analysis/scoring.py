"""Scoring in Python: a data set, a model and methods give a run, and a DataFrame gives another one."""

import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.datasets.example import DataSet
from analysis.quality.measures import OWN
from analysis.runs.create import prepare, request_for
from analysis.runs.job import OnProgress
from analysis.runs.manifest import Request
from analysis.runs.methods import EMBEDDED, named
from analysis.runs.opened import Run, open_run
from analysis.runs.own import MOST_SECONDS, QualityFunction, detector_files, own_methods
from analysis.runs.work import work
from analysis.stores import workspace
from rauq.checkpoints.names import whole_name
from rauq.errors import Failure, InvalidInput
from rauq.methods.evaluate import evaluate, evaluate_many
from rauq.methods.method import Method
from rauq.methods.table import METHODS
from rauq.model.language_model import LanguageModel
from rauq.model.loading import load_model
from rauq.trace.trace import Trace

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

    `folder` may also be the address of a store, such as s3://BUCKET/NAME. `model`: atlas, a hub id or a folder.
    `methods`: ids, the words "default" and "no-download", "tad=FILE" for a supervised method with its detector, and
    `rauq.Method`s of your own, which may take `method_seconds` for an answer (None: no limit). `quality`: the id of a
    measure, or a function of an `Example` and the text of an answer, higher is better; by default that of the data set.
    `options` are further fields of `Request`, such as batch_size, max_new_tokens, samples, seed, nli or stored_layers.

    Raises:
        InvalidInput: an option, a method or a measure that no run can have.
        RunError: the folder holds something else, a method or the function has changed since the run was started, or
            the run cannot be written.
        RauqError: the model cannot be loaded, quality cannot be measured, or the store refuses (`analysis.stores`).

    Example:
        >>> frame = pandas.DataFrame({"prompt": ["Q: In which country is Kyoto? A:"], "reference": ["Japan"]})
        >>> run = analysis.score_run("kyoto", analysis.data_set(frame), model="atlas", methods=["msp"])
        >>> run.frame()["quality"].tolist()
        [1.0]
    """
    given = [methods] if isinstance(methods, str) else list(methods)
    function = None if quality is None or isinstance(quality, str) else quality
    own = own_methods([one for one in given if not isinstance(one, str)], quality=function, seconds=method_seconds)
    _check_options(options)
    files = detector_files([one for one in given if isinstance(one, str) and "=" in one])
    ids = [one.partition("=")[0] if isinstance(one, str) else one.id for one in given]
    request = request_for(
        data,
        model=whole_name(model),
        methods=named(
            ids, model=model, data=data, own=[*(note.id for note in own.notes), *(file.method for file in files)]
        ),
        own_methods=own.notes,
        detectors=files,
        quality=OWN.id if function else quality,
        own_quality=own.quality_note,
        **options,
    )
    with workspace(folder) as space:
        prepare(space.folder, data, request, name=space.name)
        work(space.folder, own=own, on_progress=space.reporting(on_progress))
    return open_run(space.folder)


def _check_options(options: dict[str, Any]) -> None:
    known = [field.name for field in fields(Request) if field.name not in _SET_BY_THE_DATA]
    if unknown := [name for name in options if name not in known]:
        message = f"Unknown option {unknown[0]!r}; choose from {', '.join(known)}."
        raise InvalidInput(message)


ANSWER, REASON = "answer", "reason"


def score(
    frame: pd.DataFrame,
    *,
    model: str | os.PathLike[str] | LanguageModel,
    prompt: str = "prompt",
    answer: str | None = None,
    methods: Iterable[str | Method] = ("rauq",),
    batch_size: int = 8,
    **options: Any,  # noqa: ANN401 - those of the model's calls
) -> pd.DataFrame:
    """The frame with the uncertainty of an answer in each row, one column per method: higher is less certain.

    Rows and index stay as they are. Without `answer`, the model answers each prompt, and the column `answer` has what
    it generated. A row that cannot be scored is nan, and the column `reason` says why; it is empty elsewhere.
    For many rows, measures of quality, samples and resuming, use `analysis.score_run`.

    Args:
        frame: A row for each prompt.
        model: A name as in `rauq.load_model`, or a model that is loaded.
        prompt: The column of prompts: texts, or lists of messages.
        answer: The column of answers to score, whoever wrote them; None: generate them, greedily.
        methods: Ids of `rauq.METHODS`, and methods of your own; methods that need samples are nan.
        batch_size: Rows that are processed together.
        options: Further ones of `LanguageModel.generate_batch`, or with `answer` of `read_batch`: chat, max_new_tokens.

    Raises:
        InvalidInput: no DataFrame, an empty one, a column that it lacks or has already, or an unknown method.
        RauqError: the model cannot be loaded.

    Example:
        >>> frame = pandas.DataFrame({"prompt": ["Q: In which country is Kyoto? A:"]})
        >>> scored = analysis.score(frame, model="atlas", methods=["msp"])
        >>> scored["answer"][0].strip(), scored["msp"].round(2).tolist()
        ('Kyoto is in Japan.', [0.61])
    """
    chosen = [METHODS.get(method, method) if isinstance(method, str) else method for method in methods]
    names = [one if isinstance(one, str) else one.id for one in chosen]
    _check_frame(frame, [prompt] if answer is None else [prompt, answer])
    _check_new(frame, [*names, REASON, *([ANSWER] if answer is None else [])])
    evaluate_many((), chosen)  # refuses unknown methods before the model runs
    lm = model if isinstance(model, LanguageModel) else load_model(model)
    prompts = frame[prompt].tolist()
    extras = tuple({extra: None for one in chosen if isinstance(one, Method) and not one.needs for extra in one.extras})
    options = {"batch_size": batch_size, "extras": extras, **options}
    if answer is None:
        found = lm.generate_batch(prompts, **options)
    else:
        found = lm.read_batch(list(zip(prompts, frame[answer].tolist(), strict=True)), **options)
    rows = list(_rows(found, chosen, names))
    added = pd.DataFrame(rows, columns=[ANSWER, *names, REASON], index=frame.index)
    return pd.concat([frame, added if answer is None else added.drop(columns=ANSWER)], axis=1)


def _rows(
    found: Iterable[Trace | Failure], methods: list[str | Method], names: list[str]
) -> Iterator[tuple[object, ...]]:
    """Answer, uncertainties and reason of each row, while the model works on the next."""
    for one in found:
        if isinstance(one, Failure):
            yield (None, *[math.nan] * len(names), str(one.error))
        else:
            values = evaluate(one, methods)
            reasons = dict.fromkeys(f"{name}: {values[name].reason}" for name in names if values[name].reason)
            yield (one.answer, *(float(values[name]) for name in names), "; ".join(reasons))


def _check_frame(frame: object, columns: list[str]) -> None:
    if not isinstance(frame, pd.DataFrame):
        message = f"Got a {type(frame).__name__}; give a pandas DataFrame with a row for each prompt."
        raise InvalidInput(message)
    if missing := [column for column in columns if column not in frame.columns]:
        known = ", ".join(map(repr, frame.columns)) or "no columns"
        message = (
            f"The frame has no column {missing[0]!r}. It has {known}: name those of prompts and of answers, "
            "score(frame, prompt=..., answer=...)."
        )
        raise InvalidInput(message)
    if frame.empty:
        message = "The frame has no rows. Give a row for each prompt."
        raise InvalidInput(message)


def _check_new(frame: pd.DataFrame, columns: list[str]) -> None:
    if taken := [column for column in columns if column in frame.columns]:
        todo = f" To score these answers, pass answer={ANSWER!r}." if taken == [ANSWER] else " Rename or drop it."
        message = f"The frame has a column {taken[0]!r} already, which the result would add.{todo}"
        raise InvalidInput(message)
