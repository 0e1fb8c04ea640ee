"""The index of a large run: it says what the shards say, and is never believed where it cannot be so."""

import os
import shutil
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import load_file, save_file

from analysis.cli.main import main
from analysis.report.export import jsonl_bytes, parquet_bytes
from analysis.runs.archive import export_zip, import_zip
from analysis.runs.attention import means
from analysis.runs.files import index as indexes
from analysis.runs.files.examples import write_examples
from analysis.runs.job import STATUS, read_status, write_status
from analysis.runs.manifest import INDEX, answers_path, cannot_write, is_exported, is_of_run, traces_path, write_whole
from analysis.runs.opened import about_sample, open_run, part_of, sampled
from analysis.runs.traces import trace
from analysis.runs.verdicts import correct_verdict
from analysis.runs.work import work
from rauq.errors import RunError
from tests.analysis.report.made_run import made_run

LENGTHS = (3, 5, 1, 7, 2, 4, 3, 1, 4, 2, 5, 5) * 4


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A run of several shards."""
    quality = np.where(np.arange(len(LENGTHS)) % 7, np.arange(len(LENGTHS)) % 2, np.nan).astype(float)
    folder = tmp_path_factory.mktemp("runs") / "run"
    return made_run(folder, quality=quality, lengths=LENGTHS, failures=3, references=("a", "b"), shard_size=10).folder


@pytest.fixture
def folder(written, tmp_path):
    """A copy of it, of which the times of files are those of the original."""
    return shutil.copytree(written, tmp_path / "run")


def indexed(folder):
    """The run, opened as if it were large."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexes, "INDEXED_FROM", 1)
        return open_run(folder)


def assert_same(found, expected):
    assert list(found.answers) == list(expected.answers)
    for name in expected.answers:
        pairs = zip(*(map(_listed, run.answers[name]) for run in (found, expected)), strict=True)
        assert all(one == other or (one != one and other != other) for one, other in pairs), name  # noqa: PLR0124 - nan
    assert found.reasons.equals(expected.reasons)
    assert found.failures.equals(expected.failures)
    assert found.shards == expected.shards
    assert list(found.examples) == list(expected.examples)


def _listed(value):
    return list(value) if isinstance(value, tuple) else value


def test_an_index_says_what_the_shards_say_when_made_and_when_read_again(folder):
    expected = open_run(folder)
    assert len(expected.shards) > 1
    assert_same(indexed(folder), expected)
    made = (folder / INDEX).stat()
    assert_same(indexed(folder), expected)
    assert (folder / INDEX).stat().st_ino == made.st_ino
    np.testing.assert_array_equal(means(indexed(folder)), means(expected))


def test_a_small_run_has_no_index(folder):
    open_run(folder)
    assert not (folder / INDEX).exists()


@pytest.mark.parametrize("lost", [0, 1])
def test_a_lost_shard_is_left_out_and_one_that_comes_back_is_read(folder, lost):
    expected = indexed(folder)
    path = answers_path(folder, lost)
    kept = path.rename(folder.parent / path.name)
    found = indexed(folder)
    assert_same(found, open_run(folder))
    assert found.faults == open_run(folder).faults
    kept.rename(path)
    assert_same(indexed(folder), expected)


def test_a_broken_shard_is_said_and_not_read_at_each_opening(folder, monkeypatch):
    traces_path(folder, 1).write_bytes(b"nothing")
    found = indexed(folder)
    assert_same(found, open_run(folder))
    assert len(found.faults) == 1
    assert "broken" in found.faults[0]
    monkeypatch.setattr(indexes, "read_table", None)
    assert indexed(folder).faults == found.faults


def test_only_what_changed_is_read_again(folder, monkeypatch):
    indexed(folder)
    os.utime(answers_path(folder, 1), ns=(0, 0))
    read, real = [], indexes.read_table

    def noted(*given, **options):
        read.append(given[3])
        return real(*given, **options)

    monkeypatch.setattr(indexes, "read_table", noted)
    found = indexed(folder)
    assert read == [1]
    assert_same(found, open_run(folder))


def test_a_shard_that_was_written_again_is_read_again(folder):
    before = indexed(folder)
    other = made_run(folder.parent / "other", quality=[1.0] * len(LENGTHS), lengths=LENGTHS, failures=3, shard_size=10)
    for path_of in (answers_path, traces_path):
        shutil.copy(path_of(other.folder, 1), path_of(folder, 1))
    found = indexed(folder)
    assert_same(found, open_run(folder))
    assert found.answers["quality"].tolist() != before.answers["quality"].tolist()


def _truncated(path):
    path.write_bytes(path.read_bytes()[:-200])


