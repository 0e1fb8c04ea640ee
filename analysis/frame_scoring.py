"""Score the prompts or the answers of a DataFrame in memory: a frame in, a frame out, no folder and no measure."""

import math
import os
from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from rauq.errors import Failure, InvalidInput
from rauq.methods.evaluate import evaluate, evaluate_many
from rauq.methods.method import Method
from rauq.methods.table import METHODS
from rauq.model.language_model import LanguageModel
from rauq.model.loading import load_model
from rauq.trace.trace import Trace

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
    """
    chosen = [METHODS.get(one, one) if isinstance(one, str) else one for one in methods]
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
    """Answer, uncertainties and reason of each row, while the model goes on."""
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
