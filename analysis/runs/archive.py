"""A run as one zip archive, for another machine; what comes in is bounded, and validated to the last number."""

import os
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import groupby, product
from os import SEEK_END
from pathlib import Path
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
import pyarrow.parquet as pq

from analysis.answer_sets.heads import NO_HEAD
from analysis.datasets.example import Example
from analysis.datasets.formats.parquet import check_decoded
from analysis.runs.attention import TokenChoice, means, picks
from analysis.runs.files import corrections
from analysis.runs.files.arrays import ALIGNMENTS, OFFSETS
from analysis.runs.files.examples import EXAMPLES, ExamplesFile, check_examples
from analysis.runs.files.shards import UNREADABLE
from analysis.runs.files.tables import ADDED, LIGHT
from analysis.runs.job import read_status, write_status
from analysis.runs.library import folder_of
from analysis.runs.manifest import (
    CORRECTIONS,
    LARGEST_MANIFEST,
    LONGEST_REASON,
    MANIFEST,
    MOST_EXAMPLES,
    QUESTIONS_APART,
    TIMINGS,
    added_path,
    answers_path,
    cannot_write,
    extras_path,
    is_exported,
    read_manifest,
    traces_path,
    write_whole,
)
from analysis.runs.opened import Run, Shard, open_run, part_of
from analysis.runs.traces import facts_in, traces_in
from rauq.arguments import OnProgress
from rauq.errors import InvalidInput, RunError
from rauq.labels import size
from rauq.trace.file import faults
from rauq.trace.parts import answer_text
from rauq.trace.trace import Trace

LARGEST_GROWTH = 8 * 2**30  # bytes to which an archive may unpack beyond its own size
MOST_FILES, LEAST_FILE = 20_000, 4096  # files of any archive, and one more for so many bytes of a large one

_TOGETHER = 20_000  # answers, whose weights are looked at together
_TEXTS = 8  # of an example: prompt, question, source, answer, references
_CORRECTION, _TIMES = 200, 4096  # bytes of a file for each example, generously
_HEADER = 64 * 2**10  # bytes of what a file of arrays says of itself
_LENGTH = 8  # bytes at its start, which say how long that is
_ROUNDING = 1e-2  # half precision may overstep a bound by this much
_CHOICES: tuple[TokenChoice, ...] = ("all", "fact")


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """The most that an archive from elsewhere may hold.

    `unpacked`: bytes of all `files`, and of all tables once they are decoded; `rows` of examples, whose prompts and
    answers have at most `characters` each.
    """

    unpacked: int = LARGEST_GROWTH
    files: int = MOST_FILES
    rows: int = MOST_EXAMPLES
    characters: int = sys.maxsize

    @property
    def together(self) -> int:
        """Bytes of one table, packed or decoded, and of what is read of all tables at once, decoded."""
        return min(self.unpacked, _TEXTS * self.rows * self.characters)

    def of_file(self, name: str) -> int:
        """Bytes of the file of this name, by its role."""
        if name.endswith(".parquet"):
            return self.together
        small = {
            MANIFEST: LARGEST_MANIFEST,
            CORRECTIONS: min(corrections.LARGEST, _CORRECTION * (self.rows + 1)),
            TIMINGS: _TIMES * (self.rows + 1),
            QUESTIONS_APART: 0,
        }
        return small.get(name, self.unpacked)


_OWN = Bounds()


