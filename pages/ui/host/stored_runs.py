"""Runs that a host keeps in a store, for the browser that made them: its cookie finds them again, in any process.

The folder here and the place in the store are named by a hash of the cookie. A browser without cookies is known by its
address, which others may have too: its runs end with its session, as those of a host without a store.
"""

import hashlib
import logging
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pages.ui.host import hosting
from rauq.errors import InvalidInput, RauqError
from rauq.labels import size

if TYPE_CHECKING:
    from analysis.stores import Below

FETCH_SECONDS = 0.2  # that a first page waits for the runs of its browser
_TOTAL_SECONDS = 60.0  # that the size of the whole store is not asked again
_FULL = "The store of this host is full, so what you make now is not kept. Export the runs you want to keep."
_UNSURE = (
    "This host cannot keep runs at the moment: what you make now may be lost, and what you delete may come back. "
    "Export the runs that you want to keep."
)
_TAKEN = "You have kept another run named {name}, so this one is not kept. Export it, or import it under another name."
_TOO_MANY = "Not all runs that you have kept fit into {most}, the limit of this host. Delete some to see the others."

_log = logging.getLogger(__name__)


@dataclass(eq=False, kw_only=True)
class StoredRuns:
    """The runs of one browser: their folder here and their place in the store.

    `known`: the names of those that are at both places, or were; what is known and not here was deleted here.
    `unwanted`: what is to be deleted in the store. Not kept are those that are `taken`, which have the name of another
    run in the store, and those for which it is too `full`. `counted`: the bytes of each that count as its visitor's.
    `awaited`: a page has waited for them. `fault`: what the browser's user has to know, or "".
    """

    folder: Path
    address: str
    visitor: str
    lock: threading.Lock = field(default_factory=threading.Lock)
    fetched: threading.Event = field(default_factory=threading.Event)
    awaited: bool = False
    known: set[str] = field(default_factory=set)
    unwanted: set[str] = field(default_factory=set)
    taken: set[str] = field(default_factory=set)
    full: set[str] = field(default_factory=set)
    counted: Counter[str] = field(default_factory=Counter)
    fault: str = ""

    def at(self, name: str) -> str:
        """The address of a run."""
        return f"{self.address}/{name}"


@dataclass(eq=False, kw_only=True)
class AllStored:
    """The runs of all browsers that are here, by the names of their folders, and the bytes that visitors have added.

    `lock`: held for a moment, while a browser comes or goes. `total`: the bytes of the whole store, and when it was
    asked for them.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    browsers: dict[str, StoredRuns] = field(default_factory=dict)
    added: Counter[str] = field(default_factory=Counter)
    total: tuple[int, float] = (0, float("-inf"))


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


def forget(every: AllStored, runs: StoredRuns, name: str) -> None:
    """Delete a run in the store, as soon as the store can be reached, that was deleted here."""
    if name in runs.taken:
        runs.taken.discard(name)  # in the store is another one
        return
    runs.unwanted.add(name)
    threading.Thread(target=synchronise, args=(every, runs), daemon=True).start()


def is_saved(runs: StoredRuns) -> bool:
    """Whether the store has all that is here and can be kept, as far as is known without asking it."""
    from analysis.stores import is_kept

    here = _here(runs)
    return not runs.unwanted and all(name in runs.taken | runs.full or is_kept(folder) for name, folder in here.items())


def synchronise(every: AllStored, runs: StoredRuns) -> None:
    """Upload what was made or changed here, delete what was deleted here, and fetch what was kept before."""
    with runs.lock:
        if every.browsers.get(runs.folder.name) is not runs:
            return  # its browser has left
        try:
            runs.fault = " ".join(dict.fromkeys(_synchronised(every, runs)))
        except Exception as error:  # noqa: BLE001 - a store may raise anything, and the next look may go better
            _log.warning("Runs of a browser were not kept: %s: %s", type(error).__name__, error)
            runs.fault = _UNSURE
        finally:
            runs.fetched.set()


def _synchronised(every: AllStored, runs: StoredRuns) -> Iterator[str]:
    """Do it; yield what the browser's user has to know."""
    from analysis import stores

    here = _here(runs)  # before the store is asked: a run that is deleted in between is then not fetched again
    for name in list(runs.unwanted):
        stores.forget(runs.at(name))
        runs.known.discard(name)
        runs.unwanted.discard(name)
        here.pop(name, None)
    there = {name: found for name, found in stores.below(runs.address).items() if _is_name(name)}
    yield from _uploaded(every, runs, here, there)
    yield from _fetched(runs, here, there)


def _here(runs: StoredRuns) -> dict[str, Path]:
    from analysis.runs.library import list_runs

    return {run.name: run.folder for run in list_runs(runs.folder) if not run.read_only}


def _is_name(name: str) -> bool:
    from analysis.runs.library import is_name

    return is_name(name)


def _uploaded(
    every: AllStored, runs: StoredRuns, here: Mapping[str, Path], there: "Mapping[str, Below]"
) -> Iterator[str]:
    from analysis import stores

    runs.taken, runs.full = set(), set()
    for name, folder in here.items():
        if name not in runs.known and name in there and there[name].is_run:
            runs.taken.add(name)
            yield _TAKEN.format(name=name)
        elif not folder.exists() or (name in runs.known and stores.is_kept(folder)):
            continue
        elif not _has_room(every, runs, folder):
            runs.full.add(name)
            yield _FULL
        else:
            runs.known.add(name)  # also if it fails in the middle: then it goes on from there
            stores.keep(folder, runs.at(name), anew=name not in there)


def _fetched(runs: StoredRuns, here: Mapping[str, Path], there: "Mapping[str, Below]") -> Iterator[str]:
    from analysis import stores
    from analysis.runs.manifest import size_of

    room = hosting.limits().bytes_each - sum(map(size_of, here.values()))
    for name in sorted(there.keys() - here.keys() - runs.known - runs.unwanted):
        if not there[name].is_run:
            _log.warning("The store has a folder of a browser that is no run")
        elif (room := room - there[name].num_bytes) < 0:
            yield _TOO_MANY.format(most=size(hosting.limits().bytes_each))
        else:
            stores.fetch(runs.at(name), runs.folder / name)
            runs.known.add(name)
            runs.counted[name] = there[name].num_bytes


def _has_room(every: AllStored, runs: StoredRuns, folder: Path) -> bool:
    """Whether the store has room for what is new in a run, which then counts as its visitor's."""
    from analysis.runs.manifest import size_of

    most, name, whole = hosting.limits(), folder.name, size_of(folder)
    more = max(0, whole - runs.counted[name])
    if every.added[runs.visitor] + more > most.stored_by_one or _total(every) + more > most.stored:
        return False
    runs.counted[name] += more
    every.added[runs.visitor] += more
    every.total = every.total[0] + more, every.total[1]
    return True


def _total(every: AllStored) -> int:
    """The bytes of the whole store, asked for once a minute at most."""
    from analysis.stores import below

    if time.monotonic() - every.total[1] > _TOTAL_SECONDS:
        every.total = sum(found.num_bytes for found in below(hosting.runs_address()).values()), time.monotonic()
    return every.total[0]


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
