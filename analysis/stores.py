"""Runs in object stores: a run at s3://BUCKET/NAME is worked on, and read, in a copy on this machine.

An object store has no rename, no lock and no mapped files. A job therefore takes a lease, an object that is created
only where there is none, works in its copy, and uploads what is new whenever a shard is saved, tables last: a shard
that has its table is whole in the store too. A reader downloads what has changed since it last looked, into a copy of
its own. Copies are in the user's cache, and may be deleted at any time.

Leases are numbered, so that if two jobs find that a lease has ended, only one of them creates the next. A lease ends
with its job, or when its job has not renewed it for `LEASE_SECONDS`, by the clock of the store.
"""

import hashlib
import json
import os
import socket
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple

from filelock import FileLock

from analysis.runs.job import OnProgress, Status
from analysis.runs.manifest import MANIFEST, is_exported
from rauq.checkpoints.store import default_store
from rauq.errors import InvalidInput, MissingPackage, RauqError, RunError

PROTOCOLS = ("s3", "gs", "file")
LEASE_SECONDS = 300.0
_RENEW_SECONDS = 60.0
_LEASE = "lease-"

_Seen = dict[str, tuple[str, int, int]]
"""Of each file of a copy: which object it is, and its size and time here then."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """A run in a store: its address, the store's files, the path there, and the folder of its copy."""

    address: str
    files: Any
    path: str
    folder: Path

    def at(self, name: str) -> str:
        """The path of a file of the run."""
        return f"{self.path}/{name}"

    def beside(self, kind: str) -> Path:
        """A file beside the copy, which no run is named like."""
        return self.folder.with_name(f".{self.folder.name}.{kind}")


@dataclass(frozen=True, kw_only=True)
class Workspace:
    """Where a job works on a run: its folder, and the upload of what is new, which does nothing for a local run.

    `name`: what the run is called; "" for its folder's name.
    """

    folder: Path
    place: str
    name: str = ""
    upload: Callable[[], None] = field(default=lambda: None)

    def reporting(self, progress: OnProgress | None) -> OnProgress:
        """A report of progress that uploads what was saved, and names the run by its address."""
        saved = 0

        def report(status: Status) -> None:
            nonlocal saved
            if status.saved != saved:
                self.upload()
                saved = status.saved
            if progress is not None:
                progress(replace(status, message=status.message.replace(str(self.folder), self.place)))

        return report


def is_store(place: str | Path) -> bool:
    """Whether a run is named by an address, not by a folder."""
    return "://" in str(place)


def local_copy(address: str) -> Path:
    """The folder of an up-to-date copy of a run in a store, to be read.

    Raises:
        InvalidInput: another address than of `PROTOCOLS`.
        MissingPackage: the package that reads this store is not installed.
        RunError: there is no run, or the store cannot be read.

    Example:
        >>> analysis.local_copy("s3://BUCKET/facts")  # doctest: +SKIP
        PosixPath('/home/me/.cache/rauq/runs/read-0123456789ab')
    """
    place = _copy(address, "read")
    with FileLock(place.beside("lock")), _plain_errors(place, "read"):
        _download(place)
    if not (place.folder / MANIFEST).exists():
        message = f"{address} is not a run: it has no {MANIFEST}. Give the address that `score --out` wrote to."
        raise RunError(message)
    return place.folder


@contextmanager
def workspace(place: str | Path) -> Iterator[Workspace]:
    """Where a job works on a run: its folder, or a copy under a lease, uploaded as it grows and at the end.

    Raises:
        InvalidInput, MissingPackage: as of `local_copy`.
        RunError: another job has the lease, or the store cannot be read or written.
    """
    if not is_store(place):
        yield Workspace(folder=Path(place), place=str(place))
        return
    there = _copy(str(place), "work")
    with _leased(there) as check:
        with _plain_errors(there, "read"):
            _download(there)
        name, upload = there.path.rpartition("/")[2], partial(_upload, there, check)
        space = Workspace(folder=there.folder, place=there.address, name=name, upload=upload)
        try:
            yield space
        finally:
            space.upload()


class Below(NamedTuple):
    """What lies below an address under one name: its bytes, and whether it has the manifest of a run."""

    num_bytes: int
    is_run: bool


def below(address: str) -> dict[str, Below]:
    """What lies below an address, by name, as runs do that `keep` uploaded.

    Raises:
        InvalidInput, MissingPackage: as of `local_copy`.
        RunError: the store cannot be read.
    """
    place, found = _place(address, Path()), dict[str, Below]()
    with _plain_errors(place, "read"):
        place.files.invalidate_cache()
        for path, info in place.files.find(place.path, detail=True).items():
            name, _, rest = path.removeprefix(place.path).lstrip("/").partition("/")
            before = found.get(name, Below(0, is_run=False))
            found[name] = Below(before.num_bytes + int(info["size"]), before.is_run or rest == MANIFEST)
    return found


