"""A run travels as an archive, and nothing that is not one comes in: no path, no bomb, no number out of its range."""

import io
import stat
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from analysis.cli import main
from analysis.datasets.own_files import MOST_IN_A_FILE
from analysis.runs import archive
from analysis.runs.archive import bounds_of, export_zip, import_zip
from analysis.runs.job import STATUS, read_status
from analysis.runs.manifest import MANIFEST, MOST_EXAMPLES, is_exported, read_manifest, write_manifest
from analysis.runs.opened import open_run
from rauq.cli.commands import BAD_INPUT, DONE, KNOWN_ERROR
from rauq.errors import InvalidInput, RunError
from tests.analysis.uploads.bombs import Nameless
from tests.shards import rewrite

ANSWERS, TRACES = "answers-00000.parquet", "traces-00000.safetensors"


@pytest.fixture(scope="session")
def packed(finished_run):
    with export_zip(finished_run) as file:
        return file.read()


def zipped(files, **options):
    """An archive of texts or bytes by name, or by what the archive says of them."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", **options) as target:
        for name, data in files.items():
            target.writestr(name, data)
    return content


def refused(content, root, said):
    with pytest.raises(RunError, match=said):
        import_zip(content, root, "run")
    assert not root.exists() or list(root.iterdir()) == []


def exported(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if is_exported(path.name)}


def test_an_imported_run_equals_the_exported_one(packed, finished_run, tmp_path):
    folder = import_zip(io.BytesIO(packed), tmp_path / "runs", "other-name")
    assert folder == tmp_path / "runs" / "other-name"
    assert exported(folder) == exported(finished_run)
    assert {path.name for path in folder.iterdir()} == {*exported(finished_run), STATUS}
    status = read_status(folder)
    assert (status.state, status.saved, status.failed) == ("finished", 13, 1)
    assert list(folder.parent.iterdir()) == [folder]


def test_the_command_writes_an_archive_and_takes_it_in(packed, finished, tmp_path, capsys):
    file, folder = tmp_path / "run.zip", tmp_path / "taken" / "again"
    out, taken_in = ["--out", str(file)], ["import", str(file), "--out", str(folder)]
    assert main.main(["export", str(finished), "--to", "zip", *out]) == DONE
    assert file.read_bytes() == packed
    assert main.main(taken_in) == DONE
    assert capsys.readouterr().out.split() == [str(file), str(folder)]
    assert exported(folder) == exported(finished)
    assert main.main(["export", str(finished), "--to", "zip", *out]) == BAD_INPUT  # the file exists
    assert main.main(taken_in) == KNOWN_ERROR  # the run exists
    assert main.main(["import", str(tmp_path / "none.zip"), "--out", str(folder)]) == BAD_INPUT
    said = capsys.readouterr().err
    assert "run.zip exists" in said
    assert "A run again already exists" in said
    assert "none.zip cannot be read: No such file" in said
    for command in (["export", str(finished), "--to", "zip"], ["import", str(file)]):
        with pytest.raises(SystemExit):
            main.main([*command, "--out", "s3://bucket/run"])
        assert "is an address" in capsys.readouterr().err


def test_bounds_grow_with_the_archive_up_to_ten_million_answers():
    class Large(io.BytesIO):
        def seek(self, offset, whence=0):
            return 250 * 10**9 if whence else offset

    bounds = bounds_of(Large())
    assert bounds.rows == MOST_EXAMPLES == MOST_IN_A_FILE == 10_000_000
    assert bounds.unpacked > 250 * 10**9
    assert bounds.files > 2 * MOST_EXAMPLES // 32  # two files for each shard of the usual size
    assert bounds_of(io.BytesIO(bytes(5000))).files == 20_001


def test_weights_are_looked_at_in_parts(packed, tmp_path, monkeypatch):
    parts = []
    monkeypatch.setattr(archive, "_TOGETHER", 4)
    monkeypatch.setattr(archive, "_mean_faults", lambda run: parts.append(run.answers["number"].tolist()) or iter(()))
    folder = import_zip(io.BytesIO(packed), tmp_path / "runs", "run")
    assert len(parts) > 1
    assert [number for part in parts for number in part] == open_run(folder).answers["number"].tolist()


def test_equal_runs_are_equal_archives(packed, finished):
    with export_zip(finished) as file:
        assert file.read() == packed


@pytest.mark.parametrize("left", [(), ("answers-00002.parquet",), (ANSWERS, TRACES)])
def test_an_unfinished_run_comes_in(left, finished, tmp_path):
    for name in left:
        (finished / name).unlink()
    with export_zip(finished) as file:
        folder = import_zip(file, tmp_path / "runs", "run")
    assert read_status(folder).state == ("interrupted" if left else "finished")


def test_a_name_that_is_taken_or_none_is_refused(packed, finished):
    with pytest.raises(RunError, match="already"):
        import_zip(io.BytesIO(packed), finished.parent, finished.name)
    for name in ("", "..", "a/b", "/etc", ".hidden", "x" * 65):
        with pytest.raises(InvalidInput, match="is not a valid name for a run"):
            import_zip(io.BytesIO(packed), finished.parent, name)


@pytest.mark.parametrize(
    "name",
    [
        *("../manifest.json", "/manifest.json", "a/manifest.json", "..\\manifest.json", "other.txt", "run.lock", "x/"),
        *(
            "MANIFEST.json",
            "Answers-00000.parquet",
            "manifest.json ",
            "manifest.json.",
            "answers-\u0660\u0660\u0660\u0660\u0660.parquet",
        ),
        *("C:manifest.json", "~/manifest.json", "./manifest.json", "manifest.json\n", ".", ".."),
    ],
)
def test_foreign_names_are_refused(name, tmp_path):
    refused(zipped({MANIFEST: "{}", name: "x"}), tmp_path / "runs", "not a file of a run")


def test_what_is_no_archive_of_a_run_is_refused(packed, tmp_path):
    root = tmp_path / "runs"
    refused(io.BytesIO(b""), root, "not an archive of a run")
    refused(io.BytesIO(b"PK\x03\x04 and nothing more"), root, "not an archive of a run")
    refused(io.BytesIO(packed[: len(packed) // 2]), root, "not an archive of a run")
    refused(zipped({ANSWERS: "x"}), root, "no manifest.json")


def flipped(packed, place):
    content = bytearray(packed)
    content[place] ^= 0xFF
    return io.BytesIO(bytes(content))


def parts_of(packed, name):
    """Where an entry's local header begins, its data begin, and its data end."""
    with zipfile.ZipFile(io.BytesIO(packed)) as files:
        entry = files.getinfo(name)
    header = entry.header_offset
    lengths = np.frombuffer(packed[header + 26 : header + 30], dtype="<u2")  # of the name and of the extra field
    data = header + 30 + int(lengths.sum())
    return header, data, data + entry.compress_size


