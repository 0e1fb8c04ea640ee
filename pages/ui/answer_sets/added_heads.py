"""RAUQ with heads added, which were chosen in other groups: what they add, and the detector that a user saves."""

import streamlit as st

from analysis.answer_sets.separation import Separation, best_of_layers
from analysis.methods.added_heads import SIZES, added_heads_file_caption
from analysis.views.heads import ADDED
from pages.ui.answer_sets.choices import Asked, Chosen
from pages.ui.host import cache, head_cache
from pages.ui.host.head_cache import remember
from pages.ui.shared import state, url_state
from pages.ui.shared.errors import message_text
from pages.ui.shared.run_views.page import choice
from pages.ui.shared.run_views.views import draw_pictures
from rauq.detectors.added_heads import AddedHeads
from rauq.errors import InvalidInput
from rauq.labels import running

_JSON = "application/json"
_READ_DETECTOR = """from pathlib import Path
from rauq.detectors import added_heads

detector = added_heads.read(Path("rauq-{size}-heads.json").read_bytes())
detector.rank(detector.score(trace))  # percent of the answers it was fitted on that are less uncertain"""


def added(chosen: Chosen) -> None:
    """Draw what heads chosen in other groups add to RAUQ, with its controls."""
    st.markdown("**RAUQ + heads**: ours, not the paper's")
    choice("Heads added", url_state.ADDED, {size: str(size) for size in SIZES}, chosen.asked.added, usual=Asked().added)
    seen = cache.seen(ADDED, chosen, chosen.choices)
    st.write(f"{ADDED.claim(seen)}.")
    st.caption(ADDED.sentence(seen))
    draw_pictures(ADDED.pictures(seen), chosen)
    _detector(chosen, is_judged=not seen.result.reason)


def _detector(chosen: Chosen, *, is_judged: bool) -> None:
    """Draw a button that saves RAUQ with heads chosen by all answers, for Inspect and for Python."""
    size = chosen.asked.added
    try:
        fitted = head_cache.fitted_added_heads(chosen.run, chosen.rows, chosen.settings, chosen.thresholds, size)
    except InvalidInput as error:
        st.text(message_text(error))
        return
    with st.container(horizontal=True):
        st.download_button(
            "Detector as JSON", fitted.to_json(), f"rauq-{size}-heads.json", _JSON, key="detector_file",
            on_click="ignore",
        )  # fmt: skip
        st.button("Use in Inspect", key="use_detector", on_click=_use, args=(fitted,))
    st.caption(added_heads_file_caption(fitted, is_judged=is_judged))


def _use(fitted: AddedHeads) -> None:
    remember(fitted)
    state.notify(f"Answers of {running(fitted.model)} in Inspect are also ranked by RAUQ + {fitted.k} heads.")


def in_python(chosen: Chosen, found: Separation) -> None:
    """Show lines of Python: the best head of each layer used by RAUQ, and how a saved detector scores."""
    folded = st.expander(
        "Python: the best head of each layer, and a saved detector", key="heads_python", on_change="rerun"
    )
    if folded.open:
        with folded:
            best = best_of_layers(found, chosen.layers, chosen.run.used_layers)
            st.code(f"score = rauq.score(trace, rauq.Settings(heads={best}))", language="python", wrap_lines=True)
            st.caption("Not the paper's setting. These answers chose the heads, so judge the scores on other answers.")
            st.code(_READ_DETECTOR.format(size=chosen.asked.added), language="python", wrap_lines=True)
