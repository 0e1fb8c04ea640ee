"""The picture of Speed: what RAUQ costs with this project and with its peer, against the length of the prompt."""

from collections.abc import Mapping

import streamlit as st

from analysis.answer_sets.captions import joined
from analysis.evidence.figures import Panel, costs_by_length
from analysis.evidence.record import Record, computed_memory, memory_curves, time_curves
from pages.ui.camera import is_dark
from pages.ui.evidence.record_table import headline
from pages.ui.of_run.drawing import chart

_TIME, _MEMORY = _RECORDS = ("peers_time", "peers_memory")
_CAPTION = (
    "An answer of 64 tokens with its RAUQ score, by the same model, on the processor. Left: CPU time in times of plain "
    "generation, the dotted line, each tool in its own environment; bars are 95 % intervals. Right: peak memory above "
    "the loaded model, on a log scale; bars reach from the least to the most of three processes. Lower is better. It "
    "shows one shape of model on one machine."
)


def beside_peers(kept: Mapping[str, Record]) -> None:
    """Draw what is kept of the comparison; nothing where there is none of it."""
    panels = _panels(kept)
    if panels:
        headline(joined(*(kept[name].finding for name in _RECORDS if name in kept)))
        chart(costs_by_length(panels, dark=is_dark()), "peers", "CPU time and memory by prompt length")
        st.caption(_CAPTION)


def _panels(kept: Mapping[str, Record]) -> list[Panel]:
    panels = []
    if (time := kept.get(_TIME)) is not None:
        title, unit = "CPU time, in times of plain generation", "times plain generation"
        panels.append(Panel(title, unit, time_curves(time), limit=1.0))
    if (memory := kept.get(_MEMORY)) is not None:
        title = "Peak memory above the model, MiB"
        panels.append(Panel(title, "MiB", memory_curves(memory), computed_memory(memory), logarithmic=True))
    return panels
