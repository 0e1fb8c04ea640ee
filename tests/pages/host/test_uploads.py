"""Uploads of strangers to a host: read by processes of their own, few at once, and refused in words."""

import io
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import streamlit as st
from streamlit.runtime.uploaded_file_manager import DeletedFile

from analysis.datasets.example import DataSet, Example
from analysis.runs.archive import export_zip
from analysis.runs.create import prepare, request_for
from pages.ui.host import hosting, uploads
from pages.ui.host.hosting import Busy
from pages.ui.host.store import UploadSlots, store
from rauq.errors import InvalidInput, RunError
from tests.analysis.uploads.bombs import lists, manifest, parquet_of, zipped
from tests.pages.runs_page import open_form, open_runs, said, upload

PATIENCE = 30  # seconds


def test_a_visitor_has_one_upload_read_at_a_time():
    slots = UploadSlots(patience=0.05)
    with slots.place("a"):
        with pytest.raises(Busy, match="reads 2 uploads at once, and one of an address"), slots.place("a"):
            pass
        with slots.place("b"):
            pass
    with slots.place("a"):
        pass


def test_a_third_upload_waits_and_is_refused_in_the_end():
    slots = UploadSlots(patience=0.05)
    with (
        slots.place("a"),
        slots.place("b"),
        pytest.raises(InvalidInput, match="reads 2 uploads at once"),
        slots.place("c"),
    ):
        pass
    with slots.place("c"), slots.place("a"):  # whoever was refused does not wait any more
        pass


def test_a_third_upload_is_read_once_another_is_done():
    slots, begun = UploadSlots(patience=PATIENCE), threading.Event()

    def third():
        with slots.place("c"):
            begun.set()

    with ThreadPoolExecutor(1) as pool, slots.place("a"):
        with slots.place("b"):
            waiting = pool.submit(third)
            assert not begun.wait(0.1)
        waiting.result(PATIENCE)


def test_a_failed_upload_leaves_its_place():
    slots = UploadSlots(patience=0.05)
    for _ in range(3):
        with pytest.raises(RunError), slots.place("a"):
            raise RunError
    with slots.place("a"), slots.place("b"):
        pass


def test_the_desk_outlives_the_caches_that_a_client_may_clear():
    kept = store().upload_slots
    st.cache_resource.clear()
    st.cache_data.clear()
    assert store().upload_slots is kept


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (parquet_of(500_000, 2_000), "a.parquet", "unpacks to more than"),
        (lists(6_000_000), "a.json", "at most 5,000,000 can be read"),
    ],
    ids=["parquet", "json"],
)
@pytest.mark.usefixtures("host")
def test_a_bomb_as_a_data_set_is_refused_on_the_page(content, name, message):
    page = upload(open_form(), content, name)
    assert not page.exception
    assert message in said(page)


def imported(page, archive):
    page.session_state["import_run"] = True
    return page.run().get("file_uploader")[0].upload("copy.zip", archive.read()).run()


def test_a_bomb_as_a_run_is_refused_on_the_page(host):
    page = imported(open_runs(), zipped({"manifest.json": manifest(lists(1_000_000))}))
    assert not page.exception
    assert "its manifest.json unpacks to" in said(page)
    assert list(host.glob("*/*")) == []


def test_the_host_reads_nothing_itself(host, monkeypatch):
    def read_here(*_arguments, **_options):
        raise AssertionError

    monkeypatch.setattr("analysis.datasets.own_files.read_table", read_here)
    monkeypatch.setattr("analysis.runs.archive.import_zip", read_here)
    assert len(uploads.read_table(b"prompt\nWhy?\n", "a.csv").rows) == 1
    with pytest.raises(RunError, match="not an archive of a run"):
        uploads.import_run(io.BytesIO(b"PK"), host / "runs", "run")


@pytest.fixture
def judged(tmp_path):
    """The archive of a run whose quality needs weights."""
    data = DataSet(name="a", examples=(Example(id="0", prompt="Where?"),))
    prepare(tmp_path / "judged", data, request_for(data, model="atlas", quality="alignscore"))
    with export_zip(tmp_path / "judged") as archive:
        yield archive


def test_a_run_whose_quality_needs_weights_is_refused_at_import(judged, host, monkeypatch):
    with pytest.raises(InvalidInput, match="AlignScore of the reference, given the answer, which needs weights"):
        uploads.import_run(judged, host / "runs", "run")
    assert list((host / "runs").iterdir()) == []
    monkeypatch.setenv(hosting.HOSTED_VARIABLE, "")
    judged.seek(0)
    assert uploads.import_run(judged, host / "runs", "run").is_dir()


def test_a_file_that_the_server_no_longer_holds_is_none(monkeypatch):
    monkeypatch.setattr(uploads.st, "session_state", {"field": DeletedFile("id"), "empty": None})
    assert uploads.uploaded("field") is None
    assert uploads.uploaded("empty") is None
