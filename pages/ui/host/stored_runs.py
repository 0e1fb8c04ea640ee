"""Runs that a host keeps in a store, for the browser that made them: its cookie finds them again, in any process.

The folder here and the place in the store are named by a hash of the cookie. A browser without cookies is known by its
address, which others may have too: its runs end with its session, as those of a host without a store.
"""

import hashlib
import logging
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pages.ui.host import hosting
from rauq.errors import InvalidInput, RauqError
from rauq.labels import size

FETCH_SECONDS = 1.0  # that a first page waits for the runs of its browser
_FULL = "The store of this host is full, so runs that you make now are not kept. Export those you want to keep."
_UNSURE = (
    "This host cannot reach the store of its runs at the moment: what you make now may not be kept, what you delete "
    "may come back. Export the runs you want to keep."
)
_TAKEN = "You have kept another run named {name}, so this one is not kept. Export it, or import it under another name."

_log = logging.getLogger(__name__)


@dataclass(eq=False, kw_only=True)
class StoredRuns:
    """The runs of one browser: their folder here, their place in the store, and which of them are in both.

    `unwanted`: what is to be deleted in the store. `fault`: what the browser's user has to know, or "". `awaited`: a
    page has waited for them.
    """

    folder: Path
    address: str
    visitor: str
    lock: threading.Lock = field(default_factory=threading.Lock)
    fetched: threading.Event = field(default_factory=threading.Event)
    awaited: bool = False
    known: set[str] = field(default_factory=set)
    unwanted: set[str] = field(default_factory=set)
    fault: str = ""


@dataclass(eq=False, kw_only=True)
class AllStored:
    """The runs of all browsers that are here, by the names of their folders, and the bytes that visitors have added.

    `lock`: held while a browser comes or goes.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    browsers: dict[str, StoredRuns] = field(default_factory=dict)
    added: Counter[str] = field(default_factory=Counter)


def name_of(owner: str) -> str:
    """Return the name of the folder of a browser's runs, by its cookie; "" where they are not kept."""
    is_kept = bool(hosting.runs_address()) and bool(owner) and not owner.startswith("address ")
    return hashlib.sha256(f"runs of {owner}".encode()).hexdigest()[:32] if is_kept else ""


def opened(every: AllStored, folder: Path, visitor: str) -> StoredRuns:
    """Return the runs of a browser, and begin to fetch those in the store."""
    known = every.browsers.get(folder.name)
    if known is None:
        folder.mkdir(parents=True, exist_ok=True)
        known = StoredRuns(folder=folder, address=f"{hosting.runs_address()}/{folder.name}", visitor=visitor)
        every.browsers[folder.name] = known
        threading.Thread(target=synchronise, args=(every, known), daemon=True).start()
    return known


def await_first(runs: StoredRuns) -> None:
    """Wait a moment for what is being fetched, once: most browsers have few runs, and see them on their first page."""
    if not runs.awaited:
        runs.awaited = True
        runs.fetched.wait(FETCH_SECONDS)


def check_fetched(runs: StoredRuns | None) -> None:
    """Check that all runs of a browser are here: a new one could have the name of one that is on its way.

    Raises:
        Busy: they are still being fetched.
    """
    if runs is not None and not runs.fetched.is_set():
        message = "The runs that this host has kept for you are still being fetched. Try again in a moment."
        raise hosting.Busy(message)


def synchronise(every: AllStored, runs: StoredRuns) -> bool:
    """Upload what was made or changed here, and fetch what was kept before; return whether the store was reached."""
    with runs.lock:
        try:
            runs.fault = " ".join(dict.fromkeys(_synchronised(every, runs)))
        except (RauqError, OSError) as error:
            _log.warning("Runs of a browser were not kept: %s", error)
            runs.fault = _UNSURE
        runs.fetched.set()
        return runs.fault != _UNSURE


def forget(every: AllStored, runs: StoredRuns, name: str) -> None:
    """Delete a run in the store, as soon as the store can be reached."""
    runs.unwanted.add(name)
    threading.Thread(target=synchronise, args=(every, runs), daemon=True).start()


def _synchronised(every: AllStored, runs: StoredRuns) -> Iterator[str]:
    """Do it; yield what the browser's user has to know."""
    from analysis import stores
    from analysis.runs.library import is_name, list_runs

    for name in list(runs.unwanted):
        stores.forget(f"{runs.address}/{name}")
        runs.known.discard(name)
        runs.unwanted.discard(name)
    # What is here is listed first: a run that is deleted in between is then not fetched again.
    here = {run.name: run.folder for run in list_runs(runs.folder) if not run.read_only}
    there = set(filter(is_name, stores.names_at(runs.address)))
    for name in sorted(there - here.keys()):
        stores.fetch(f"{runs.address}/{name}", runs.folder / name)
        runs.known.add(name)
    for name, folder in here.items():
        if name not in runs.known and name in there:
            yield _TAKEN.format(name=name)
        elif name not in runs.known and not _has_room(every, runs, folder):
            yield _FULL
        elif folder.exists():
            stores.keep(folder, f"{runs.address}/{name}", anew=name not in there)
            runs.known.add(name)


def _has_room(every: AllStored, runs: StoredRuns, folder: Path) -> bool:
    """Whether the store has room for another run of this visitor, which is then counted."""
    from analysis.runs.manifest import size_of
    from analysis.stores import bytes_at

    most, more = hosting.limits(), size_of(folder)
    if every.added[runs.visitor] + more > most.stored_by_one:
        return False
    if bytes_at(hosting.runs_address()) + more > most.stored:
        _log.warning("The store of runs has %s or more: new runs are not kept", size(most.stored))
        return False
    every.added[runs.visitor] += more
    return True


def check_store(address: str) -> None:
    """Check that runs can be kept at an address.

    Raises:
        InvalidInput: it is no address of a store, its package is missing, or it cannot be written.
    """
    from analysis.stores import check_writable

    try:
        check_writable(address)
    except RauqError as error:
        message = f"Runs cannot be kept at {address}: {error}"
        raise InvalidInput(message) from error