def bounds_of(archive: IO[bytes]) -> Bounds:
    """The bounds for an archive that the user of this machine gives, which grow with its size."""
    packed = archive.seek(0, SEEK_END)
    archive.seek(0)
    return Bounds(unpacked=LARGEST_GROWTH + packed, files=MOST_FILES + packed // LEAST_FILE)


def validate(folder: Path, *, bounds: Bounds = _OWN, on_progress: OnProgress | None = None) -> None:
    """Check the files of a run: every file is complete, every number is possible, and nothing is beyond the bounds.

    Shards may be missing, as they are before a run is finished.

    Raises:
        RunError: the first thing that is wrong.
    """
    manifest = read_manifest(folder)
    _check_most("rows", manifest.request.count, bounds.rows)
    shards = [number for number in range(manifest.num_shards) if answers_path(folder, number).exists()]
    sizes = {folder / EXAMPLES: manifest.request.count}
    sizes |= {answers_path(folder, number): len(manifest.numbers(number)) for number in shards}
    sizes |= {added_path(folder, method): manifest.request.count for method in manifest.added_methods}
    for path_of in (traces_path, extras_path):
        _refuse(fault for number in shards for fault in _header_faults(path_of(folder, number)))
    unnamed = () if manifest.request.keep else folder.glob("extras-*")
    _refuse(f"it holds {path.name}, and its manifest keeps no extras" for path in unnamed)
    _refuse(_size_faults(sizes, bounds))
    examples = ExamplesFile(folder)
    _check_texts(examples, bounds.characters)
    check_examples(folder, manifest, examples)
    if manifest.answerer is not None:
        run = open_run(folder)
        whole = {shard.number for shard in run.shards}
        _refuse(f"shard {number} is broken" for number in shards if number not in whole)
        _refuse(f"the method {name} cannot be read" for name in manifest.added_methods if name not in run.reasons)
        for done, shard in enumerate(run.shards, 1):
            _refuse(_shard_faults(run, shard))
            if on_progress is not None:
                on_progress(done, len(run.shards))
        _refuse(_uncertainty_faults(run))
        for part in _parts(run):
            _refuse(_mean_faults(part))
            _refuse(_pick_faults(part))


def _parts(run: Run) -> Iterator[Run]:
    """The run in parts of successive shards, whose weights fit into memory."""
    for _, shards in groupby(run.shards, key=lambda shard: shard.start // _TOGETHER):
        yield part_of(run, tuple(shards))


def _check_texts(examples: Iterable[Example], characters: int) -> None:
    for example in examples:
        _check_most("characters of a prompt", len(example.conversation or example.prompt), characters)
        _check_most("characters of an answer", len(example.answer or ""), characters)


def _check_most(what: str, number: int, most: int) -> None:
    if number > most:
        message = f"This run has {number:,} {what}; at most {most:,} are allowed here. Give a smaller run."
        raise RunError(message)


def _refuse(faults_found: Iterator[str]) -> None:
    if fault := next(faults_found, None):
        message = f"This run is damaged: {fault}. Export it again from an intact copy."
        raise RunError(message)


def _size_faults(sizes: Mapping[Path, int], bounds: Bounds) -> Iterator[str]:
    """A small table may unpack to a large one: how large is counted before it is read."""
    left, left_together = bounds.unpacked, bounds.together
    for path, num_rows in sizes.items():
        try:
            if (found := pq.read_metadata(path).num_rows) != num_rows:
                yield f"{path.name} has {found:,} rows, not {num_rows:,}"
                return
            left -= check_decoded(path, most=min(left, bounds.together))
            left_together -= check_decoded(path, most=left_together, columns=[*LIGHT.names, *ADDED.names])
        except UNREADABLE as error:
            yield f"{path.name} cannot be read ({error})"
            return


def _header_faults(path: Path) -> Iterator[str]:
    """What the file of a shard's arrays says of itself is parsed whenever one of them is read."""
    with suppress(OSError), path.open("rb") as file:  # without the file, the shard is broken
        if int.from_bytes(file.read(_LENGTH), "little") > _HEADER:
            yield f"{path.name} has a header of more than {_HEADER:,} bytes"


def _shard_faults(run: Run, shard: Shard) -> Iterator[str]:
    rows = run.answers.iloc[shard.start : shard.start + shard.size]
    for row, trace, fact in zip(rows.itertuples(), traces_in(run, shard), facts_in(run, shard), strict=True):
        yield from (f"answer {row.number}: {fault}" for fault in _answer_faults(row, trace, fact))


def _answer_faults(row: Any, trace: Trace, fact: np.ndarray) -> Iterator[str]:  # noqa: ANN401 - a named row of a table
    yield from faults(vars(trace))
    if len(trace.answer_ids) != row.num_tokens or answer_text(trace) != row.answer:
        yield "its tokens differ from those of the table"
    if fact.sum() != row.num_fact_tokens:
        yield "its fact tokens differ from those of the table"
    if np.isinf(row.quality):
        yield "its quality is infinite"


def _uncertainty_faults(run: Run) -> Iterator[str]:
    """A number is finite, and what is undefined has a reason that can be read."""
    values, reasons = run.answers[list(run.reasons)], run.reasons
    if np.isinf(values.to_numpy()).any():
        yield "an uncertainty is infinite"
    if reasons.isna().any(axis=None) or (values.isna() != (reasons != "")).any(axis=None):
        yield "an uncertainty is undefined without a reason, or has one and is defined"
    elif reasons.size and reasons.map(len).max(axis=None) > LONGEST_REASON:
        yield f"the reason for an undefined uncertainty has more than {LONGEST_REASON:,} characters"


def _mean_faults(run: Run) -> Iterator[str]:
    for alignment, offset, tokens in product(ALIGNMENTS, OFFSETS, _CHOICES):
        found = means(run, alignment, tokens=tokens, offset=offset)
        if np.any((found < -_ROUNDING) | (found > 1 + _ROUNDING)):
            yield f"a mean attention is outside 0 to 1 (alignment {alignment}, offset {offset})"


def _pick_faults(run: Run) -> Iterator[str]:
    for alignment in ALIGNMENTS:
        heads = picks(run, alignment).heads
        if np.any((heads < NO_HEAD) | (heads >= run.answerer.num_heads)):
            yield f"a selected head is not one of the {run.answerer.num_heads} of its layer (alignment {alignment})"


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
        _pack(folder, archive)
    except RunError:
        archive.close()
        raise
    archive.seek(0)
    return archive


def write_zip(folder: Path, path: Path) -> None:
    """Write what `export_zip` gives into a new file, whole or not at all.

    Raises:
        InvalidInput: the file exists.
        RunError: as in `export_zip`.
    """
    read_manifest(folder)
    if os.path.lexists(path):
        message = f"{path} exists. Give a new path, or delete it first."
        raise InvalidInput(message)

    def pack(part: Path) -> None:
        with part.open("wb") as archive:
            _pack(folder, archive)

    write_whole(path, pack)


def _pack(folder: Path, archive: IO[bytes]) -> None:
    try:
        with ZipFile(archive, "w", ZIP_STORED) as files:
            for path in sorted(path for path in folder.iterdir() if is_exported(path.name)):
                with path.open("rb") as source, files.open(ZipInfo(path.name), "w", force_zip64=True) as target:
                    shutil.copyfileobj(source, target, _BLOCK)
    except OSError as error:
        message = (
            f"{folder} cannot be exported ({error.strerror or error}). Free disk space for the archive, and try again."
        )
        raise RunError(message) from error


def import_zip(archive: IO[bytes], root: Path, name: str, *, on_progress: OnProgress | None = None) -> Path:
    """Unpack a run that `export_zip` packed, and return its folder; it is there once all of it was looked through.

    `on_progress` is told how many of its shards were.

    Raises:
        InvalidInput: no run can have this name.
        RunError: the name is taken, this is no archive of a run, it is damaged or too large, or the disk is full.
    """
    fill = partial(unpack, archive, bounds=bounds_of(archive), on_progress=on_progress)
    return place_run(root, name, fill)


def place_run(root: Path, name: str, fill: Callable[[Path], object]) -> Path:
    """Let `fill` write a run into a new folder, and return the folder under its name; without a run there is none.

    Raises:
        InvalidInput: no run can have this name.
        RunError: the name is taken, or the disk is full.
    """
    target = folder_of(name, root)
    if target.exists():
        message = f"A run {name} already exists. Give another name, or delete that run first."
        raise RunError(message)
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root, prefix=".importing-") as folder:
            filled = Path(folder) / name
            filled.mkdir()
            fill(filled)
            write_status(filled, read_status(filled))  # so that a list of runs need not count its failures
            filled.rename(target)
    except OSError as error:
        raise cannot_write(target, error) from error
    return target


def unpack(archive: IO[bytes], folder: Path, *, bounds: Bounds = _OWN, on_progress: OnProgress | None = None) -> None:
    """Unpack an archive into the folder of a run, and check all of it.

    Raises:
        RunError: this is no archive of a run, it is damaged, or it is beyond the bounds.
        OSError: the files cannot be written.
    """
    try:
        with ZipFile(archive) as files:
            entries = files.infolist()
            _check_entries(entries, bounds)
            for entry in entries:
                # zipfile reads no more of an entry than it says to hold, and compares its checksum
                with files.open(entry) as source, (folder / entry.filename).open("xb") as target:
                    shutil.copyfileobj(source, target, _BLOCK)
    except (BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError, zlib.error) as error:
        message = f"This is not an archive of a run, or it is damaged ({error}). Export the run again."
        raise RunError(message) from error
    validate(folder, bounds=bounds, on_progress=on_progress)


def _check_entries(entries: list[ZipInfo], bounds: Bounds) -> None:
    """Refuse by what the archive says of itself; what it does not say shows while it is unpacked."""
    names = [entry.filename for entry in entries]
    foreign = [entry.filename for entry in entries if not _is_plain_file(entry)]
    unpacked, packed = (sum(getattr(entry, name) for entry in entries) for name in ("file_size", "compress_size"))
    large = [entry for entry in entries if entry.file_size > bounds.of_file(entry.filename)]
    if foreign:
        reason = f"it holds {_named(foreign[0])}, which is not a file of a run"
    elif MANIFEST not in names:
        reason = f"it has no {MANIFEST}"
    elif len(set(names)) < len(names) or len(names) > bounds.files:
        reason = f"it has {len(names):,} files, some of one name, or more than {bounds.files:,}"
    elif large:
        most = size(bounds.of_file(large[0].filename))
        reason = f"its {large[0].filename} unpacks to {size(large[0].file_size)}, and at most {most} are allowed"
    elif unpacked > min(bounds.unpacked, _MOST_TIMES * (packed + _BLOCK)):
        reason = f"it unpacks from {size(packed)} to {size(unpacked)}"
    else:
        return
    message = f"This archive is not unpacked: {reason}. Give an unchanged archive exported by this app."
    raise RunError(message)


def _named(name: str) -> str:
    return repr(name[:80]) if name else "a file without a name"


def _is_plain_file(entry: ZipInfo) -> bool:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    return (
        is_exported(entry.filename)
        and kind in (0, stat.S_IFREG)
        and not entry.flag_bits & _ENCRYPTED
        and entry.compress_type in (ZIP_STORED, ZIP_DEFLATED)
    )