def _cut_in_half(path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def _no_index(path):
    path.write_bytes(b"ARROW1\0\0" + bytes(4096))


def _another_number(path):
    """A bit of one of the uncertainties: Arrow finds nothing wrong with it."""
    content = bytearray(path.read_bytes())
    batch = pa.ipc.open_file(bytes(content[:-4])).get_batch(0)
    content[content.index(bytes(batch["value 0"].buffers()[1])) + 2] ^= 1
    path.write_bytes(content)


def _sealed(path, content):
    """A hostile index has a right checksum."""
    path.write_bytes(content + zlib.crc32(content).to_bytes(4, "big"))


def _rewritten(path, change, about_all=lambda about: about, **options):
    reader = pa.ipc.open_file(path.read_bytes()[:-4])
    batches = [reader.get_batch_with_custom_metadata(place) for place in range(reader.num_record_batches)]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, reader.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        for batch, about in batches:
            writer.write_batch(change(batch), custom_metadata=about_all(dict(about)))
    _sealed(path, sink.getvalue().to_pybytes())


def _packed(path):
    _rewritten(path, lambda batch: batch, compression="zstd")


def _reversed(path):
    _rewritten(path, lambda batch: batch.take(pa.array(range(len(batch))[::-1], pa.int64())))


def _without_an_answer(path):
    _rewritten(path, lambda batch: batch.slice(1))


def _without_what_it_is(path):
    _rewritten(path, lambda batch: batch, lambda _about: None)


def _with_number(value):
    def change(batch):
        numbers = batch["number"].to_pylist()
        return batch.set_column(0, "number", pa.array([*numbers[:-1], value][: len(numbers)], pa.int32()))

    return lambda path: _rewritten(path, change)


def _with_seen(*values):
    """Of the first shard: its number, its answers and its failures."""

    def change(about):
        if b"seen" not in about:
            return about
        seen = np.frombuffer(about[b"seen"], np.int64).copy()
        seen[: len(values)] = values
        return about | {b"seen": seen.tobytes()}

    return lambda path: _rewritten(path, lambda batch: batch, change)


def _with_faults(faults):
    def change(about):
        return about | ({b"faults": faults} if b"faults" in about else {})

    return lambda path: _rewritten(path, lambda batch: batch, change)


def _offsets_beyond_the_texts(path):
    content = bytearray(path.read_bytes()[:-4])
    batch = pa.ipc.open_file(bytes(content)).get_batch(0)
    offsets = bytes(batch["answer"].buffers()[1])[: 8 * (len(batch) + 1)]
    end = content.index(offsets) + len(offsets)
    content[end - 8 : end] = (2**40).to_bytes(8, "little")
    _sealed(path, bytes(content))


SPOILT = {
    "truncated": _truncated,
    "half": _cut_in_half,
    "no index": _no_index,
    "empty": lambda path: path.write_bytes(b""),
    "another number": _another_number,
    "packed": _packed,
    "reversed": _reversed,
    "without an answer": _without_an_answer,
    "without what it is": _without_what_it_is,
    "offsets beyond the texts": _offsets_beyond_the_texts,
    "a large number": _with_number(2**31 - 1),
    "a negative number": _with_number(-1),
    "a large shard": _with_seen(2**40),
    "a negative shard": _with_seen(-1),
    "another failure": _with_seen(0, 9, 1),
    "another fault": _with_faults(b'{"1": "broken"}'),
    "a list of faults": _with_faults(b"[]"),
    "nested faults": _with_faults(b"[" * 100_000),
}


@pytest.mark.parametrize("how", SPOILT)
def test_a_damaged_or_hostile_index_is_not_believed_but_made_anew(folder, how):
    indexed(folder)
    good = (folder / INDEX).read_bytes()
    SPOILT[how](folder / INDEX)
    assert (folder / INDEX).read_bytes() != good
    assert_same(indexed(folder), open_run(folder))
    assert (folder / INDEX).read_bytes() == good


def test_the_index_of_another_run_is_not_believed(folder, tmp_path):
    other = made_run(tmp_path / "other", quality=[0.0, 1.0] * 24, lengths=LENGTHS, failures=3, shard_size=10).folder
    indexed(other)
    shutil.copy(other / INDEX, folder / INDEX)
    assert_same(indexed(folder), open_run(folder))


def test_other_examples_are_read_again(folder):
    before = indexed(folder)
    write_examples(folder, tuple(replace(example, group="other") for example in before.examples))
    found = indexed(folder)
    assert set(found.answers["group"]) == {"other"}
    assert_same(found, open_run(folder))


def test_two_threads_write_different_temporary_files(tmp_path):
    both, paths = Barrier(2), []

    def write(path):
        paths.append(path)
        path.touch()
        both.wait(timeout=30)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda name: write_whole(tmp_path / name, write), ["one", "one"]))
    assert len(set(paths)) == 2


def test_a_run_that_cannot_be_written_to_opens_without_an_index(folder, monkeypatch):
    def refuse(path, _write):
        raise cannot_write(path, PermissionError(13, "read-only"))

    monkeypatch.setattr(indexes, "write_whole", refuse)
    assert_same(indexed(folder), open_run(folder))
    assert not (folder / INDEX).exists()


def test_two_at_once_do_not_harm_each_other(folder, monkeypatch):
    monkeypatch.setattr(indexes, "INDEXED_FROM", 1)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(open_run, [folder] * 8))
    monkeypatch.undo()
    expected = open_run(folder)
    for run in found:
        assert_same(run, expected)
    assert not list(folder.glob(".*.tmp"))


