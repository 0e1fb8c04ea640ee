"""The answers of the game, of the embedded model, and the ground truth of its recorded answers."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rauq.atlas.evaluation import Example, Verdict, examples_by_prompt
from rauq.errors import TraceFileError
from rauq.recorded.answers import loaded
from rauq.trace.parts import tokens_in
from rauq.trace.trace import Trace

GAME = Path(__file__).parent / "game"
GAME_INDEX = GAME / "index.json"


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
        return loaded(self.path)


def load_game() -> tuple[GameAnswer, ...]:
    """The answers of the game, in the order in which they are asked.

    Raises:
        TraceFileError: the index is damaged.
    """
    try:
        rows = json.loads(GAME_INDEX.read_text(encoding="utf-8"))
        return tuple(GameAnswer(row["id"], tuple(row["invented"]), row["reference"]) for row in rows)
    except (ValueError, TypeError, KeyError) as error:
        message = f"{GAME_INDEX} is damaged ({error}). `python -m training record` writes it again."
        raise TraceFileError(message) from error


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
