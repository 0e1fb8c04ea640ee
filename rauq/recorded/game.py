"""The answers of the game "which token was invented?", of smollm2; a rule chose them (`training/game.py`)."""

import json
from dataclasses import dataclass
from pathlib import Path

from rauq.errors import TraceFileError
from rauq.recorded.answers import loaded
from rauq.trace.trace import Trace

GAME = Path(__file__).parent / "game"
GAME_INDEX = GAME / "index.json"


@dataclass(frozen=True, kw_only=True)
class GameAnswer:
    """One incorrect answer: the id of its question, and what is correct.

    The tokens of its incorrect fact are marked in its trace (`Trace.wrong`).
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
