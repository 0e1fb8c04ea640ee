"""An archive of a run from a stranger is unpacked by a process with limits, and its decoded sizes are checked."""

import io
import json
import resource
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.datasets.example import DataSet, Example
from analysis.runs.archive import Bounds, export_zip, place_run, unpack
from analysis.runs.create import prepare, request_for
from analysis.runs.files.examples import EXAMPLES
from analysis.runs.job import read_status
from analysis.runs.library import bundled_folder
from analysis.runs.manifest import CORRECTIONS, MANIFEST, TIMINGS, is_exported
from analysis.uploads.limits import Limits
from analysis.uploads.readers import fill_run
from rauq.errors import RunError
from tests.analysis.uploads.bombs import MIB, Nameless, deep, lists, manifest, zipped

BOUNDS = Bounds(unpacked=64 * MIB, rows=100, characters=1000)
OF_A_HOST = Bounds(unpacked=512 * MIB, rows=1000, characters=8000)
LIMITS = Limits(memory=1024 * MIB, processor=30, wall=90)


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # MiB


def taken_in(archive, root, bounds=BOUNDS, limits=LIMITS):
    return place_run(root, "run", lambda folder: fill_run(folder, archive, bounds=bounds, limits=limits))


def taken_in_here(archive, root):
    """The same without a process of its own, which takes a second."""
    return place_run(root, "run", lambda folder: unpack(archive, folder, bounds=BOUNDS))


def refused(archive, root, said, take=taken_in, **changes):
    before = peak()
    with pytest.raises(RunError, match=said):
        take(archive, root, **changes)
    assert list(root.iterdir()) == []
    assert peak() < before + 32


def new_run(folder, count=3, prompt="Where?", answer=None):
    examples = tuple(Example(id=str(number), prompt=prompt, answer=answer) for number in range(count))
    data = DataSet(name="a", examples=examples)
    prepare(folder, data, request_for(data, model="atlas"))
    return folder


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if is_exported(path.name)}


def packed(folder, **changed):
    return zipped(files_of(folder) | changed)


def test_a_run_comes_in_as_it_went_out(tmp_path):
    with export_zip(bundled_folder()) as archive:
        folder = taken_in(archive, tmp_path / "runs", OF_A_HOST)
    assert files_of(folder) == files_of(bundled_folder())
    assert read_status(folder).state == "finished"


def test_a_run_beyond_the_limits_of_the_host_is_refused(tmp_path):
    root = tmp_path / "runs"
    refused(packed(new_run(tmp_path / "many", 101)), root, "This run has 101 rows; at most 100 are allowed here")
    refused(packed(new_run(tmp_path / "long", prompt="x" * 1001)), root, "1,001 characters of a prompt; at most 1,000")
    refused(packed(new_run(tmp_path / "given", answer="x" * 1001)), root, "1,001 characters of an answer")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (MANIFEST, manifest(lists(10_000_000)), "its manifest.json unpacks to 30.0 MB, and at most 262.1 kB"),
        (MANIFEST, manifest(lists(80_000)), "manifest.json is damaged"),
        (MANIFEST, manifest(deep(100_000)), "manifest.json cannot be read .*recursion"),
        (MANIFEST, b'{"schema": ' + lists(80_000) + b"}", r"is a run of schema \[\[\], .{,80}Score it again"),
        (CORRECTIONS, lists(1_000_000), "its corrections.json unpacks to 3.0 MB, and at most 20.2 kB"),
        (TIMINGS, lists(1_000_000), "its timings.jsonl unpacks to 3.0 MB, and at most 413.7 kB"),
        (EXAMPLES, bytes(2 * MIB), "its examples.parquet unpacks to 2.1 MB, and at most 800.0 kB"),
        ("traces-00000.safetensors", bytes(100 * MIB), "unpacks to 104.9 MB, and at most 67.1 MB"),
        ("extras-00000.safetensors", bytes(100 * MIB), "unpacks to 104.9 MB, and at most 67.1 MB"),
        ("methods-msp.parquet", bytes(2 * MIB), "its methods-msp.parquet unpacks to 2.1 MB, and at most 800.0 kB"),
    ],
)  # fmt: skip
def test_every_file_is_bounded_by_its_role(name, content, said, tmp_path):
    refused(packed(new_run(tmp_path / "made"), **{name: content}), tmp_path / "runs", said, taken_in_here)


def examples_of_one_text(folder, characters):
    """The examples of a run, with one long source for all, stored once."""
    table = pq.read_table(folder / EXAMPLES)
    column = pa.DictionaryArray.from_arrays(pa.array([0] * len(table), pa.int32()), ["x" * characters])
    pq.write_table(table.set_column(table.schema.names.index("source"), "source", column), folder / EXAMPLES)
    assert (folder / EXAMPLES).stat().st_size < 20_000
    return folder


def test_texts_that_are_stored_once_are_counted_as_often_as_they_occur(tmp_path):
    folder = examples_of_one_text(new_run(tmp_path / "made", 100), 100_000)
    refused(packed(folder), tmp_path / "runs", "examples.parquet cannot be read .it unpacks to more than 800.0 kB")


@pytest.mark.parametrize(("shards", "characters"), [((1,), 500_000), (range(6), 90_000)], ids=["one", "together"])
def test_tables_of_answers_are_counted_too(shards, characters, tmp_path):
    folder = shutil.copytree(bundled_folder(), tmp_path / "made")
    for number in shards:
        path = folder / f"answers-{number:05}.parquet"
        table = pq.read_table(path)
        column = pa.DictionaryArray.from_arrays(pa.array([0] * len(table), pa.int32()), ["x" * characters])
        place = table.schema.names.index("quality_reason")
        pq.write_table(table.set_column(place, "quality_reason", column), path)
    said = f"answers-0000{max(shards)}.parquet cannot be read .it unpacks to more than"
    refused(packed(folder), tmp_path / "runs", said, bounds=OF_A_HOST)


def test_a_file_of_arrays_says_little_of_itself(tmp_path):
    folder = shutil.copytree(bundled_folder(), tmp_path / "made")
    path = folder / "traces-00001.safetensors"
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = content[8 : 8 + length] + b" " * 100_000
    path.write_bytes(len(header).to_bytes(8, "little") + header + content[8 + length :])
    refused(
        packed(folder),
        tmp_path / "runs",
        "traces-00001.safetensors has a header of more than 65,536 bytes",
        bounds=OF_A_HOST,
    )


def test_a_process_beyond_its_limits_is_ended_in_words(tmp_path):
    content = files_of(new_run(tmp_path / "made"))
    refused(zipped(content), tmp_path / "runs", "more than 0.001 s, this host's", limits=Limits(wall=0.001))
    refused(zipped(content), tmp_path / "runs", "this host's limit|unexpectedly", limits=Limits(memory=200 * MIB))


def test_an_entry_without_a_name_is_refused_in_words(tmp_path):
    archive = zipped(files_of(new_run(tmp_path / "made")) | {Nameless(): b"x"})
    refused(archive, tmp_path / "runs", "it holds a file without a name, which is not a file of a run")


def test_what_is_no_archive_is_refused(tmp_path):
    refused(io.BytesIO(json.dumps([]).encode()), tmp_path / "runs", "not an archive of a run")
