"""A pickle is refused by its content, whatever its name, and none of its code runs."""

import io
import subprocess
import sys
from zipfile import ZipFile

import pytest

import rauq
from analysis.datasets.own_files import ENDINGS, read_file, read_table
from analysis.runs.archive import export_zip, import_zip
from analysis.runs.manifest import MANIFEST, TIMINGS
from analysis.runs.opened import open_run
from rauq.errors import RauqError
from rauq.methods.pair_scorers.idf import load_idf
from tests.analysis.report.made_run import made_run
from tests.architectures import save_tiny

FILES = ("answers-00000.parquet", "traces-00000.safetensors", "examples.parquet", MANIFEST, TIMINGS)


@pytest.fixture
def trap(tmp_path):
    """A pickle in a file, and the folder that it makes where it is loaded."""
    sprung = tmp_path / "sprung"
    (tmp_path / "trap").write_bytes(f"cos\nmkdir\n(S'{sprung}'\ntR.".encode())
    return tmp_path / "trap", sprung


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return save_tiny(tmp_path_factory.mktemp("model") / "tiny")


def refused(read, sprung):
    with pytest.raises(RauqError):
        read()
    assert not sprung.exists()


def test_the_trap_works(trap):
    file, sprung = trap
    subprocess.run([sys.executable, "-m", "pickle", str(file)], check=True, capture_output=True)
    assert sprung.is_dir()


def test_a_trace(trap):
    file, sprung = trap
    refused(lambda: rauq.Trace.load(file.rename(file.with_name("trace.safetensors"))), sprung)


@pytest.mark.parametrize("ending", [ending for ending in ENDINGS if ending not in (".csv", ".tsv")])
def test_a_table(ending, trap):
    file, sprung = trap
    content = file.read_bytes()
    refused(lambda: read_table(content, f"table{ending}"), sprung)
    refused(lambda: read_file(file.rename(file.with_name(f"table{ending}"))), sprung)


@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_a_table_of_lines_is_text_and_nothing_else(ending, trap):
    file, sprung = trap
    table = read_table(file.read_bytes(), f"table{ending}")
    assert table.columns == ("cos",)
    assert not sprung.exists()


def test_document_frequencies(trap):
    file, sprung = trap
    refused(lambda: load_idf(file), sprung)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_model(name, trap, saved):
    file, sprung = trap
    kept = (saved / name).read_bytes()
    (saved / name).write_bytes(file.read_bytes())
    refused(lambda: rauq.load_model(str(saved)), sprung)
    (saved / name).write_bytes(kept)


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_a_run(name, trap, tmp_path):
    file, sprung = trap
    made_run(tmp_path / "made", quality=[1.0, 0.0])
    with export_zip(tmp_path / "made") as packed, ZipFile(packed) as archive:
        files = {entry: archive.read(entry) for entry in archive.namelist()}
    spoilt = io.BytesIO()
    with ZipFile(spoilt, "w") as archive:
        for entry, content in (files | {name: file.read_bytes()}).items():
            archive.writestr(entry, content)
    refused(lambda: import_zip(spoilt, tmp_path / "runs", "run"), sprung)
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_shard_in_a_folder(trap, tmp_path):
    file, sprung = trap
    made_run(tmp_path / "made", quality=[1.0, 0.0])
    for name in FILES[:2]:
        (tmp_path / "made" / name).write_bytes(file.read_bytes())
    assert open_run(tmp_path / "made").answers.empty
    assert not sprung.exists()
