"""Generations that were recorded with the embedded model, so that the first picture needs no model."""

from rauq.atlas import recorded
from rauq.atlas.recorded import Recorded


def recordings() -> tuple[Recorded, ...]:
    """The recorded generations that ship with the embedded model, the one to open on first."""
    return recorded.load_recorded() if recorded.INDEX.exists() else ()
