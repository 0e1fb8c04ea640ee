"""What a run's folder holds, by name, and the checksums of its shards."""

import re
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np
from safetensors.numpy import save

TIMINGS = "timings.jsonl"
CORRECTIONS, CORRECTIONS_LOCK = "corrections.json", "corrections.lock"
SUPERVISED = "supervised.json"  # how detectors rank its answers: made from the run, and no part of it

_OF_A_RUN = re.compile(
    r"manifest\.json|examples\.parquet|answers-\d{5}\.parquet|(?:traces|extras)-\d{5}\.safetensors|corrections\.json"
    r"|methods-[a-z][a-z0-9_]{0,63}\.parquet",
    re.ASCII,
)
_JOB_FILES = re.compile(
    r"(?:status|supervised)\.json|timings\.jsonl|(?:run|corrections)\.lock|log\.txt|stop|report|\..+\.tmp"
)


def is_of_run(name: str) -> bool:
    """Whether a file of this name is a part of what a run is."""
    return _OF_A_RUN.fullmatch(name) is not None


def is_exported(name: str) -> bool:
    """Whether a file of this name is exported with a run: its own files, and the timings."""
    return is_of_run(name) or name == TIMINGS


def foreign(folder: Path) -> list[str]:
    """Names of files that do not belong to a run, its jobs or its reports, sorted.

    Raises:
        OSError: the folder cannot be read.
    """
    names = (path.name for path in folder.iterdir())
    return sorted(name for name in names if not (is_of_run(name) or _JOB_FILES.fullmatch(name)))


def size_of(folder: Path) -> int:
    """Bytes of all files in a folder; unreadable or deleted files count 0."""
    total = 0
    with suppress(OSError):
        for path in folder.iterdir():
            with suppress(OSError):  # renamed since it was listed
                total += path.lstat().st_size
    return total


def state_of(folder: Path) -> tuple[int, int, int]:
    """How many files a run is made of, when the latest was written, and a checksum of its corrected verdicts.

    Zeros where there is no run. The checksum is there since two corrections may have the same time of modification.
    """
    written = []
    for pattern in ("manifest.json", "examples.parquet", "answers-*.parquet", "traces-*.*", "extras-*.*"):
        for file in folder.glob(pattern):
            with suppress(OSError):  # it was deleted since
                written.append(file.stat().st_mtime_ns)
    return len(written), max(written, default=0), _checksum(folder / CORRECTIONS)


def _checksum(path: Path) -> int:
    try:
        return zlib.crc32(path.read_bytes())
    except OSError:
        return 0


_NAME, _CHUNK, _LENGTH = "crc32", 2**20, 8  # a file of safetensors begins with the length of its header, in 8 bytes


def with_checksums(arrays: dict[str, np.ndarray], table: bytes) -> bytes:
    """The file of a shard's arrays; it holds the checksum of their bytes, and of the file of the table."""
    # Ours, because safetensors keeps no checksum.
    data = _crc32_of_data(save(arrays))
    return save(arrays, metadata={_NAME: f"{data:08x} {zlib.crc32(table):08x}"})


def _crc32_of_data(content: bytes) -> int:
    return zlib.crc32(memoryview(content)[_begin(content) :])  # a slice of bytes would be a copy


def check_bytes(path: Path, metadata: dict[str, str] | None, table: bytes) -> None:
    """See that the arrays at `path` and the table are, bit by bit, what was written; older runs do not say.

    Raises:
        ValueError: one of them is not.
        OSError: the arrays cannot be read.
    """
    written = (metadata or {}).get(_NAME)
    if written is None:
        return
    data, of_table = written.split()
    if f"{zlib.crc32(table):08x}" != of_table:
        message = "its table was changed after it was written"
        raise ValueError(message)
    if f"{_crc32(path):08x}" != data:
        message = f"{path.name} was changed after it was written"
        raise ValueError(message)


def _crc32(path: Path) -> int:
    found = 0
    with path.open("rb") as file:
        file.seek(_begin(file.read(_LENGTH)))
        while chunk := file.read(_CHUNK):
            found = zlib.crc32(chunk, found)
    return found


def _begin(content: bytes) -> int:
    return _LENGTH + int.from_bytes(content[:_LENGTH], "little")