def test_a_changed_bit_is_found_when_its_shard_is_first_read_and_by_the_command(folder, capsys):
    path = traces_path(folder, 1)
    stat, content = path.stat(), bytearray(path.read_bytes())
    indexed(folder)
    assert main(["check", str(folder)]) == 0
    content[-1] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    run = indexed(folder)
    assert not run.faults
    with pytest.raises(RunError, match="changed after it was written"):
        trace(run, run.shards[1].start)
    assert main(["check", str(folder)]) == 1
    assert "; missing or broken: 1." in capsys.readouterr().out


def test_a_sample_has_whole_shards_and_says_so(folder):
    run = open_run(folder)
    most = run.shards[0].size + run.shards[1].size
    found = sampled(run, most=most)
    assert 0 < len(found.answers) <= most < len(run.answers)
    assert about_sample(run) == ""
    assert f"{len(found.answers)} of the run's {len(run.answers)} answers" in about_sample(found)
    rows = [row for shard in run.shards for row in range(shard.start, shard.start + shard.size)
            if shard.number in {own.number for own in found.shards}]  # fmt: skip
    assert found.answers["number"].tolist() == run.answers["number"].iloc[rows].tolist()
    np.testing.assert_array_equal(means(found), means(run)[rows])
    assert sampled(run, most=len(run.answers)) is run
    assert_same(part_of(run, run.shards), run)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("answers-00000.parquet", True),
        ("answers-99999.parquet", True),
        ("traces-312499.safetensors", True),
        ("extras-9999999.safetensors", True),
        ("answers-012345.parquet", False),
        ("answers-1234.parquet", False),
        ("answers-10000000.parquet", False),
        ("answers-00000.parquet\n", False),
    ],
)
def test_names_of_ten_million_answers_are_of_a_run_in_one_spelling(name, is_one):
    assert is_of_run(name) == is_one


def test_an_index_is_no_part_of_a_run():
    assert not is_exported(INDEX)


def test_corrected_verdicts_and_exports_of_a_large_run_are_those_of_a_small_one(folder):
    number = int(open_run(folder).answers["number"].iloc[3])
    before = open_run(folder).answers["quality"].iloc[3]
    correct_verdict(indexed(folder), number, correct=bool(before != 1))
    found, expected = indexed(folder), open_run(folder)
    assert found.answers["quality"].iloc[3] != before
    assert_same(found, expected)
    assert jsonl_bytes(found) == jsonl_bytes(expected)
    assert parquet_bytes(found) == parquet_bytes(expected)


def test_checksums_are_compared_once_for_each_shard(folder, monkeypatch):
    run, read, real = indexed(folder), [], indexes.read_table

    def noted(*given, **options):
        read.append(given[3])
        return real(*given, **options)

    monkeypatch.setattr(indexes, "read_table", noted)
    for _ in range(2):
        means(run)
        trace(run, 0)
    assert read == [shard.number for shard in run.shards]


def test_a_missing_status_is_written_with_the_index_of_a_finished_run_alone(folder):
    lost = answers_path(folder, 1).rename(folder.parent / "lost")
    indexed(folder)
    assert not (folder / STATUS).exists()
    lost.rename(answers_path(folder, 1))
    expected = read_status(folder)
    assert (expected.state, expected.failed) == ("finished", 3)
    indexed(folder)
    assert (folder / STATUS).exists()
    assert read_status(folder) == expected
    write_status(folder, replace(expected, state="stopped"))
    (folder / INDEX).unlink()
    indexed(folder)
    assert read_status(folder).state == "stopped"


def test_an_imported_run_tells_how_far_it_is(finished, tmp_path):
    status = replace(read_status(finished), started=0, updated=0, pid=0, answered=0, tokens=0, seconds=0)
    with export_zip(finished) as archive:
        found = import_zip(archive, tmp_path / "runs", "again")
    assert (found / STATUS).exists()
    assert read_status(found) == status
    assert status.failed == 1


def test_a_finished_job_leaves_an_index_of_a_large_run_alone(finished, monkeypatch):
    work(finished)
    assert not (finished / INDEX).exists()
    monkeypatch.setattr(indexes, "INDEXED_FROM", 1)
    work(finished)
    assert (finished / INDEX).exists()


@pytest.mark.parametrize("column", ["answer", "quality", "values"])
def test_a_shard_with_an_answer_that_lacks_something_is_broken_and_indexed_once(folder, column, monkeypatch):
    path = answers_path(folder, 1)
    rows = pq.read_table(path).to_pylist()
    rows[2][column] = [None] * len(rows[2][column]) if column == "values" else None
    pq.write_table(pa.Table.from_pylist(rows, pq.read_schema(path)), path)
    traces = load_file(traces_path(folder, 1))
    save_file(traces, traces_path(folder, 1))  # without checksums, as older runs
    found = indexed(folder)
    assert_same(found, open_run(folder))
    assert "Shard 1 of run is broken" in found.faults[0]
    monkeypatch.setattr(indexes, "read_table", None)
    assert indexed(folder).faults == found.faults
