"""The index of a large run: one file beside its shards, with all that lists and tables need of each answer.

`index.arrow` is made from the shards and the examples, and is no part of the run: it may be deleted, it is not
exported, and whatever does not fit the files as they are now is read again from them. It is an Arrow file, not packed,
so that it is mapped into memory, and a text takes memory only once it is looked at. Each of its batches holds answers,
or examples without an answer, in the order of the data set. Its metadata say of which run it is, and of each shard the
sizes and times of its files. An index that is broken, stale or of another run is made anew; where it cannot be written,
the run opens without one.
"""

import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from analysis.runs.create import EXAMPLES, OF_EXAMPLES, ExamplesFile
from analysis.runs.manifest import INDEX, Answerer, Manifest, read_manifest, stats_of
from analysis.runs.shard import LIGHT, UNREADABLE, answers_path, extras_path, read_light, traces_path
from rauq.errors import RunError

INDEXED_FROM = 20_000
"""Examples of a run that has an index; a smaller one is read as a whole."""

_SCHEMA = 1
_ANSWERS, _FAILURES, _SUMMARY = b"answers", b"failures", b"summary"
_KIND, _KEY, _SEEN, _FAULTS = b"kind", b"key", b"seen", b"faults"
_BATCH = 2**16  # answers
_TEXT = pa.large_string()  # as pandas keeps texts: nothing is copied
_OF_ROWS = tuple(name for name in LIGHT.names if name not in ("values", "reasons"))
_SHARD, _NUM_ANSWERS, _NUM_FAILURES, _STAMP = 0, 1, 2, 3  # columns of what was seen of shards

_Stamps = Mapping[int, tuple[int, ...]]