def test_damaged_data_are_refused(packed, tmp_path):
    with zipfile.ZipFile(io.BytesIO(packed)) as files:
        names = [entry.filename for entry in files.infolist() if entry.file_size]
    assert len(names) > 4
    for name in names:
        _, first, end = parts_of(packed, name)
        for place in (first, (first + end) // 2, end - 1):
            refused(flipped(packed, place), tmp_path / "runs", "damaged")


def test_a_damaged_header_is_refused_or_changes_nothing(prepared, tmp_path):
    """Readers of zip files ignore some bytes of headers, such as the sizes that the directory at the end repeats."""
    expected = exported(prepared)
    with export_zip(prepared) as file:
        packed = file.read()
    header, data, end = parts_of(packed, MANIFEST)
    outcomes = {}
    for place in (*range(header, data), *range(end, len(packed))):
        root = tmp_path / f"runs-{place}"
        try:
            folder = import_zip(flipped(packed, place), root, "run")
        except RunError:
            assert list(root.iterdir()) == []
            outcomes[place] = "refused"
        else:
            assert exported(folder) == expected
            assert {path.name for path in folder.iterdir()} == {*expected, STATUS}
            outcomes[place] = "the same run"
    assert outcomes[header] == "refused"
    assert outcomes[header + 19] == "the same run"


def test_a_file_without_a_name_is_refused(tmp_path):
    refused(zipped({MANIFEST: "{}", Nameless(): "x"}), tmp_path / "runs", "it holds a file without a name")


def test_links_and_duplicates_are_refused(tmp_path):
    link = zipfile.ZipInfo(MANIFEST)
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    refused(zipped({link: "/etc/passwd"}), tmp_path / "runs", "not a file of a run")
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as target:
        target.writestr(MANIFEST, "{}")
        with pytest.warns(UserWarning, match="Duplicate"):
            target.writestr(MANIFEST, "{}")
    refused(content, tmp_path / "runs", "some of one name")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_no_run_is_packed_with_is_refused(method, tmp_path):
    refused(zipped({MANIFEST: "{}"}, compression=method), tmp_path / "runs", "not a file of a run")


def test_an_archive_with_a_password_is_refused(tmp_path):
    content = bytearray(zipped({MANIFEST: "{}"}).getvalue())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.find(mark) + place] |= 1
    refused(io.BytesIO(bytes(content)), tmp_path / "runs", "not a file of a run")


def test_zip_bombs_are_refused_by_header_and_by_content(tmp_path, monkeypatch):
    bomb = zipped({MANIFEST: "{}", TRACES: bytes(300 * 2**20)}, compression=zipfile.ZIP_DEFLATED)
    refused(bomb, tmp_path / "runs", "unpacks from")
    lying = bytearray(zipped({MANIFEST: b" " * 5000}, compression=zipfile.ZIP_DEFLATED).getvalue())
    size = (5000).to_bytes(4, "little")
    while (place := lying.find(size)) >= 0:
        lying[place : place + 4] = (7).to_bytes(4, "little")
    refused(io.BytesIO(bytes(lying)), tmp_path / "runs", "not an archive of a run|damaged")
    refused(zipped({MANIFEST: b" " * 300_000}), tmp_path / "runs", "manifest.json unpacks to 300.0 kB, and at most 262")
    monkeypatch.setattr(archive, "MOST_FILES", 1)
    refused(zipped({MANIFEST: "{}", ANSWERS: ""}), tmp_path / "runs", "more than 1")


