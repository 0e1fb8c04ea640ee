"""The list of runs: its entries, their progress, and the actions on them."""

import io
import os
import shutil
import zipfile
from dataclasses import replace

import pytest

from analysis.runs import library
from analysis.runs.archive import export_zip
from analysis.runs.job import LOG, Status, only_job, write_status
from analysis.runs.manifest import MANIFEST, read_manifest, write_manifest
from analysis.runs.own import OwnQuality
from tests.analysis.report.made_run import made_run, rename_methods, with_own_method
from tests.pages.runs_page import HOSTILE, captions, keys, new_run, open_runs, said

MADE = "made"


@pytest.fixture(autouse=True)
def root(runs):
    """The folder of runs, empty."""
    runs.mkdir()
    return runs


def badges(page):
    return [text.value for text in page.markdown if "-badge[" in text.value]


def links(page):
    return [link.proto.query_string for link in page.get("page_link")]


def imported(page, content, name="copy.zip"):
    page.session_state["import_run"] = True
    page.run()
    (uploader,) = page.get("file_uploader")
    return uploader.upload(name, content).run()


def test_without_a_run_the_page_says_how_to_make_one():
    page = open_runs()
    assert not page.exception
    assert "There is no run yet" in captions(page)
    page = page.button(key="new_run").click().run()
    assert page.query_params["view"] == "new"
    page = page.button(key="all_runs").click().run()
    assert "There is no run yet" in captions(page)


def test_a_finished_run_leads_to_its_figures(root):
    made_run(root / MADE, quality=[1.0, 0.0], text="<b>a</b>")
    page = open_runs()
    assert not page.exception
    assert "2 answers, 1 failed" in said(page)
    assert badges(page) == [":gray-badge[finished]"]
    assert links(page) == [f"run={MADE}"] * 2  # Answer sets and Methods
    page = page.button(key=f"details_{MADE}").click().run()
    assert page.query_params["run"] == MADE
    assert "3 examples of <b>a</b>, created on 2030-01-01 UTC" in said(page)
    assert page.dataframe[0].value.to_numpy().tolist() == [[2, "What is 2?", "out of memory"]]
    assert "Quality of the data set" in said(page)
    assert {"delete"} <= keys(page)
    assert f"resume_{MADE}" not in keys(page)
    assert "delete" not in keys(page.button(key=f"details_{MADE}").click().run())


def test_the_bundled_run_is_first_and_stays(root, tmp_path):
    made_run(root / "a-first-letter", quality=[1.0])
    made_run(tmp_path / "bundled", quality=[1.0])
    page = open_runs(run=library.BUNDLED)
    assert next(text.value for text in page.text) == library.BUNDLED
    assert not {"delete", f"resume_{library.BUNDLED}"} & keys(page)


def test_methods_that_this_version_does_not_have_are_named_in_the_details(root):
    made_run(root / MADE, quality=[1.0, 0.0])
    assert "does not have" not in said(open_runs(run=MADE))
    rename_methods(root / MADE, msp="gone_msp")
    page = open_runs(run=MADE)
    assert not page.exception
    assert "Methods: RAUQ, Perplexity, Mean Token Entropy\n" in said(page)
    assert "Methods unknown to this version, kept in the run's table but not ranked: gone_msp." in said(page)
    assert "damaged" not in said(page)


def test_methods_and_quality_of_the_users_own_are_named_in_the_details(root):
    made_run(root / MADE, quality=[1.0, 0.0])
    with_own_method(root / MADE, "msp", id="weakest", name="Weakest token")
    manifest = read_manifest(root / MADE)
    own = replace(manifest.request, quality="own", own_quality=OwnQuality(name="first_word"))
    write_manifest(root / MADE, replace(manifest, request=own))
    page = open_runs(run=MADE)
    assert not page.exception
    assert "Methods: RAUQ, Weakest token, Perplexity, Mean Token Entropy\n" in said(page)
    assert "Quality: Own function first_word\n" in said(page)
    assert "unknown" not in said(page)


def test_the_newest_run_is_first(root):
    for since, name in enumerate("bca"):
        manifest = new_run(root / name) / MANIFEST
        os.utime(manifest, (since, since))
    assert [text.value for text in open_runs().text if text.value in "abc"] == ["a", "c", "b"]


def test_a_broken_run_is_listed_with_its_reason(root):
    (new_run(root / "broken") / "manifest.json").write_text("{")
    new_run(root / "whole")
    page = open_runs(run="broken")
    assert not page.exception
    assert badges(page) == [":gray-badge[not started]", ":orange-badge[broken]"]
    assert "manifest.json cannot be read" in said(page)
    assert {"delete"} <= keys(page)


@pytest.mark.parametrize("name", ["nothing", HOSTILE])
def test_a_link_to_a_missing_run_is_reported(name, root):
    new_run(root / "whole")
    page = open_runs(run=name)
    assert not page.exception
    assert "There is no run of that name here." in [toast.value for toast in page.toast]
    assert "run" not in page.query_params
    assert "evil" not in captions(page)


