"""How far the job of a run is, drawn and in words."""

from pathlib import Path

import streamlit as st

from analysis.runs.job import WORKING, Status, is_held, read_status
from rauq.errors import RunError

_MINUTE, _HOUR = 60, 3600


def counted(status: Status) -> str:
    """Return how many answers there are and how many examples failed."""
    answers = status.done - status.failed
    whole = status.done == status.total
    of_all = "" if whole else f" of {status.total:,}"
    failed = f", {status.failed:,} failed" if status.failed else ""
    return f"{answers:,}{of_all} answer{'' if (answers if whole else status.total) == 1 else 's'}{failed}"


def progress_in_words(status: Status) -> str:
    """Return a run's progress, speed and remaining time."""
    parts = [counted(status)]
    if status.state in WORKING and (speed := status.tokens_per_second) is not None:
        parts.append(f"{speed:,.0f} tokens/s")
    if (left := status.seconds_left) is not None:
        parts.append(f"about {duration(left)} left")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """Return a duration in words: 40 s, 12 min, 3 h 20 min."""
    if round(seconds) < _MINUTE:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / _MINUTE), _HOUR // _MINUTE)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


_OFTEN = 1.0  # seconds


def progress(folder: Path, status: Status) -> None:
    """Show a run's progress; the whole page reruns when its job starts, changes state or ends."""
    live = _is_live(folder, status)
    st.fragment(_show, run_every=_OFTEN if live else None)(folder, status.state, live=live)


def _show(folder: Path, before: str, *, live: bool) -> None:
    try:
        status = read_status(folder)
    except RunError:  # deleted in the meantime
        st.rerun()
    if status.state != before or _is_live(folder, status) != live:
        st.rerun()
    st.progress(min(1.0, status.done / max(status.total, 1)))
    st.text(progress_in_words(status))


def _is_live(folder: Path, status: Status) -> bool:
    """Return whether a job is running; one that has just started holds the lock before it writes its state."""
    return status.state in WORKING or is_held(folder)
