"""The rows of a run, from its shards; for a large run from an index, one file beside the shards with all of their rows.

`index.arrow` is made from the shards and the examples, and is no part of the run: it may be deleted, it is not
exported, and what does not fit the files as they are now is read again from them. It is an Arrow file that is not
packed, so it is mapped into memory, and a text takes memory only once it is used; its checksum follows in 4 bytes. Each
of its batches holds answers, or examples without an answer, in the order of the data set. The metadata of its last
batch say of which run it is, and of each shard the sizes and times of its files. An index that is broken, stale or of
another run is made again; where it cannot be written, it is kept in memory.
"""

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from analysis.runs.files.examples import EXAMPLES, OF_EXAMPLES, ExamplesFile
from analysis.runs.files.shards import UNREADABLE, read_table
from analysis.runs.files.tables import LIGHT
from analysis.runs.job import STATUS, Status, write_status
from analysis.runs.manifest import (
    INDEX,
    Answerer,
    Manifest,
    answers_path,
    extras_path,
    read_manifest,
    stats_of,
    traces_path,
    write_whole,
)
from analysis.typed_json import parsed
from rauq.errors import RunError

INDEXED_FROM = 20_000
"""Examples of a run that has an index; a smaller one is read as a whole."""

_SCHEMA = 2
_ANSWERS, _FAILURES, _SUMMARY = b"answers", b"failures", b"summary"
_KIND, _KEY, _SEEN, _FAULTS = b"kind", b"key", b"seen", b"faults"
_BATCH = 2**16  # answers
_CHECKSUM = 4  # bytes at the end of the file
_TEXT = pa.large_string()  # as pandas keeps texts: nothing is copied
_OF_ROWS = tuple(name for name in LIGHT.names if name not in ("values", "reasons"))
_SHARD, _NUM_ANSWERS, _STAMP = 0, 1, 3  # columns of what was seen of shards; failures stand after answers
_HERE = Path()

_Stamps = Mapping[int, tuple[int, ...]]


@dataclass(frozen=True, eq=False, kw_only=True)
class Rows:
    """The rows of a run's table, as far as its shards are whole.

    `answers` (A rows) and `failures`: the columns of a shard and of the examples. `uncertainties` and `reasons`
    (A x methods). `shards`: number and answers of each that is whole. `faults`: what is wrong with others.
    """

    answers: pd.DataFrame
    uncertainties: pd.DataFrame
    reasons: pd.DataFrame
    failures: pd.DataFrame
    shards: tuple[tuple[int, int], ...]
    faults: tuple[str, ...]


def read_rows(folder: Path, manifest: Manifest, answerer: Answerer, examples: ExamplesFile) -> Rows:
    """The rows of a run from its shards, each of which is compared with its checksums.

    Raises:
        RunError: the examples cannot be read.
    """
    found = _Source(folder, manifest, answerer, examples).read(range(manifest.num_shards), whole=True)
    return _rows(found, manifest, found.faults.values())


def indexed_rows(folder: Path, manifest: Manifest, answerer: Answerer, examples: ExamplesFile) -> Rows:
    """The rows of a run from its index, which is written first where it is missing or stale.

    Checksums of arrays are not compared here, but when a shard's arrays are first read.

    Raises:
        RunError: the examples cannot be read.
    """
    source = _Source(folder, manifest, answerer, examples)
    stamps, found = source.stamps(), source.index()
    if found is None or found.stamps != stamps:
        found = source.built(found, stamps)
    _tell_finished(folder, manifest, found)
    missing = (_missing(folder, manifest, shard) for shard in range(manifest.num_shards) if shard not in stamps)
    return _rows(found, manifest, (*missing, *found.faults.values()))


def has_index(manifest: Manifest) -> bool:
    """Whether a run is so large that it has an index."""
    return manifest.request.count >= INDEXED_FROM