def test_texts_of_a_run_are_drawn_as_text(root):
    folder = new_run(root / "hostile", data=HOSTILE)
    write_status(folder, Status(state="failed", total=3, message=HOSTILE))
    (folder / LOG).write_text(f"first\n{HOSTILE}\n")
    page = open_runs(run="hostile")
    assert said(page).count("evil") == 3 * 2  # in its line, as what was asked, and as what went wrong
    assert "evil" in page.code[0].value
    assert page.code[0].language == "plaintext"
    assert "evil" not in captions(page)


def test_a_running_job_is_shown_and_can_be_stopped(root):
    folder = new_run(root / "works", count=40)
    status = Status(state="answering", total=40, saved=8, failed=1, in_works=2, answered=10, tokens=300, seconds=6.0)
    with only_job(folder):
        write_status(folder, status)
        page = open_runs(run="works")
        assert "9 of 40 answers, 1 failed, 50 tokens/s, about 18 s left" in said(page)
        assert badges(page) == [":blue-badge[answering]"]
        assert page.button(key="delete").disabled
        assert "resume_works" not in keys(page)
        page.button(key="stop_works").click().run()
        assert (folder / "stop").exists()
        assert not page.error
        assert badges(page) == [":blue-badge[stopping]"]
        assert page.button(key="stop_works").disabled


def test_a_killed_job_can_be_resumed(root):
    folder = new_run(root / "killed")
    write_status(folder, Status(state="answering", total=3, saved=1))
    page = open_runs()
    assert badges(page) == [":orange-badge[interrupted]"]
    assert "may have been killed" in said(page)
    assert page.button(key="resume_killed").label == "Resume"


def test_a_second_job_on_a_run_is_refused(root):
    folder = new_run(root / "twice")
    new_run(root / "another")
    page = open_runs(run="twice")
    with only_job(folder):  # as if another tab had started it
        page.button(key="resume_twice").click().run()
    assert not page.exception
    assert [error.value for error in page.error] == ["This run cannot be used"]
    texts = [text.value for text in page.text]
    (told_at,) = (place for place, text in enumerate(texts) if "Another job is using" in text)
    assert texts.index("another") < texts.index("twice") < told_at  # next to the run


def test_a_job_that_cannot_start_is_reported_with_the_reason(root):
    folder = new_run(root / "lost")
    (folder / "examples.parquet").write_bytes(b"PAR1")
    page = open_runs(run="lost").button(key="resume_lost").click().run()
    assert not page.exception
    assert "examples.parquet cannot be read" in said(page)


def test_deleting_asks_first(root):
    folder = new_run(root / "gone")
    new_run(root / "kept")
    page = open_runs(run="gone").button(key="delete").click().run()
    assert folder.exists()
    assert "Delete gone (" in said(page)
    page = page.button(key="keep").click().run()
    assert "delete_for_good" not in keys(page)
    page = page.button(key="delete").click().run()
    page = page.button(key="delete_for_good").click().run()
    assert not folder.exists()
    assert (root / "kept").exists()
    assert "run" not in page.query_params
    assert not page.error


def test_files_that_are_not_part_of_a_run_are_not_deleted(root):
    folder = new_run(root / "mixed")
    (folder / "thesis.txt").write_text("years of work")
    page = open_runs(run="mixed").button(key="delete").click().run()
    page = page.button(key="delete_for_good").click().run()
    assert (folder / "thesis.txt").exists()
    assert "it contains other files, such as thesis.txt" in said(page)


def test_a_run_that_is_deleted_elsewhere_leaves_the_list(root):
    folder = new_run(root / "gone")
    page = open_runs(run="gone")
    shutil.rmtree(folder)
    page.button(key="resume_gone").click().run()
    assert not page.exception
    assert "is not a run" in said(page)
    assert "There is no run yet" in captions(page)


def test_an_exported_run_can_be_imported(root):
    with export_zip(new_run(root / MADE)) as archive:
        content = archive.read()
    page = imported(open_runs(), content, "made.zip")
    assert not page.exception
    assert not page.error
    assert page.query_params["run"] == f"{MADE}-2"
    assert badges(page) == [":gray-badge[not started]"] * 2


def downloads(page):
    return [button.proto.label for button in page.get("download_button")]


def test_results_can_be_downloaded_once_there_are_some(root):
    made_run(root / MADE, quality=[1.0])
    new_run(root / "new")
    assert downloads(open_runs(run=MADE))[-2:] == ["Results as Parquet", "Results as JSONL"]
    assert downloads(open_runs(run="new")) == ["Export as zip"]


def zipped(**files):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "../"), text)
    return content.getvalue()


BAD_ARCHIVES = {
    "escapes": (zipped(manifest="{}", __evil="boo"), "is not a file of a run"),
    "no archive": (b"PK\x03\x04 and nothing else", "not an archive of a run"),
}


@pytest.mark.parametrize(("content", "words"), BAD_ARCHIVES.values(), ids=BAD_ARCHIVES)
def test_an_archive_that_is_not_a_run_is_refused_as_a_whole(content, words, root):
    page = imported(open_runs(), content)
    assert not page.exception
    assert len(page.error) == 1
    assert words in said(page)
    assert list(root.iterdir()) == []
    assert not (root.parent / "evil").exists()
    assert "There is no run yet" in captions(page)
