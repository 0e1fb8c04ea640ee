"""The index of a large run: it says what the shards say, and is never believed where it cannot be so."""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

from analysis.cli.main import main
from analysis.methods import comparison
from analysis.methods.comparison import Group, judged, ranking
from analysis.quality.judgement import Thresholds
from analysis.runs import index as indexes
from analysis.runs.manifest import INDEX, is_exported, is_of_run
from analysis.runs.opened import about_sample, means, open_run, part_of, sampled
from analysis.runs.shard import answers_path, traces_path
from analysis.runs.traces import trace
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
    return open_run(folder, indexed_from=1)


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
    monkeypatch.setattr(indexes, "read_light", None)
    assert indexed(folder).faults == found.faults


def test_only_what_changed_is_read_again(folder, monkeypatch):
    indexed(folder)
    os.utime(answers_path(folder, 1), ns=(0, 0))
    read, real = [], indexes.read_light

    def noted(*given, **options):
        read.append(given[3])
        return real(*given, **options)

    monkeypatch.setattr(indexes, "read_light", noted)
    assert_same(indexed(folder), open_run(folder))
    assert read == [1]


def _truncated(path):
    path.write_bytes(path.read_bytes()[:-200])


def _cut_in_half(path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def _no_index(path):
    path.write_bytes(b"ARROW1\0\0" + bytes(4096))


def _rewritten(path, change, **options):
    reader = pa.ipc.open_file(path.read_bytes())
    batches = [reader.get_batch_with_custom_metadata(place) for place in range(reader.num_record_batches)]
    with pa.ipc.new_file(str(path), reader.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        for batch, about in batches:
            writer.write_batch(change(batch), custom_metadata=about)


def _packed(path):
    _rewritten(path, lambda batch: batch, compression="zstd")


def _reversed(path):
    _rewritten(path, lambda batch: batch.take(pa.array(range(len(batch))[::-1], pa.int64())))


def _without_an_answer(path):
    _rewritten(path, lambda batch: batch.slice(1))


def _offsets_beyond_the_texts(path):
    content = bytearray(path.read_bytes())
    batch = pa.ipc.open_file(bytes(content)).get_batch(0)
    offsets = bytes(batch["answer"].buffers()[1])[: 8 * (len(batch) + 1)]
    end = content.index(offsets) + len(offsets)
    content[end - 8 : end] = (2**40).to_bytes(8, "little")
    path.write_bytes(content)


@pytest.mark.parametrize(
    "spoil",
    [_truncated, _cut_in_half, _no_index, _packed, _reversed, _without_an_answer, _offsets_beyond_the_texts],
)
def test_a_damaged_or_hostile_index_is_not_believed_but_made_anew(folder, spoil):
    indexed(folder)
    good = (folder / INDEX).read_bytes()
    spoil(folder / INDEX)
    assert_same(indexed(folder), open_run(folder))
    assert (folder / INDEX).read_bytes() == good


def test_the_index_of_another_run_is_not_believed(folder, tmp_path):
    other = made_run(tmp_path / "other", quality=[0.0, 1.0] * 24, lengths=LENGTHS, failures=3, shard_size=10).folder
    indexed(other)
    shutil.copy(other / INDEX, folder / INDEX)
    assert_same(indexed(folder), open_run(folder))


def test_a_run_that_cannot_be_written_to_opens_without_an_index(folder, monkeypatch):
    def refuse(**_options):
        raise PermissionError(13, "read-only")

    monkeypatch.setattr(indexes, "TemporaryDirectory", refuse)
    assert_same(indexed(folder), open_run(folder))
    assert not (folder / INDEX).exists()


def test_two_at_once_do_not_harm_each_other(folder):
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(indexed, [folder] * 8))
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
    assert "1 of them missing or broken" in capsys.readouterr().out


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


def test_intervals_of_many_answers_are_those_of_all_resamples(monkeypatch):
    rng = np.random.default_rng(0)
    quality = rng.integers(2, size=4_000).astype(float)
    uncertainty = rng.normal(size=4_000) - quality
    group = Group("all", np.arange(4_000))

    def found():
        among = judged(group, quality, metric="prr", thresholds=Thresholds(), count=400)
        return ranking(uncertainty, among).estimate

    whole = found()
    monkeypatch.setattr(comparison, "MOST_RESAMPLED", 3_999)
    some = found()
    assert some.value == whole.value
    assert some.n == whole.n
    assert (some.high - some.low) == pytest.approx(whole.high - whole.low, rel=0.2)
    assert some.low < some.value < some.high


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("answers-00000.parquet", True),
        ("answers-99999.parquet", True),
        ("traces-312499.safetensors", True),
        ("extras-10000000.safetensors", True),
        ("answers-012345.parquet", False),
        ("answers-1234.parquet", False),
        ("answers-123456789.parquet", False),
        ("answers-00000.parquet\n", False),
    ],
)
def test_names_of_ten_million_answers_are_of_a_run_in_one_spelling(name, is_one):
    assert is_of_run(name) == is_one


def test_an_index_is_no_part_of_a_run():
    assert not is_exported(INDEX)