def make_index(folder: Path) -> None:
    """Write the index of a large run, so that it opens at once; a smaller one has none.

    Raises:
        RunError: the manifest or the examples cannot be read.
    """
    manifest = read_manifest(folder)
    if manifest.answerer is not None and has_index(manifest):
        indexed_rows(folder, manifest, manifest.answerer, ExamplesFile(folder))


def compare_once(folder: Path, manifest: Manifest, answerer: Answerer, shard: int) -> None:
    """Compare the files of a shard with their checksums, unless this process has done so since they were written.

    Raises:
        RunError: one of them is broken.
        OSError: one of them is missing.
    """
    times = tuple(path_of(folder, shard).stat().st_mtime_ns for path_of in _paths(manifest))
    _compare(folder, manifest, answerer, shard, times)


@lru_cache(maxsize=2**20)
def _compare(folder: Path, manifest: Manifest, answerer: Answerer, shard: int, times: tuple[int, ...]) -> None:
    del times  # part of the cache key: what was written again is compared again
    read_table(folder, manifest, answerer, shard)


def faults_of(folder: Path) -> Iterator[str]:
    """What is wrong with each shard of a run, by all of its checksums; "" where nothing is.

    Raises:
        RunError: the folder is no run, its manifest is damaged, or no model was loaded for it yet.
    """
    manifest = read_manifest(folder)
    answerer = with_answers(folder, manifest)
    for shard in range(manifest.num_shards):
        try:
            read_table(folder, manifest, answerer, shard)
        except RunError as error:
            yield str(error)
        else:
            yield ""


def with_answers(folder: Path, manifest: Manifest) -> Answerer:
    """The model that answered a run.

    Raises:
        RunError: none was loaded for it yet.
    """
    if manifest.answerer is None:
        message = f"{folder} has no answers yet: its model was never loaded. Resume the run."
        raise RunError(message)
    return manifest.answerer


@dataclass(frozen=True, eq=False)
class _Tables:
    """The answers of some shards, their examples without one, and what was seen of each shard.

    `seen` (S, 3 or more): the shard's number, its answers, its failures; in an index also the size and time of each
    file. `faults`: what is wrong with those shards that are broken, by number; they have no rows.
    """

    answers: pa.Table
    failures: pa.Table
    seen: np.ndarray
    faults: Mapping[int, str]

    @property
    def stamps(self) -> _Stamps:
        """Size and time of the files of each shard, by its number."""
        return {row[_SHARD]: tuple(row[_STAMP:]) for row in self.seen.tolist()}


