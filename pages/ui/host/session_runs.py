"""Where the runs of a session are, their jobs, and how far a job is, drawn and in words.

On a user's own machine they are in one folder. On a host they are in a folder per session, whose name cannot be guessed
and is in no link. It is deleted some minutes after its session has left, and all are deleted with the server: it holds
a lock in the folder of all, which the kernel frees however the server ends, and the next one deletes what a killed one
left behind. Where the host keeps runs in a store, the folder is that of a browser instead (see `stored_runs`).
"""

import atexit
import secrets
import shutil
import stat
import tempfile
import threading
from collections.abc import Callable
from contextlib import contextmanager, suppress
from functools import cache
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st
from filelock import FileLock

from analysis.runs.job import WORKING, Status, is_held, read_status, request_stop, start_job
from analysis.runs.manifest import size_of
from pages.ui.host import hosting, stored_runs
from pages.ui.host.hosting import Busy, ModelChoice
from pages.ui.host.store import session, store, visitor
from rauq.errors import InvalidInput, RunError
from rauq.labels import size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from analysis.datasets.example import DataSet, Example
    from analysis.runs.manifest import Manifest, Request
    from pages.ui.host.stored_runs import AllStored, StoredRuns

_MINE = "_runs_folder"
_OWN_IDF = ("", "atlas")  # document frequencies: none, or those that come with the app


def runs_folder() -> Path:
    """Return the folder of this session's runs, which may not exist."""
    from analysis.runs import library

    if not hosting.is_hosted():
        return library.runs_folder()
    if (kept := stored()) is not None:
        return kept.folder
    name: str = st.session_state.setdefault(_MINE, secrets.token_urlsafe(16))
    session().folder = name
    return private_folder() / name


def stored() -> "StoredRuns | None":
    """Return the runs that the host keeps for this session's browser; None if they end with the session."""
    name, every = stored_runs.name_of(session().owner), store().stored_runs
    if not name:
        return None
    with every.lock:  # else the folder may be deleted with the last session before
        session().folder = name
        known = stored_runs.opened(every, private_folder() / name, session().visitor)
    stored_runs.await_first(known)
    return known


def forget_run(name: str) -> None:
    """Delete a run of this session's browser in the store too, if there is one."""
    if (kept := stored()) is not None:
        stored_runs.forget(store().stored_runs, kept, name)


def check_run(request: "Request", examples: "Iterable[Example]") -> None:
    """Check that a run keeps a host's limits; without a host any run is allowed.

    Raises:
        InvalidInput: a model that is not offered, another file or revision from elsewhere, or a limit exceeded.
    """
    if not hosting.is_hosted():
        return
    most = hosting.limits()
    how = ModelChoice(name=request.model, device=request.device, dtype=request.dtype, kind=request.kind)
    hosting.check_model(how)
    elsewhere = (request.weights, request.revision, request.nli, request.similarity, request.tagger)
    if any(elsewhere) or request.detectors or request.idf not in _OWN_IDF:
        message = (
            "This run needs a judge, a detector, weights or a revision from elsewhere, which this host does not allow. "
            "Remove them."
        )
        raise InvalidInput(message)
    hosting.check_number("rows", request.count, most.rows)
    hosting.check_number("new tokens", request.max_new_tokens, most.new_tokens)
    hosting.check_number("samples", request.samples, most.samples)
    hosting.check_number("rows in a batch", request.batch_size, most.batch)
    for example in examples:
        hosting.check_text("prompt", example.conversation or example.prompt)
        hosting.check_text("answer", example.answer or "")


def create_run(name: str, data: "DataSet", request: "Request") -> Path:
    """Create a run of this session on disk and return its folder; `begin_job` starts its job.

    Raises:
        RauqError: a name or an option is not allowed, or the name is taken.
    """
    from analysis.runs.create import prepare
    from analysis.runs.library import folder_of

    folder = folder_of(name, runs_folder())
    if folder.exists():
        message = f"A run named {name} already exists. Choose another name, such as {free_name(name)}."
        raise InvalidInput(message)
    check_run(request, data.examples)
    make_room()
    prepare(folder, data, request, name=name)
    return folder


