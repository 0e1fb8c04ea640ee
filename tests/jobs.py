"""Waiting for the job of a run, a process of its own whose progress is only visible in its folder."""

import time

from analysis.runs.job import WORKING, read_status

PATIENCE = 120.0  # seconds
POLL_SECONDS = 0.05


def ended(folder):
    """The status of a run once its job has ended."""
    deadline = time.monotonic() + PATIENCE
    while (status := read_status(folder)).state in WORKING and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    return status
