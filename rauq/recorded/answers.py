"""Recorded answers with their verdicts: those that the app opens on without a model, and those of the lesson's game."""

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from rauq.errors import TraceFileError
from rauq.trace.trace import Trace

FOLDER = Path(__file__).parent / "traces"
INDEX = Path(__file__).parent / "index.json"
GAME = Path(__file__).parent / "game"
GAME_INDEX = GAME / "index.json"

MOST_KEPT = 32  # traces in memory, of 30 kB to 1 MB each

Verdict = Literal["correct", "incorrect", "partly correct"]


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """One recorded answer: a short name, its verdict, what is correct, and one sentence on what it shows.

    Tokens that state something incorrect are marked in its trace (`Trace.wrong`). `branch_of`: the id of the recording
    that it has its prompt and its first tokens from, if it is a branch of one.
    """

    id: str
    name: str
    verdict: Verdict
    correct_answer: str
    what_to_see: str
    branch_of: str = ""

    @property
    def correct(self) -> bool:
        """Whether the whole answer is correct."""
        return self.verdict == "correct"

    @property
    def path(self) -> Path:
        """The path of its trace."""
        return FOLDER / f"{self.id}.safetensors"

    @property
    def note(self) -> str:
        """The verdict, the correct answer where the recorded one is not, and what to see."""
        correct = "" if self.correct else f" (correct: {self.correct_answer})"
        return f"Recorded; the answer is {self.verdict}{correct}. {self.what_to_see}"

    def trace(self) -> Trace:
        """Its trace, loaded once for as long as the file is unchanged.

        Raises:
            TraceFileError: the file is damaged or gone.
        """
        return loaded(self.path)


def load_recorded() -> tuple[Recorded, ...]:
    """All recordings; the app opens on the first.

    Raises:
        TraceFileError: the index is damaged.
    """
    try:
        return tuple(Recorded(**row) for row in json.loads(INDEX.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        message = f"{INDEX} is damaged ({error}). `python -m training record` writes it again."
        raise TraceFileError(message) from error


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


def loaded(path: Path) -> Trace:
    """A trace from a file, kept in memory for as long as the file is unchanged.

    Raises:
        TraceFileError: the file is damaged or gone.
    """
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        return Trace.load(path)  # says what is wrong
    return _loaded_at(path, changed)


@lru_cache(maxsize=MOST_KEPT)
def _loaded_at(path: Path, _changed: int) -> Trace:
    return Trace.load(path)


@dataclass(frozen=True, kw_only=True)
class GameAnswer:
    """One incorrect answer of the game "which token was invented?": the id of its question, and what is correct.

    smollm2 gave it, and a rule chose it (`training/game.py`). The tokens of its incorrect fact are marked in its trace
    (`Trace.wrong`).
    """

    id: str
    correct_answer: str

    @property
    def path(self) -> Path:
        """The path of its trace."""
        return GAME / f"{self.id}.safetensors"

    def trace(self) -> Trace:
        """Its trace, loaded once for as long as the file is unchanged.

        Raises:
            TraceFileError: the file is damaged or gone, or no token is marked.
        """
        trace = loaded(self.path)
        if not trace.wrong:
            message = f"No token is marked in {self.path}. `python -m training record` writes it again."
            raise TraceFileError(message)
        return trace


def load_game() -> tuple[GameAnswer, ...]:
    """The answers of the game, in the order in which they are asked.

    Raises:
        TraceFileError: the index is damaged.
    """
    try:
        return tuple(GameAnswer(**row) for row in json.loads(GAME_INDEX.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        message = f"{GAME_INDEX} is damaged ({error}). `python -m training record` writes it again."
        raise TraceFileError(message) from error