def begin_job(folder: Path) -> None:
    """Start or resume the job of a run; return once the job has locked its run and is counted.

    Raises:
        InvalidInput, RunError: as in `check_begin`, or the job ended at once.
    """
    with room_for_job(folder):
        start_job(folder, with_parent=hosting.is_hosted())


def free_name(name: str) -> str:
    """Return the name if it is free, else the name with the first free number."""
    from analysis.runs.library import list_runs

    taken = {run.name for run in list_runs(runs_folder())}
    numbered = (f"{name[:60]}-{number}" for number in range(2, len(taken) + 3))
    return next(free for free in (name, *numbered) if free not in taken)


@contextmanager
def room_for_job(folder: Path) -> "Iterator[None]":
    """Start the job of a run in the body, one at a time: two checks at once could both find room.

    Raises:
        InvalidInput, RunError: as in `check_begin`.
    """
    with store().starting:
        check_begin(folder)
        yield


def check_begin(folder: Path) -> None:
    """Check that the job of a run may start now, wherever the run came from.

    Raises:
        InvalidInput: the host does not allow the run, or too many jobs are running.
        RunError: the folder is not a run.
    """
    from analysis.runs.files.examples import read_examples
    from analysis.runs.manifest import read_manifest

    if not hosting.is_hosted():
        return
    manifest = read_manifest(folder)
    check_run(manifest.request, read_examples(folder))
    _check_commit(manifest)
    most = hosting.limits()
    if sum(map(is_held, _runs())) >= most.jobs:
        message = (
            f"{most.jobs} jobs are running on this host, which is its limit. Start again once one of them has ended."
        )
        raise Busy(message)
    if sum(map(is_held, _visitors_runs())) >= most.jobs_each:
        message = "A job of your address is running, and one at a time is allowed. Start again once it has ended."
        raise Busy(message)


def _check_commit(manifest: "Manifest") -> None:
    """Refuse other commits: a run from elsewhere would make a host load any commit that its manifest names."""
    from analysis.runs.work import started_commit
    from rauq.checkpoints.hub import cached_commit

    model, commit = manifest.request.model, started_commit(manifest)
    if commit is not None and cached_commit(model, commit) is None:
        message = (
            f"This run was started with commit {commit[:12]} of {model}, which this host does not have. Make a new run."
        )
        raise InvalidInput(message)


def make_room() -> None:
    """Check that there is space for another run; nobody's run is deleted for it.

    Raises:
        InvalidInput: the runs of this visitor, or of all, are too large.
    """
    if not hosting.is_hosted():
        return
    stored_runs.check_fetched(stored())
    most, mine = hosting.limits(), _visitors_runs()
    if len(mine) >= most.runs_each:
        message = f"Your address has {len(mine)} runs, and at most {most.runs_each} are allowed. Delete one of them."
        raise InvalidInput(message)
    if _bytes(mine) > most.bytes_each:
        message = f"Your runs have more than {size(most.bytes_each)}, the limit of this host. Delete one of them."
        raise InvalidInput(message)
    if _bytes(_runs()) > most.bytes:
        message = "There is no space for another run on this host. Delete one of yours, or try again later."
        raise Busy(message)


def clear_left(is_connected: Callable[[str], bool]) -> list[str]:
    """Delete what sessions owned that have been gone for some minutes; return their names.

    A running job of theirs is stopped first, and their runs are deleted once it has ended: those that are kept in a
    store by `keep_runs`, the others at a later call.
    """
    left = store().left(is_connected)
    store().keyed.expire()
    for name, gone in left.items():
        store().answers.release(name)
        if not gone.folder or _is_in_use(gone.folder):
            continue
        working = list(filter(is_held, _runs(gone.folder)))
        for run in working:
            with suppress(RunError):  # it has ended in the meantime
                request_stop(run)
        if gone.folder in store().stored_runs.browsers:
            continue
        if working:
            store().sessions[name] = gone  # again at the next call
        else:
            shutil.rmtree(private_folder() / gone.folder, ignore_errors=True)
    return list(left)


def _is_in_use(folder: str) -> bool:
    """Whether a session has this folder of runs: another tab of the browser whose runs are kept."""
    return any(known.folder == folder for known in list(store().sessions.values()))


