"""Recorded generations of the embedded model: what the app opens on before any model is loaded."""

import json
from dataclasses import dataclass
from pathlib import Path

from rauq.trace import Trace

FOLDER = Path(__file__).parent / "recorded"
INDEX = FOLDER / "index.json"


@dataclass(frozen=True)
class Recorded:
    """One recorded generation: a short name, one sentence on what to see in it, whether the answer is right."""

    id: str
    name: str
    what_to_see: str
    correct: bool

    @property
    def path(self) -> Path:
        """Where its trace lies."""
        return FOLDER / f"{self.id}.safetensors"

    def trace(self) -> Trace:
        """The generation itself."""
        return Trace.load(self.path)


def load_recorded() -> tuple[Recorded, ...]:
    """All of them, the one to open on first."""
    return tuple(Recorded(**row) for row in json.loads(INDEX.read_text(encoding="utf-8")))
