"""Recorded generations of the embedded model: those that the app opens on without a model, and a game's answers."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rauq.atlas.evaluation import Example, Verdict, examples_by_prompt
from rauq.errors import TraceFileError
from rauq.trace.parts import tokens_in
from rauq.trace.trace import Trace

FOLDER = Path(__file__).parent / "recorded"
INDEX = FOLDER / "index.json"
GAME = Path(__file__).parent / "game"
GAME_INDEX = GAME / "index.json"

MOST_KEPT = 32  # traces in memory, of about 100 kB each; enough for all

Row = TypeVar("Row")


@dataclass(frozen=True)
class Recorded:
    """One recorded generation: a short name, one sentence on what it shows, whether the answer is correct."""

    id: str
    name: str
    what_to_see: str
    correct: bool

    @property
    def path(self) -> Path:
        """The path of its trace."""
        return FOLDER / f"{self.id}.safetensors"

    def trace(self) -> Trace:
        """Its trace, loaded once for as long as the file is unchanged.

        Raises:
            TraceFileError: the file is damaged or gone.
        """
        return _loaded(self.path)


@dataclass(frozen=True)
class GameAnswer:
    """One answer of the game: its held-out prompt's id, the tokens of its incorrect fact, and the correct answer."""

    id: str
    invented: tuple[int, ...]
    reference: str

    @property
    def path(self) -> Path:
        """The path of its trace."""
        return GAME / f"{self.id}.safetensors"

    def trace(self) -> Trace:
        """Its trace, loaded once for as long as the file is unchanged.

        Raises:
            TraceFileError: the file is damaged or gone.
        """
        return _loaded(self.path)


def load_recorded() -> tuple[Recorded, ...]:
    """All recordings; the app opens on the first.

    Raises:
        TraceFileError: the index is damaged.
    """
    return _read(INDEX, lambda row: Recorded(**row))


def find_recorded(name: str) -> Recorded:
    """The recording of this id.

    Raises:
        TraceFileError: the index is damaged, or has no such recording.
    """
    for found in load_recorded():
        if found.id == name:
            return found
    message = f"{INDEX} has no recording {name!r}. `python -m training record` makes all of them again."
    raise TraceFileError(message)


def load_game() -> tuple[GameAnswer, ...]:
    """The answers of the game, in the order in which they are asked.

    Raises:
        TraceFileError: the index is damaged.
    """
    return _read(GAME_INDEX, lambda row: GameAnswer(row["id"], tuple(row["invented"]), row["reference"]))


def invented_tokens(trace: Trace, verdict: Verdict) -> tuple[int, ...]:
    """The answer tokens, from 0, that share a character with a statement which the verdict calls incorrect."""
    wrong = [(statement.start, statement.end) for statement in verdict.statements if not statement.correct]
    return tuple(np.flatnonzero(tokens_in(trace.answer_tokens, wrong)).tolist())


def held_out(trace: Trace) -> Example:
    """The held-out prompt of a recorded answer, with its ground truth.

    Raises:
        TraceFileError: the trace's prompt is none of them.
    """
    example = examples_by_prompt().get(trace.prompt)
    if example is None:
        message = (
            f"{trace.prompt!r} is not a held-out prompt, so its answer cannot be judged. "
            "`python -m training record` records others."
        )
        raise TraceFileError(message)
    return example


def _loaded(path: Path) -> Trace:
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        return Trace.load(path)  # says what is wrong
    return _loaded_at(path, changed)


@lru_cache(maxsize=MOST_KEPT)
def _loaded_at(path: Path, _changed: int) -> Trace:
    return Trace.load(path)


def _read(index: Path, make: Callable[[Any], Row]) -> tuple[Row, ...]:
    try:
        return tuple(map(make, json.loads(index.read_text(encoding="utf-8"))))
    except (ValueError, TypeError, KeyError) as error:
        message = f"{index} is damaged ({error}). `python -m training record` writes it again."
        raise TraceFileError(message) from error