def keep_runs() -> None:
    """Bring what was made or changed into the store, for all browsers whose runs are kept, and clear what they left."""
    every = store().stored_runs
    for name, runs in list(every.browsers.items()):
        if runs.fault or not (runs.fetched.is_set() and stored_runs.is_saved(runs)):
            stored_runs.synchronise(every, runs)
        if not _is_in_use(name) and stored_runs.is_saved(runs) and not any(map(is_held, _runs(name))):
            _let_go(every, runs)


def _let_go(every: "AllStored", runs: "StoredRuns") -> None:
    """Delete the folder of a browser that has left, unless it has come back or its runs are being uploaded."""
    gone = runs.folder.with_name(f".left-{secrets.token_urlsafe(8)}")
    with every.lock:
        if _is_in_use(runs.folder.name) or not runs.lock.acquire(blocking=False):
            return
        try:
            runs.folder.rename(gone)  # at once, so that nothing sees a part of it
            del every.browsers[runs.folder.name]
        finally:
            runs.lock.release()
    shutil.rmtree(gone, ignore_errors=True)


def _runs(session: str = "*") -> list[Path]:
    """Return the runs of a session, or of all; runs that another session deletes in the meantime are left out."""
    return [Path(found) for found in glob(f"{private_folder()}/{session}/*")]  # noqa: PTH207 - tolerates deleted folders


def _visitors_runs() -> list[Path]:
    """Return the runs of all sessions of this visitor."""
    mine = visitor()
    folders = {known.folder for known in list(store().sessions.values()) if known.visitor == mine and known.folder}
    return [run for folder in folders for run in _runs(folder)]


def _bytes(runs: list[Path]) -> int:
    return sum(map(size_of, runs))


_PREFIX, _LOCK = "rauq-", "server.lock"
_MAKING = threading.Lock()


def private_folder() -> Path:
    """Return the folder for private files of sessions, the same for the whole process."""
    with _MAKING:  # two sessions that ask first at the same moment
        return _made()


@cache  # not Streamlit's, which any client can clear
def _made() -> Path:
    place = Path(tempfile.mkdtemp(prefix=_PREFIX))
    atexit.register(_delete_own, place, _held_lock(place))
    for other in place.parent.glob(f"{_PREFIX}*"):
        if other != place and _is_folder_of(other, place.stat().st_uid):
            _delete_if_abandoned(other)
    return place


def _held_lock(place: Path) -> FileLock:
    """Return the lock of a place, held before the file has its name: under it, a free lock is that of a dead server."""
    lock = FileLock(place / f"new-{_LOCK}", thread_local=False)
    lock.acquire()
    (place / f"new-{_LOCK}").rename(place / _LOCK)
    return lock


def _delete_own(place: Path, lock: FileLock) -> None:
    _delete(place)
    lock.release()


def _is_folder_of(path: Path, user: int) -> bool:
    """Return whether a path is a folder of this user, not a link to one."""
    with suppress(OSError):
        found = path.lstat()
        return stat.S_ISDIR(found.st_mode) and found.st_uid == user
    return False


def _delete_if_abandoned(place: Path) -> None:
    """Delete the folder of a server that has ended; folders without a lock file are not a server's."""
    if not (place / _LOCK).is_file():
        return
    with suppress(OSError), FileLock(place / _LOCK).acquire(blocking=False):  # filelock's Timeout is an OSError
        _delete(place)


def _delete(place: Path) -> None:
    """Delete a place, its lock last: a job about to end may still write, and then the next server tries again."""
    with suppress(OSError):  # it was deleted by hand
        for inside in place.iterdir():
            if inside.name != _LOCK:
                shutil.rmtree(_hidden(inside), ignore_errors=True)
        if [inside.name for inside in place.iterdir()] == [_LOCK]:
            shutil.rmtree(place, ignore_errors=True)


def _hidden(inside: Path) -> Path:
    """Rename it, so that no upload sees a part of it while it is deleted; its new name."""
    return inside.rename(inside.with_name(f".deleted-{secrets.token_urlsafe(8)}"))


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
