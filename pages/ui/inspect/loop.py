"""An answer that ends in a loop: where it repeats itself, and the choice to score it without that."""

from dataclasses import dataclass

import streamlit as st

from pages.ui.shared.url_state import LOOP, update_url
from rauq.scoring.report import loop_sentence
from rauq.trace.loops import loop_start, without_loop
from rauq.trace.trace import Trace

_LEFT_OUT = "without"


@dataclass(frozen=True, kw_only=True)
class Loop:
    """Where an answer begins to repeat itself, None where it does not, and whether that part is left out."""

    start: int | None = None
    left_out: bool = False

    @property
    def sentence(self) -> str:
        """That the answer repeats itself, and whether the score is of that too; empty where it does not."""
        if self.start is None:
            return ""
        if self.left_out:
            return f"Scored without the repetition, which begins at token {self.start} and lasts to the end."
        return loop_sentence(self.start)


NO_LOOP = Loop()


def looped(trace: Trace) -> tuple[Trace, Loop]:
    """The answer to show, without its loop where the URL asks for that, and what is known of the loop."""
    if (start := loop_start(trace)) is None:
        return trace, NO_LOOP
    left_out = is_left_out()
    return without_loop(trace) if left_out else trace, Loop(start=start, left_out=left_out)


def is_left_out() -> bool:
    """Return whether the URL asks for an answer without its loop."""
    return st.query_params.get(LOOP) == _LEFT_OUT


def loop_line(loop: Loop) -> None:
    """Say that the answer repeats itself, beside the choice to score it without that, or with it again."""
    if loop.start is None:
        return
    label = "Score the whole answer" if loop.left_out else "Score without the repetition"
    value = None if loop.left_out else _LEFT_OUT
    with st.container(horizontal=True, vertical_alignment="center", key="loop"):
        st.caption(loop.sentence, width="content")
        st.button(label, key="loop_button", type="tertiary", on_click=update_url, args=({LOOP: value},))
