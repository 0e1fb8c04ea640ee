"""Generations that were recorded with the embedded model, so that the first picture needs no model."""

from pathlib import Path

import rauq

FOLDER = Path(rauq.__file__).parent / "atlas" / "recorded"


def first_recorded() -> rauq.Trace | None:
    """The recorded generation that the page opens on, if there is one."""
    path = min(FOLDER.glob("*.safetensors"), default=None)
    return rauq.Trace.load(path) if path else None
