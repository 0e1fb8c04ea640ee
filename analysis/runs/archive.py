"""A run as one zip archive, for another machine; what comes in is looked through before it is a run here."""

import shutil
import stat
import tempfile
import zlib
from pathlib import Path
from typing import IO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from analysis.runs.files import goes_along
from analysis.runs.library import folder_of
from analysis.runs.manifest import MANIFEST, cannot_write, read_manifest
from analysis.runs.validation import validate
from rauq.errors import InvalidInput, RunError
from rauq.labels import size

MOST_FILES = 20_000
LARGEST_ARCHIVE = 8 * 2**30  # bytes, unpacked
_MOST_TIMES = 200  # as large unpacked as packed: a real run is about as large as its archive

_BLOCK = 2**20
_ENCRYPTED = 0x1


def export_zip(folder: Path) -> IO[bytes]:
    """The files of a run as an archive in a temporary file, open at its start; status and log stay here.

    Equal files give equal archives.

    Raises:
        RunError: the folder is no run, cannot be read, or the disk is full.
    """
    read_manifest(folder)
    archive = tempfile.TemporaryFile()  # noqa: SIM115 - the caller's to close
    try:
        with ZipFile(archive, "w", ZIP_STORED) as files:
            for path in sorted(path for path in folder.iterdir() if goes_along(path.name)):
                with path.open("rb") as source, files.open(ZipInfo(path.name), "w", force_zip64=True) as target:
                    shutil.copyfileobj(source, target, _BLOCK)
    except OSError as error:
        archive.close()
        message = f"{folder} cannot be exported ({error.strerror or error}). Make room for the archive, and try again."
        raise RunError(message) from error
    archive.seek(0)
    return archive


def import_zip(archive: IO[bytes], root: Path, name: str, *, largest: int = LARGEST_ARCHIVE) -> Path:
    """Unpack a run that `export_zip` packed, and return its folder; it is there once all of it was looked through.

    `largest`: bytes that it may unpack to.

    Raises:
        InvalidInput: no run can have this name.
        RunError: the name is taken, this is no archive of a run, it is damaged or too large, or the disk is full.
    """
    target = folder_of(name, root)
    if target.exists():
        message = f"There is a run {name} already. Give another name, or delete that one first."
        raise RunError(message)
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root, prefix=".importing-") as folder:
            unpacked = Path(folder) / name
            unpacked.mkdir()
            _unpack(archive, unpacked, largest)
            validate(unpacked)
            unpacked.rename(target)
    except OSError as error:
        raise cannot_write(target, error) from error
    return target


def _unpack(archive: IO[bytes], folder: Path, largest: int) -> None:
    try:
        with ZipFile(archive) as files:
            entries = files.infolist()
            _check_entries(entries, largest)
            for entry in entries:
                # zipfile reads no more of an entry than it says to hold, and compares its checksum
                with files.open(entry) as source, (folder / entry.filename).open("xb") as target:
                    shutil.copyfileobj(source, target, _BLOCK)
    except (BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError, zlib.error) as error:
        if isinstance(error, InvalidInput):
            raise
        message = f"This is no archive of a run, or it is damaged ({error}). Export the run again."
        raise RunError(message) from error


def _check_entries(entries: list[ZipInfo], largest: int) -> None:
    """Refuse by what the archive says of itself; what it does not say shows while it is unpacked."""
    names = [entry.filename for entry in entries]
    foreign = [entry.filename for entry in entries if not _is_plain_file(entry)]
    unpacked, packed = (sum(getattr(entry, name) for entry in entries) for name in ("file_size", "compress_size"))
    if foreign:
        reason = f"it holds {foreign[0][:80]!r}, which is no file of a run"
    elif MANIFEST not in names:
        reason = f"it has no {MANIFEST}"
    elif len(set(names)) < len(names) or len(names) > MOST_FILES:
        reason = f"it has {len(names):,} files, some of one name, or more than {MOST_FILES:,}"
    elif unpacked > min(largest, _MOST_TIMES * (packed + _BLOCK)):
        reason = f"it unpacks from {size(packed)} to {size(unpacked)}"
    else:
        return
    message = f"This archive is not unpacked: {reason}. Give one that was exported here, its files as they were."
    raise RunError(message)


def _is_plain_file(entry: ZipInfo) -> bool:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    return (
        goes_along(entry.filename)
        and kind in (0, stat.S_IFREG)
        and not entry.flag_bits & _ENCRYPTED
        and entry.compress_type in (ZIP_STORED, ZIP_DEFLATED)
    )