def check_writable(address: str) -> None:
    """Check that runs can be written below an address, by an object that is deleted again.

    Raises:
        InvalidInput, MissingPackage: as of `local_copy`.
        RunError: the store cannot be written.
    """
    place = _place(address, Path())
    probe = place.at(f"probe-{uuid.uuid4().hex}")
    with _plain_errors(place, "written"):
        place.files.pipe_file(probe, b"")
        place.files.rm_file(probe)


def is_kept(folder: Path) -> bool:
    """Whether nothing in a run is new since `keep` uploaded it."""
    seen = _read_seen(Place(address="", files=None, path="", folder=folder))
    return bool(seen) and {name: (num_bytes, time) for name, (_, num_bytes, time) in seen.items()} == _own_files(folder)


def keep(folder: Path, address: str, *, anew: bool = False) -> None:
    """Make what lies at an address equal to a run: upload what is new, tables last, and delete what is gone here.

    `anew`: upload all, whatever was uploaded before.

    Raises:
        InvalidInput, MissingPackage: as of `local_copy`.
        RunError: the store cannot be written.
    """
    place = _place(address, folder)
    if anew:
        place.beside("json").unlink(missing_ok=True)
    own = _own_files(folder)
    _upload(place, lambda: None)
    seen = _read_seen(place)
    if MANIFEST not in own:
        return  # the run is being deleted here
    with _plain_errors(place, "written"):
        for name in seen.keys() - own.keys():
            with suppress(FileNotFoundError):
                place.files.rm_file(place.at(name))
            _write_seen(place, seen := {known: seen[known] for known in seen if known != name})


def _own_files(folder: Path) -> dict[str, tuple[int, int]]:
    """The files of a run, with their sizes and times."""
    return {path.name: _state(path) for path in folder.iterdir() if is_exported(path.name)}


def fetch(address: str, folder: Path) -> None:
    """Download a run that `keep` uploaded; its folder is there once it is whole.

    Raises:
        InvalidInput, MissingPackage: as of `local_copy`.
        RunError: the store cannot be read, or it has no manifest.
    """
    place = _place(address, folder.with_name(f".fetched-{folder.name}"))
    place.folder.mkdir(parents=True, exist_ok=True)
    with _plain_errors(place, "read"):
        _download(place)
        if not (place.folder / MANIFEST).exists():
            message = f"{address} is not a run: it has no {MANIFEST}."
            raise RunError(message)
        place.beside("json").replace(replace(place, folder=folder).beside("json"))
        place.folder.rename(folder)


def forget(address: str) -> None:
    """Delete a run from a store.

    Raises:
        InvalidInput, MissingPackage: as of `local_copy`.
        RunError: the store cannot be written.
    """
    place = _place(address, Path())
    with _plain_errors(place, "written"), suppress(FileNotFoundError):
        place.files.rm(place.path, recursive=True)


def _place(address: str, folder: Path) -> Place:
    protocol = address.partition("://")[0]
    if protocol not in PROTOCOLS:
        allowed = ", ".join(f"{one}://" for one in PROTOCOLS)
        message = f"Got the store {address}; give an address that begins with {allowed}, or a folder."
        raise InvalidInput(message)
    from fsspec.core import url_to_fs

    options = {"auto_mkdir": True} if protocol == "file" else {}
    try:
        files, path = url_to_fs(address, use_listings_cache=False, **options)
    except ImportError as error:
        message = f"{address} needs another package ({error}): pip install s3fs for s3://, gcsfs for gs://"
        raise MissingPackage(message) from error
    return Place(address=address, files=files, path=path.rstrip("/"), folder=folder)


def _copy(address: str, purpose: str) -> Place:
    """A run in a store, and the folder of its copy in the cache."""
    key = hashlib.sha256(f"{purpose} {address}".encode()).hexdigest()[:24]
    place = _place(address, default_store().place / "runs" / key)
    place.folder.mkdir(parents=True, exist_ok=True)
    return place


@contextmanager
def _plain_errors(place: Place, verb: str) -> Iterator[None]:
    """Every error of a store as one that names it: the packages behind it raise many kinds."""
    try:
        yield
    except RauqError:
        raise
    except Exception as error:
        message = (
            f"{place.address} cannot be {verb} ({type(error).__name__}: {error}). All that was uploaded before is "
            "intact: check the address, its permissions and the network, and repeat the command."
        )
        raise RunError(message) from error


def _listed(place: Place) -> dict[str, dict[str, Any]]:
    """The facts that the store lists about each object of the run, by name."""
    try:
        found = place.files.ls(place.path, detail=True, refresh=True)
    except FileNotFoundError:
        return {}
    return {one["name"].rpartition("/")[2]: one for one in found if one["type"] == "file"}


def _version(info: dict[str, Any]) -> str:
    """What changes when an object is written again."""
    return str(info.get("ETag") or info.get("generation") or (info["size"], info.get("mtime")))