def changed_arrays(folder, name, change):
    path = folder / TRACES
    arrays = load_file(path)
    arrays[name] = change(arrays[name].copy())
    save_file(arrays, path)


def test_a_reason_is_short_and_so_are_the_times(finished, tmp_path, monkeypatch):
    rewrite(finished, 0, lambda row: row | {"values": [float("nan")] * 7, "reasons": ["x" * 10_000] * 7})
    with export_zip(finished) as file:
        refused(file, tmp_path / "runs", "more than 1,000 characters")
    monkeypatch.setattr("analysis.runs.archive._TIMES", 0)
    with export_zip(finished) as file:
        refused(file, tmp_path / "runs", r"its timings.jsonl unpacks to .*, and at most 0 bytes are allowed")


def put(value):
    def change(array):
        array.flat[0] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("bands", put(2), "attention must lie"),
        ("bands", put(np.inf), "attention must lie"),
        ("bands", put(-1), "attention must lie"),
        ("bands", lambda array: array[:-1], "shard 0 is broken"),
        ("bands", lambda array: array.astype(np.float32), "shard 0 is broken"),
        ("logprobs", put(1), "logprobs must lie"),
        ("entropies", put(1e9), "entropies must lie"),
        ("means", put(np.inf), "mean attention is outside"),
        ("means", lambda array: array[:1], "shard 0 is broken"),
        ("picks", put(4), "selected head is not one of the 4"),
        ("picks", put(-2), "selected head is not one of the 4"),
        ("picks", lambda array: array[:, :, :1], "shard 0 is broken"),
        ("fact_means", lambda _array: np.zeros(3, np.float16), "shard 0 is broken"),
    ],
)
def test_impossible_arrays_are_refused(name, change, said, finished, tmp_path):
    if name == "fact_means":
        arrays = load_file(finished / TRACES)
        save_file(
            {**arrays, "fact_counts": np.zeros((6, 4), np.int32), name: np.zeros(1, np.float16)}, finished / TRACES
        )
    changed_arrays(finished, name, change)
    with export_zip(finished) as file:
        refused(file, tmp_path / "runs", said)


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("num_tokens", -3, "shard 0 is broken"),
        ("num_tokens", 2**31 - 1, "shard 0 is broken"),
        ("number", 7, "shard 0 is broken"),
        ("answer", "another", "differ from those of the table"),
        ("num_fact_tokens", 5, "fact tokens differ"),
        ("quality", float("inf"), "quality is infinite"),
        ("values", [float("inf"), *[0.0] * 6], "uncertainty is infinite"),
        ("values", [float("nan"), *[0.0] * 6], "undefined without a reason"),
        ("values", [0.0], "shard 0 is broken"),
        ("values", None, "shard 0 is broken"),
        ("reasons", ["why", *[""] * 6], "undefined without a reason, or"),
        ("reasons", [None] * 7, "shard 0 is broken"),
        ("reasons", None, "shard 0 is broken"),
        ("stop_reason", "tired", "stop_reason is 'tired'"),
        ("answer_ids", [10**6], "invalid answer|must lie"),
        ("pieces", None, "invalid answer"),
        ("fact", [True] * 1000, "fact tokens differ"),
        ("alternative_logprobs", [[7.0]], "invalid answer"),
    ],
)
def test_impossible_tables_are_refused(column, value, said, finished, tmp_path):
    rewrite(finished, 0, lambda row: row | ({column: value} if row["number"] == 0 else {}))
    with export_zip(finished) as file:
        refused(file, tmp_path / "runs", said)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("request", {"count": 10**12}),
        ("request", {"count": 12}),
        ("request", {"batch_size": True}),
        ("request", {"samples": 10**9}),
        ("request", {"methods": ()}),
        ("request", {"methods": ("quality",)}),
        ("request", {"methods": ("rauq", "rauq")}),
        ("request", {"model": ["atlas"]}),
        ("request", {"stored_layers": "some"}),
        ("answerer", {"layers": (0, 99)}),
        ("answerer", {"num_heads": 0}),
        ("answerer", {"vocab_size": 1.5}),
        ("answerer", {"kind": "wise"}),
    ],
)
def test_impossible_manifests_are_refused(part, change, finished, tmp_path):
    manifest = read_manifest(finished)
    write_manifest(finished, replace(manifest, **{part: replace(getattr(manifest, part), **change)}))
    packed = zipped({path.name: path.read_bytes() for path in finished.iterdir() if is_exported(path.name)})
    refused(packed, tmp_path / "runs", "damaged|12 rows|manifest")