OnProgress = Callable[[int, int], None]
"""Called with the number of shards that were read, and of all."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Rows:
    """The rows of a run's table, as far as its shards are whole.

    `answers` (A rows) and `failures`: the columns of a shard and of the examples. `uncertainties` and `reasons`
    (A x methods).
    `shards`: number and answers of each that is whole. `faults`: what is wrong with others.
    """

    answers: pd.DataFrame
    uncertainties: pd.DataFrame
    reasons: pd.DataFrame
    failures: pd.DataFrame
    shards: tuple[tuple[int, int], ...]
    faults: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Index:
    """An index that was read: its answers, the examples without one, and what was seen of each shard.

    `seen` (S, 3 + 2 files): the shard's number, its answers, its failures, and the size and time of each file.
    `faults`: what is wrong with those shards that are broken, by number; they have no rows.
    """

    answers: pa.Table
    failures: pa.Table
    seen: np.ndarray
    faults: Mapping[int, str]

    @property
    def stamps(self) -> _Stamps:
        """Size and time of the files of each shard, by its number."""
        return {row[_SHARD]: tuple(row[_STAMP:]) for row in self.seen.tolist()}


def indexed_rows(
    folder: Path, manifest: Manifest, answerer: Answerer, *, on_progress: OnProgress = lambda _done, _total: None
) -> Rows:
    """The rows of a run from its index, which is written first where it is missing or stale.

    Checksums of arrays are not compared here, but whenever a shard's arrays are read.

    Raises:
        RunError: the examples cannot be read.
    """
    work = _Work(folder, manifest, answerer, ExamplesFile(folder))
    stamps, found = work.stamps(), work.read()
    if found is None or found.stamps != stamps:
        found = work.built(found, stamps, on_progress)
    missing = (_missing(folder, manifest, shard) for shard in range(manifest.num_shards) if shard not in stamps)
    return _rows(found, manifest, (*missing, *found.faults.values()))


def make_index(folder: Path) -> None:
    """Write the index of a large run, so that it opens at once; a smaller one has none.

    Raises:
        RunError: the manifest or the examples cannot be read.
    """
    manifest = read_manifest(folder)
    if manifest.answerer is not None and manifest.request.count >= INDEXED_FROM:
        indexed_rows(folder, manifest, manifest.answerer)


def _missing(folder: Path, manifest: Manifest, shard: int) -> str:
    numbers = manifest.numbers(shard)
    span = f"The answers {numbers.start} to {numbers.stop - 1} are"
    lost = " left out, since their attention is missing" if answers_path(folder, shard).exists() else " missing"
    return f"{span}{lost}: resume the run to compute them."


@dataclass(frozen=True, eq=False)
class _Work:
    """What reads and writes the index of one run."""

    folder: Path
    manifest: Manifest
    answerer: Answerer
    examples: ExamplesFile

    @property
    def paths(self) -> tuple[Callable[[Path, int], Path], ...]:
        """Where the files of a shard are."""
        return (answers_path, traces_path, *([extras_path] if self.manifest.request.keep else []))

    @property
    def width(self) -> int:
        """How many numbers are seen of a shard."""
        return _STAMP + 2 * len(self.paths)

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
        stats, found = dict(stats_of(self.folder)), {}
        names = [path_of(Path(), 0).name.split("00000") for path_of in self.paths]  # a path each would take seconds
        for shard in range(self.manifest.num_shards):
            own = [stats[name] for first, last in names if (name := f"{first}{shard:05}{last}") in stats]
            if len(own) == len(names):
                found[shard] = tuple(value for stat in own for value in (stat.st_size, stat.st_mtime_ns))
        return found

    def read(self) -> _Index | None:
        """The index in the folder; None where there is none that is whole and of this run."""
        try:
            source = pa.memory_map(str(self.folder / INDEX))
            found = _opened(source, self.schema, self.key, self.width)
            _check_mapped(found, source)
            _check(found, self.manifest)
        except (*UNREADABLE, TypeError, RecursionError):
            return None
        return found

    def built(self, old: _Index | None, stamps: _Stamps, on_progress: OnProgress) -> _Index:
        """Write an index out of the old one and of the shards that it lacks; in memory where no file can be written."""
        try:
            with TemporaryDirectory(dir=self.folder, prefix=f".{INDEX}.", suffix=".tmp") as place:
                temporary = Path(place) / INDEX
                with pa.OSFile(str(temporary), "wb") as sink:
                    self._write(sink, old, stamps, on_progress)
                temporary.replace(self.folder / INDEX)
            return _opened(pa.memory_map(str(self.folder / INDEX)), self.schema, self.key, self.width)
        except (OSError, ValueError):  # the folder is read-only, the disk is full, or another process wrote another one
            written = pa.BufferOutputStream()
            self._write(written, old, stamps, on_progress)
            return _opened(pa.BufferReader(written.getvalue()), self.schema, self.key, self.width)

    def _write(self, sink: Any, old: _Index | None, stamps: _Stamps, on_progress: OnProgress) -> None:  # noqa: ANN401 - pyarrow has no type for it
        seen, faults = [self._nothing_seen()], dict[int, str]()
        before, most = {} if old is None else old.stamps, max(1, _BATCH // self.manifest.request.shard_size)
        with pa.ipc.new_file(sink, self.schema) as writer:
            for is_kept, shards in _in_parts(stamps, before, most):
                part = _part_of(old, shards) if old is not None and is_kept else self._read_part(shards)
                for kind, table in ((_ANSWERS, part.answers), (_FAILURES, part.failures)):
                    for batch in table.cast(self.schema).combine_chunks().to_batches():
                        writer.write_batch(batch, custom_metadata={_KIND: kind})
                seen.append(np.hstack([part.seen[:, :_STAMP], [stamps[shard] for shard in shards]]))
                faults |= part.faults
                on_progress(sum(map(len, seen)), len(stamps))
            about = {_KEY: self.key, _SEEN: np.vstack(seen).astype(np.int64).tobytes(), _FAULTS: json.dumps(faults)}
            writer.write_batch(_empty(self.schema), custom_metadata={_KIND: _SUMMARY, **about})

    def _nothing_seen(self) -> np.ndarray:
        return np.zeros((0, self.width), np.int64)

    def _read_part(self, shards: Sequence[int]) -> _Index:
        """The rows of some shards from their own tables."""
        tables, seen, faults = [], [], {}
        for shard in shards:
            try:
                table = read_light(self.folder, self.manifest, self.answerer, shard, whole=False)
            except RunError as error:
                faults[shard] = str(error)
                seen.append((shard, 0, 0))
                continue
            asked = self.examples.table(self.manifest.numbers(shard)).select(OF_EXAMPLES)
            tables.append(_beside(table, asked))
            failed = len(table) - pc.sum(pc.equal(table["error"], "")).as_py()
            seen.append((shard, len(table) - failed, failed))
        rows = pa.concat_tables(tables) if tables else self._no_rows()
        is_answered = pc.equal(rows["error"], "")
        parts = (self._spread(rows.filter(mask)) for mask in (is_answered, pc.invert(is_answered)))
        return _Index(*parts, np.array(seen, np.int64), faults)

    def _no_rows(self) -> pa.Table:
        return _beside(LIGHT.empty_table(), self.schema.empty_table().select(OF_EXAMPLES))

    def _spread(self, rows: pa.Table) -> pa.Table:
        """The columns of the index: a column for each method, where a shard has a list for each answer."""
        count = len(self.manifest.request.methods)
        values, reasons = (pc.list_flatten(rows[name]) for name in ("values", "reasons"))
        spread = {name: rows[name] for name in (*_OF_ROWS, *OF_EXAMPLES)}
        has_any = len(values) > 0
        for place in range(count):
            own = pa.array(np.arange(place, len(values), count)) if has_any else pa.nulls(len(rows), pa.int64())
            spread |= {_value(place): values.take(own), _reason(place): reasons.take(own)}
        return pa.table({name: spread[name] for name in self.schema.names})


def _beside(rows: pa.Table, asked: pa.Table) -> pa.Table:
    return pa.table(dict(zip([*rows.column_names, *asked.column_names], [*rows.columns, *asked.columns], strict=True)))


def _part_of(index: _Index, shards: Sequence[int]) -> _Index:
    """The rows of some of its shards."""
    places = np.searchsorted(index.seen[:, _SHARD], shards)
    ends = np.cumsum(index.seen[:, _NUM_ANSWERS:_STAMP], axis=0)[places]
    sizes = index.seen[places, _NUM_ANSWERS:_STAMP]
    answers, failures = (
        pa.concat_tables([table.slice(stop - size, size) for stop, size in zip(ends[:, at], sizes[:, at], strict=True)])
        for at, table in enumerate((index.answers, index.failures))
    )
    faults = {shard: index.faults[shard] for shard in shards if shard in index.faults}
    return _Index(answers, failures, index.seen[places], faults)


def _in_parts(stamps: _Stamps, old: _Stamps, most: int) -> Iterator[tuple[bool, list[int]]]:
    """The shards in order, up to `most` at a time, and whether the old index has all of them or none."""
    for is_kept, run in groupby(stamps, key=lambda shard: old.get(shard) == stamps[shard]):
        while part := list(islice(run, most)):
            yield is_kept, part


def _opened(source: Any, schema: pa.Schema, key: bytes, width: int) -> _Index:  # noqa: ANN401 - pyarrow has no type for it
    """What a file holds.

    Raises:
        OSError, pa.ArrowException, ValueError, KeyError: it is no index, or that of another run.
    """
    reader, about = pa.ipc.open_file(source), dict[bytes, bytes]()
    if not reader.schema.equals(schema):
        message = "its columns are those of another run"
        raise ValueError(message)
    parts: dict[bytes, list[pa.RecordBatch]] = {_ANSWERS: [], _FAILURES: [], _SUMMARY: []}
    for place in range(reader.num_record_batches):
        batch, about = reader.get_batch_with_custom_metadata(place)
        parts[about[_KIND]].append(batch)
    if about[_KIND] != _SUMMARY or about[_KEY] != key:
        message = "it is of another run"
        raise ValueError(message)
    answers, failures = (pa.Table.from_batches(parts[kind], schema) for kind in (_ANSWERS, _FAILURES))
    faults = {int(shard): str(fault) for shard, fault in json.loads(about[_FAULTS]).items()}
    return _Index(answers, failures, np.frombuffer(about[_SEEN], np.int64).reshape(-1, width), faults)


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema)


def _check_mapped(found: _Index, source: Any) -> None:  # noqa: ANN401 - pyarrow has no type for it
    """See that nothing of an index was unpacked: what is small on the disk must not be large in memory.

    Raises:
        ValueError: it is packed.
    """
    source.seek(0)
    begin, size = source.read_buffer().address, source.size()
    for table in (found.answers, found.failures):
        for chunk in (chunk for column in table.columns for chunk in column.chunks):
            if any(own.size and not begin <= own.address < begin + size for own in chunk.buffers() if own is not None):
                message = "it is packed"
                raise ValueError(message)


def _check(found: _Index, manifest: Manifest) -> None:
    """See that an index can be the one of a run: what is wrong with it must not be found out by a page.

    Raises:
        pa.ArrowException, ValueError: it is damaged.
    """
    counts = []
    for table, in_shards in zip((found.answers, found.failures), found.seen.T[_NUM_ANSWERS:_STAMP], strict=True):
        table.validate(full=True)
        numbers = table["number"].to_numpy()
        counts.append(np.bincount(numbers // manifest.request.shard_size, minlength=manifest.num_shards))
        fits = np.array_equal(counts[-1][found.seen[:, _SHARD]], in_shards) and len(table) == in_shards.sum()
        if not fits or (np.diff(numbers) <= 0).any() or len(counts[-1]) > manifest.num_shards:
            message = "its rows are not those of its shards"
            raise ValueError(message)
    whole = np.array([len(manifest.numbers(shard)) for shard in found.seen[:, _SHARD].tolist()])
    read = ~np.isin(found.seen[:, _SHARD], list(found.faults))
    if (np.diff(found.seen[:, _SHARD]) <= 0).any() or (sum(counts)[found.seen[:, _SHARD]] != whole * read).any():
        message = "its shards are not those of the run"
        raise ValueError(message)
    start, stop, length = (found.answers[name].to_numpy() for name in ("thinking_start", "thinking_stop", "num_tokens"))
    if not (((start == 0) & (stop == 0)) | ((start >= 0) & (start < stop) & (stop <= length)) & (length >= 1)).all():
        message = "it has an answer without a token, or whose thinking span is outside the answer"
        raise ValueError(message)
    if any(column.null_count for column in found.answers.columns) or not _is_all(found.answers["error"], ""):
        message = "it has an answer that lacks something"
        raise ValueError(message)


def _is_all(column: pa.ChunkedArray, text: str) -> bool:
    return bool(pc.all(pc.equal(column, text), min_count=0).as_py())


def _rows(found: _Index, manifest: Manifest, faults: tuple[str, ...]) -> Rows:
    ids = manifest.request.methods
    return Rows(
        answers=_frame(found.answers, {name: name for name in (*_OF_ROWS, *OF_EXAMPLES)}),
        uncertainties=_frame(found.answers, {_value(place): method for place, method in enumerate(ids)}),
        reasons=_frame(found.answers, {_reason(place): method for place, method in enumerate(ids)}),
        failures=_frame(found.failures, {name: name for name in ("number", "id", "prompt", "error")}),
        shards=tuple(
            (row[_SHARD], row[_NUM_ANSWERS]) for row in found.seen.tolist() if row[_SHARD] not in found.faults
        ),
        faults=faults,
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