@dataclass(frozen=True, eq=False)
class _Source:
    """The shards of one run, and its index."""

    folder: Path
    manifest: Manifest
    answerer: Answerer
    examples: ExamplesFile

    @property
    def width(self) -> int:
        """How many numbers are seen of a shard."""
        return _STAMP + 2 * len(_paths(self.manifest))

    @property
    def schema(self) -> pa.Schema:
        """The columns; a method's are named by its place, since its id may be that of another column."""
        places = range(len(self.manifest.request.methods))
        own = [(name, _TEXT if LIGHT.field(name).type == pa.string() else LIGHT.field(name).type) for name in _OF_ROWS]
        asked = [(name, pa.list_(_TEXT) if name == "references" else _TEXT) for name in OF_EXAMPLES]
        methods = [*((_value(i), pa.float64()) for i in places), *((_reason(i), _TEXT) for i in places)]
        return pa.schema([*own, *asked, *methods])

    @property
    def key(self) -> bytes:
        """Of which run the index is: its request and model, and its examples by their size and time."""
        stat = (self.folder / EXAMPLES).stat()
        about = json.dumps([asdict(self.manifest.request), asdict(self.answerer)], default=str).encode()
        return f"{_SCHEMA} {self.manifest.created} {zlib.crc32(about)} {stat.st_size} {stat.st_mtime_ns}".encode()

    def stamps(self) -> _Stamps:
        """Size and time of the files of each shard that has all of them, by its number."""
        stats, paths, found = dict(stats_of(self.folder)), _paths(self.manifest), {}
        for shard in range(self.manifest.num_shards):
            own = [stat for path_of in paths if (stat := stats.get(path_of(_HERE, shard).name))]
            if len(own) == len(paths):
                found[shard] = tuple(value for stat in own for value in (stat.st_size, stat.st_mtime_ns))
        return found

    def read(self, shards: Iterable[int], *, whole: bool) -> _Tables:
        """The rows of some shards from their own tables; `whole`: as in `read_table`."""
        tables, seen, faults = [], [], {}
        for shard in shards:
            try:
                table = read_table(self.folder, self.manifest, self.answerer, shard, whole=whole)
            except RunError as error:
                faults[shard] = str(error)
                seen.append((shard, 0, 0))
                continue
            asked = self.examples.table(self.manifest.numbers(shard)).select(OF_EXAMPLES)
            tables.append(_beside(table, asked))
            answers = pc.sum(pc.equal(table["error"], "")).as_py()
            seen.append((shard, answers, len(table) - answers))
        rows = pa.concat_tables(
            [_beside(LIGHT.empty_table(), self.examples.table(range(0)).select(OF_EXAMPLES)), *tables]
        )
        is_answered = pc.equal(rows["error"], "")
        answered, failed = (self._spread(rows.filter(mask)) for mask in (is_answered, pc.invert(is_answered)))
        return _Tables(answered, failed, np.array(seen, np.int64).reshape(-1, _STAMP), faults)

    def _spread(self, rows: pa.Table) -> pa.Table:
        """The columns of the index: a column for each method, where a shard has a list for each answer."""
        count = len(self.manifest.request.methods)
        values, reasons = (pc.list_flatten(rows[name]) for name in ("values", "reasons"))
        spread = {name: rows[name] for name in (*_OF_ROWS, *OF_EXAMPLES)}
        has_any = len(values) > 0
        for place in range(count):
            own = pa.array(np.arange(place, len(values), count)) if has_any else pa.nulls(len(rows), pa.int64())
            spread |= {_value(place): values.take(own), _reason(place): reasons.take(own)}
        return pa.table({name: spread[name] for name in self.schema.names}).cast(self.schema)

    def index(self) -> _Tables | None:
        """What the index in the folder holds; None where there is none that is whole and of this run."""
        try:
            content = pa.memory_map(str(self.folder / INDEX)).read_buffer()
            content, checksum = content[:-_CHECKSUM], content[-_CHECKSUM:]
            if zlib.crc32(content) != int.from_bytes(checksum, "big"):
                return None
            found = self._opened(content)
            _check_mapped(found, content)
            _check(found, self.manifest)
        except (*UNREADABLE, TypeError, RecursionError):
            return None
        return found

    def built(self, old: _Tables | None, stamps: _Stamps) -> _Tables:
        """Write an index out of the old one and of the shards that it lacks; in memory where no file can be written."""
        with suppress(RunError):  # the folder is read-only, or the disk is full
            write_whole(self.folder / INDEX, lambda path: self._write_file(path, old, stamps))
            if (found := self.index()) is not None and found.stamps == stamps:  # else another process wrote another one
                return found
        content = pa.BufferOutputStream()
        self._write(content, old, stamps)
        return self._opened(content.getvalue())

    def _write_file(self, path: Path, old: _Tables | None, stamps: _Stamps) -> None:
        with pa.OSFile(str(path), "wb") as sink:
            self._write(sink, old, stamps)
        checksum = zlib.crc32(pa.memory_map(str(path)).read_buffer())
        with path.open("ab") as file:
            file.write(checksum.to_bytes(_CHECKSUM, "big"))

    def _write(self, sink: Any, old: _Tables | None, stamps: _Stamps) -> None:  # noqa: ANN401 - pyarrow has no type for it
        seen, faults = [np.zeros((0, self.width), np.int64)], dict[int, str]()
        before, most = {} if old is None else old.stamps, max(1, _BATCH // self.manifest.request.shard_size)
        with pa.ipc.new_file(sink, self.schema) as writer:
            for is_kept, shards in _in_parts(stamps, before, most):
                part = _part_of(old, shards) if old is not None and is_kept else self.read(shards, whole=False)
                for kind, table in ((_ANSWERS, part.answers), (_FAILURES, part.failures)):
                    for batch in table.combine_chunks().to_batches():
                        writer.write_batch(batch, custom_metadata={_KIND: kind})
                seen.append(np.hstack([part.seen[:, :_STAMP], [stamps[shard] for shard in shards]]))
                faults |= part.faults
            about = {_KEY: self.key, _SEEN: np.vstack(seen).astype(np.int64).tobytes(), _FAULTS: json.dumps(faults)}
            empty = pa.RecordBatch.from_pylist([], self.schema)
            writer.write_batch(empty, custom_metadata={_KIND: _SUMMARY, **about})

    def _opened(self, content: pa.Buffer) -> _Tables:
        """What an index holds.

        Raises:
            OSError, pa.ArrowException, ValueError, KeyError, TypeError: it is no index, or that of another run.
        """
        reader, about = pa.ipc.open_file(content), dict[bytes, bytes]()
        parts: dict[bytes, list[pa.RecordBatch]] = {_ANSWERS: [], _FAILURES: [], _SUMMARY: []}
        for place in range(reader.num_record_batches):
            batch, about = reader.get_batch_with_custom_metadata(place)
            parts[about[_KIND]].append(batch)
        if not reader.schema.equals(self.schema) or about[_KIND] != _SUMMARY or about[_KEY] != self.key:
            message = "it is of another run"
            raise ValueError(message)
        answers, failures = (pa.Table.from_batches(parts[kind], self.schema) for kind in (_ANSWERS, _FAILURES))
        seen = np.frombuffer(about[_SEEN], np.int64).reshape(-1, self.width)
        return _Tables(answers, failures, seen, parsed(dict[int, str], about[_FAULTS]))


def _tell_finished(folder: Path, manifest: Manifest, found: _Tables) -> None:
    """Write that a run is finished if nothing says so yet: a list of runs then need not count its failures."""
    answers, failures = found.seen[:, _NUM_ANSWERS:_STAMP].sum(axis=0).tolist()
    total = manifest.request.count
    if answers + failures == total and not (folder / STATUS).exists():
        with suppress(RunError):  # the folder is read-only
            write_status(folder, Status(state="finished", total=total, saved=total, failed=failures))


def _paths(manifest: Manifest) -> tuple[Callable[[Path, int], Path], ...]:
    """Where the files of a shard are."""
    return (answers_path, traces_path, *([extras_path] if manifest.request.keep else []))


def _missing(folder: Path, manifest: Manifest, shard: int) -> str:
    numbers = manifest.numbers(shard)
    span = f"The answers {numbers.start} to {numbers.stop - 1} are"
    lost = " left out, since their attention is missing" if answers_path(folder, shard).exists() else " missing"
    return f"{span}{lost}: resume the run to compute them."


def _beside(rows: pa.Table, asked: pa.Table) -> pa.Table:
    return pa.table(dict(zip([*rows.column_names, *asked.column_names], [*rows.columns, *asked.columns], strict=True)))


def _part_of(index: _Tables, shards: Sequence[int]) -> _Tables:
    """The rows of some of its shards."""
    places = np.searchsorted(index.seen[:, _SHARD], shards)
    ends = np.cumsum(index.seen[:, _NUM_ANSWERS:_STAMP], axis=0)[places]
    sizes = index.seen[places, _NUM_ANSWERS:_STAMP]
    answers, failures = (
        pa.concat_tables([table.slice(stop - size, size) for stop, size in zip(ends[:, at], sizes[:, at], strict=True)])
        for at, table in enumerate((index.answers, index.failures))
    )
    faults = {shard: index.faults[shard] for shard in shards if shard in index.faults}
    return _Tables(answers, failures, index.seen[places], faults)


def _in_parts(stamps: _Stamps, old: _Stamps, most: int) -> Iterator[tuple[bool, list[int]]]:
    """The shards in order, up to `most` at a time, and whether the old index has all of them or none."""
    for is_kept, run in groupby(stamps, key=lambda shard: old.get(shard) == stamps[shard]):
        while part := list(islice(run, most)):
            yield is_kept, part


def _check_mapped(found: _Tables, content: pa.Buffer) -> None:
    """See that nothing of an index was unpacked: what is small on the disk must not be large in memory.

    Raises:
        ValueError: it is packed.
    """
    begin, end = content.address, content.address + content.size
    for table in (found.answers, found.failures):
        for chunk in (chunk for column in table.columns for chunk in column.chunks):
            if any(own.size and not begin <= own.address < end for own in chunk.buffers() if own is not None):
                message = "it is packed"
                raise ValueError(message)


def _check(found: _Tables, manifest: Manifest) -> None:
    """Check that an index can be that of a run, so that damage is found here and not by a page.

    Raises:
        pa.ArrowException, ValueError: it is damaged.
    """
    shards = found.seen[:, _SHARD]
    _check_ascending(shards, manifest.num_shards)
    rows = np.zeros(manifest.num_shards, np.int64)
    for table, in_shards in zip((found.answers, found.failures), found.seen.T[_NUM_ANSWERS:_STAMP], strict=True):
        table.validate(full=True)
        numbers = table["number"].to_numpy()
        _check_ascending(numbers, manifest.request.count)
        counts = np.bincount(numbers // manifest.request.shard_size, minlength=manifest.num_shards)
        if not np.array_equal(counts[shards], in_shards) or len(table) != in_shards.sum():
            message = "its rows are not those of its shards"
            raise ValueError(message)
        rows += counts
    whole = [0 if shard in found.faults else len(manifest.numbers(shard)) for shard in shards.tolist()]
    start, stop, length = (found.answers[name].to_numpy() for name in ("thinking_start", "thinking_stop", "num_tokens"))
    has_spans = ((start == 0) & (stop == 0)) | ((start >= 0) & (start < stop) & (stop <= length))
    lacks_something = any(column.null_count for column in found.answers.columns)
    if rows[shards].tolist() != whole or lacks_something or not (has_spans & (length >= 1)).all():
        message = "its answers are not those of whole shards"
        raise ValueError(message)


def _check_ascending(numbers: np.ndarray, most: int) -> None:
    if (np.diff(numbers) <= 0).any() or (numbers.size and not 0 <= numbers[0] <= numbers[-1] < most):
        message = "it has other numbers than the run"
        raise ValueError(message)


def _rows(found: _Tables, manifest: Manifest, faults: Iterable[str]) -> Rows:
    ids = manifest.request.methods
    return Rows(
        answers=_frame(found.answers, {name: name for name in (*_OF_ROWS, *OF_EXAMPLES)}),
        uncertainties=_frame(found.answers, {_value(place): method for place, method in enumerate(ids)}),
        reasons=_frame(found.answers, {_reason(place): method for place, method in enumerate(ids)}),
        failures=_frame(found.failures, {name: name for name in ("number", "id", "prompt", "error")}),
        shards=tuple(
            (row[_SHARD], row[_NUM_ANSWERS]) for row in found.seen.tolist() if row[_SHARD] not in found.faults
        ),
        faults=tuple(faults),
    )


def _frame(table: pa.Table, names: Mapping[str, str]) -> pd.DataFrame:
    """Some columns of a table, under new names; texts stay where they are."""
    return pd.DataFrame({new: _series(table[name]) for name, new in names.items()}, index=range(len(table)), copy=False)


def _series(column: pa.ChunkedArray) -> Any:  # noqa: ANN401 - an array of numpy or of pandas
    if column.type == _TEXT:
        return pd.arrays.ArrowStringArray(column, dtype=pd.StringDtype("pyarrow", na_value=np.nan))
    return pd.arrays.ArrowExtensionArray(column) if pa.types.is_list(column.type) else column.to_numpy()


def _value(place: int) -> str:
    return f"value {place}"


def _reason(place: int) -> str:
    return f"reason {place}"
