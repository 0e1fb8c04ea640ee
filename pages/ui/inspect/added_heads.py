"""RAUQ + heads in Inspect: the field for a detector, which is remembered for its model, and a line about an answer."""

import streamlit as st

from pages.ui.host.head_cache import forget, remember, remembered
from pages.ui.host.hosting import without_folders
from pages.ui.host.uploads import uploaded
from pages.ui.shared.errors import printable, show_error
from rauq.detectors import added_heads
from rauq.detectors.added_heads import LARGEST_FILE, AddedHeads
from rauq.errors import InvalidInput, RauqError
from rauq.labels import running
from rauq.trace.trace import Trace

_UPLOAD, _REFUSED = "added_heads_file", "_added_heads_refused"


def added_heads_field() -> None:
    """Draw the field for a detector's JSON file, why one was refused, and which are remembered."""
    st.file_uploader(
        "RAUQ + heads: detector as JSON",
        "json",
        key=_UPLOAD,
        max_upload_size=LARGEST_FILE // 2**20,  # megabytes
        on_change=_read,
        help="From Answer sets, Heads. Remembered for its model in this session; it brings its own settings.",
    )
    if (error := st.session_state.get(_REFUSED)) is not None:
        show_error(error)
    for name, detector in remembered().items():
        with st.container(horizontal=True, vertical_alignment="center"):
            st.text(f"{printable(running(name))}: RAUQ + {_heads(detector)}, {printable(running(detector.data))}")
            st.button("Forget", key=f"forget_added_heads_{name}", on_click=forget, args=(name,))


def added_heads_line(trace: Trace) -> str | None:
    """Say how an answer ranks by RAUQ + heads, or why a detector does not fit; None if none is remembered.

    Plain text, since it may name models: draw it with `st.text`.
    """
    known = remembered()
    detector = known.get(trace.model, next(reversed(list(known.values())), None))
    if detector is None:
        return None
    name = f"RAUQ + {_heads(detector)} (ours, not the paper's)"
    try:
        percent = detector.rank(detector.score(trace))
    except RauqError as error:
        return printable(running(f"{name}: not available. {without_folders(str(error))}"))
    return f"{name}: {_rank(percent)} {len(detector.reference):,} answers it was fitted on."


def _rank(percent: float) -> str:
    """Return the words before the number of answers."""
    side, share = ("uncertain", percent) if percent >= 50 else ("confident", 100 - percent)
    if share == 100:
        return f"more {side} than all"
    return f"more {side} than {'over 99' if share > 99 else f'{share:.0f}'} % of the"


def _heads(detector: AddedHeads) -> str:
    return f"{detector.k} head{'' if detector.k == 1 else 's'}"


def _read() -> None:
    """Remember the uploaded detector in place of an earlier one of its model; an emptied field forgets nothing."""
    st.session_state.pop(_REFUSED, None)
    if (file := uploaded(_UPLOAD)) is None:
        return
    try:
        found = added_heads.read(file.getvalue(), name=file.name)
    except InvalidInput as error:
        st.session_state[_REFUSED] = error
        return
    remember(found)