def _state(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except FileNotFoundError:
        return (-1, -1)
    return found.st_size, found.st_mtime_ns


def _read_seen(place: Place) -> _Seen:
    try:
        found = json.loads(place.beside("json").read_text(encoding="utf-8"))
        return {name: (str(version), int(size), int(time)) for name, (version, size, time) in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}  # then everything is downloaded again


def _write_seen(place: Place, seen: _Seen) -> None:
    temporary = place.beside("tmp")
    temporary.write_text(json.dumps(seen), encoding="utf-8")
    temporary.replace(place.beside("json"))


def _download(place: Place) -> None:
    """Make the copy equal to the store; a shard that was saved here but not uploaded is answered again."""
    seen, there = _read_seen(place), {name: info for name, info in _listed(place).items() if is_exported(name)}
    for path in place.folder.iterdir():
        if is_exported(path.name) and path.name not in there:
            path.unlink()
    for name, info in there.items():
        path = place.folder / name
        if seen.get(name) != (_version(info), *_state(path)):
            temporary = place.folder / f".{name}.tmp"
            place.files.get_file(place.at(name), str(temporary))
            temporary.replace(path)
            seen[name] = (_version(info), *_state(path))
    _write_seen(place, {name: seen[name] for name in there})


def _upload(place: Place, check: Callable[[], None]) -> None:
    """Upload what is new in the copy, tables last."""
    seen = _read_seen(place)
    names = sorted((path.name for path in place.folder.iterdir() if is_exported(path.name)), key=_tables_last)
    new = [name for name in names if seen.get(name, ("", -1, -1))[1:] != _state(place.folder / name)]
    if not new:
        return
    with _plain_errors(place, "written"):
        check()
        for name in new:
            state = _state(place.folder / name)
            place.files.put_file(str(place.folder / name), place.at(name))
            seen[name] = (_version(place.files.info(place.at(name))), *state)
            _write_seen(place, seen)


def _tables_last(name: str) -> tuple[bool, str]:
    return name.startswith("answers-"), name


@contextmanager
def _leased(place: Place) -> Iterator[Callable[[], None]]:
    """Hold the lease of a run; yields a check that raises a RunError once another job has the lease."""
    own = f"{socket.gethostname()}, process {os.getpid()}, {uuid.uuid4().hex}".encode()
    with _plain_errors(place, "written"):
        name = _acquire(place, own)
    ended = Event()
    renewing = Thread(target=_renew, args=(place, name, own, ended), daemon=True)
    renewing.start()
    try:
        yield partial(_check, place, name, own)
    finally:
        ended.set()
        renewing.join()
        with suppress(Exception):  # it ends by itself
            if _holds(place, name, own):
                place.files.rm_file(place.at(name))


def _acquire(place: Place, own: bytes) -> str:
    leases = _leases(place)
    if leases and (seconds := _age(place, leases[-1])) < LEASE_SECONDS:
        holder = place.files.cat_file(place.at(leases[-1])).decode(errors="replace").rpartition(", ")[0]
        raise _in_use(place, f"{holder or 'unknown'}, lease renewed {max(seconds, 0):.0f} s ago")
    number = int(leases[-1].removeprefix(_LEASE)) + 1 if leases else 1
    name = f"{_LEASE}{number:09}"
    try:
        with place.files.open(place.at(name), "xb") as file:  # pipe_file would only look whether a folder has it
            file.write(own)
    except FileExistsError as error:
        raise _in_use(place, "started at the same moment") from error
    for old in leases:
        with suppress(FileNotFoundError):
            place.files.rm_file(place.at(old))
    return name


def _in_use(place: Place, holder: str) -> RunError:
    return RunError(
        f"Another job is using {place.address} ({holder}). Wait until it ends. The lease of a job that was killed ends "
        f"after {LEASE_SECONDS:.0f} s."
    )


def _leases(place: Place) -> list[str]:
    return sorted(name for name in _listed(place) if name.startswith(_LEASE) and name.removeprefix(_LEASE).isdigit())


def _age(place: Place, name: str) -> float:
    """Seconds since a lease was written, by the store's own clock."""
    clock = place.at(f"clock-{uuid.uuid4().hex}")
    place.files.pipe_file(clock, b"now")
    try:
        return float((place.files.modified(clock) - place.files.modified(place.at(name))).total_seconds())
    finally:
        place.files.rm_file(clock)


def _holds(place: Place, name: str, own: bytes) -> bool:
    return _leases(place)[-1:] == [name] and place.files.cat_file(place.at(name)) == own


def _check(place: Place, name: str, own: bytes) -> None:
    if not _holds(place, name, own):
        raise _in_use(place, "its lease replaced this job's, which was not renewed in time")


def _renew(place: Place, name: str, own: bytes, ended: Event) -> None:
    while not ended.wait(_RENEW_SECONDS):
        with suppress(Exception):  # the next time, or the next upload says why
            if _holds(place, name, own):
                place.files.pipe_file(place.at(name), own)
