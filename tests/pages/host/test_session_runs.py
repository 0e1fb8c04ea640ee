"""The runs of a session on a host: only its own, within the limits, wherever they came from."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import huggingface_hub
import pytest

from analysis.datasets.example import DataSet, Example
from analysis.runs import job
from analysis.runs.archive import export_zip
from analysis.runs.create import prepare, request_for
from analysis.runs.job import LOG, STOP, Status, only_job, write_status
from analysis.runs.library import FOLDER_VARIABLE
from analysis.runs.manifest import Answerer, read_manifest, write_manifest
from pages.ui.host import hosting, session_runs
from pages.ui.host.hosting import HOST
from pages.ui.host.store import Session, store
from rauq.errors import InvalidInput, RunError
from tests.pages.reading import interpreted
from tests.pages.runs_page import captions, new_run, open_form, open_runs, said, upload
from tests.pages.sets import make
from tests.traces import make_trace

pytestmark = pytest.mark.usefixtures("host")

LONG = "x" * (HOST.characters + 1)


@pytest.fixture
def no_process(monkeypatch):
    begun = []
    monkeypatch.setattr(job, "_started", lambda folder, **_: begun.append(folder))
    return begun


def imported(page, folder):
    with export_zip(folder) as archive:
        content = archive.read()
    page.session_state["import_run"] = True
    return page.run().get("file_uploader")[0].upload("copy.zip", content).run()


def own_folder(page):
    return session_runs.private_folder() / page.session_state["_runs_folder"]


@pytest.fixture
def request_and_data():
    data = DataSet(name="mine.csv", examples=(Example(id="0", prompt="Where?"),))
    return request_for(data, model="atlas"), data


def answerer(**changes):
    usual = {"name": "org/name", "kind": "base", "dtype": "float32", "layers": (0,), "num_layers": 1}
    return Answerer(**usual, num_heads=1, vocab_size=2, **changes)


FOREIGN = {
    **{
        name: ({name: "/etc"}, "from elsewhere")
        for name in ("weights", "revision", "nli", "similarity", "tagger", "idf")
    },
    **{name: ({name: value}, "offers atlas") for name, value in (("model", "/etc"), ("device", "cuda"))},
    "kind": ({"kind": "instruct"}, "offers atlas"),
    "rows": ({"count": HOST.rows + 1}, "501 rows"),
    "tokens": ({"max_new_tokens": HOST.new_tokens + 1}, "257 new tokens"),
    "samples": ({"samples": HOST.samples + 1}, "6 samples"),
    "batch": ({"batch_size": HOST.batch + 1}, "9 rows in a batch"),
}


@pytest.mark.parametrize(("change", "says"), FOREIGN.values(), ids=FOREIGN)
def test_a_run_beyond_a_limit_is_refused(change, says, request_and_data, monkeypatch):
    request, data = request_and_data
    session_runs.check_run(request, data.examples)
    with pytest.raises(InvalidInput, match=says):
        session_runs.check_run(replace(request, **change), data.examples)
    monkeypatch.setenv(hosting.HOSTED_VARIABLE, "")
    session_runs.check_run(replace(request, **change), data.examples)


def test_a_run_beyond_a_limit_is_not_created(request_and_data, monkeypatch, tmp_path):
    request, data = request_and_data
    monkeypatch.setattr(session_runs, "runs_folder", lambda: tmp_path)
    with pytest.raises(InvalidInput, match="257 new tokens"):
        session_runs.create_run("mine", data, replace(request, max_new_tokens=HOST.new_tokens + 1))
    assert not (tmp_path / "mine").exists()
    assert session_runs.create_run("mine", data, request) == tmp_path / "mine"
    with pytest.raises(InvalidInput, match="mine-2"):
        session_runs.create_run("mine", data, request)


@pytest.mark.parametrize("example", [Example(id="0", prompt=LONG), Example(id="0", prompt="a", answer=LONG)])
def test_a_text_of_a_run_that_is_too_long_is_refused(example, request_and_data):
    with pytest.raises(InvalidInput, match="4,001 characters"):
        session_runs.check_run(request_and_data[0], [example])


def test_the_form_of_a_run_names_no_path_and_keeps_the_rows(no_process):
    rows = "".join(f"Where is {number}?\n" for number in range(HOST.rows + 1))
    page = upload(open_form(), f"prompt\n{rows}".encode())
    assert not page.exception
    assert {field.key for field in page.text_input} == {"new_run_name"}
    sources = next(group for group in page.get("button_group") if group.key == "new_run_source")
    assert "The paper's" not in [option.content for option in sources.proto.options]
    assert page.number_input(key="new_run_limit").placeholder == "all 500"
    assert "The first 500 rows were read; 1 more were left out" in said(page)
    page.button(key="start_run").click().run()
    (folder,) = own_folder(page).iterdir()
    assert read_manifest(folder).request.count == HOST.rows
    assert no_process == [folder]


def test_a_session_sees_only_the_bundled_run_and_its_own(open_app, tmp_path):
    make(tmp_path / "private", "of-this-machine")
    mine, other = imported(open_runs(), new_run(tmp_path / "made")), open_runs()
    assert not mine.error
    assert "copy" in said(mine)
    for text in ("copy", "of-this-machine"):
        assert text not in said(other.run())
        assert "There is no run of that name here." in interpreted(open_runs(run=text))
        assert "was not found in a run here" in interpreted(open_app(run=text, number="0"))
    assert "only while this page is open" in captions(mine)
    assert own_folder(mine) != own_folder(other)
    assert len(own_folder(mine).name) == 22  # of 64 letters: 128 bits


@pytest.mark.parametrize("change", [{"model": "/etc"}, {"nli": "/etc"}], ids=["model", "judge"])
def test_an_imported_run_is_not_resumed_beyond_what_is_offered(change, no_process, tmp_path):
    data = DataSet(name="a", examples=(Example(id="0", prompt="Where?"),))
    prepare(tmp_path / "made", data, request_for(data, **{"model": "atlas"} | change))
    page = imported(open_runs(), tmp_path / "made")
    page.button(key="resume_copy").click().run()
    assert not page.exception
    assert page.error[0].value == "This input cannot be used"
    assert no_process == []


def test_an_imported_run_cannot_choose_a_commit(no_process, tmp_path, monkeypatch):
    monkeypatch.setattr(hosting, "models", lambda: ("org/name",))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    data, commit = DataSet(name="a", examples=(Example(id="0", prompt="Where?"),)), "a" * 40
    manifest = prepare(tmp_path / "run", data, request_for(data, model="org/name"))
    session_runs.check_begin(tmp_path / "run")
    write_manifest(tmp_path / "run", replace(manifest, answerer=answerer(revision=commit)))
    with pytest.raises(InvalidInput, match="commit aaaaaaaaaaaa of org/name, which this host does not have"):
        session_runs.check_begin(tmp_path / "run")
    snapshot = tmp_path / "cache" / "models--org--name" / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").touch()
    session_runs.check_begin(tmp_path / "run")
    assert no_process == []


def test_the_log_of_a_job_is_hidden_on_a_host(tmp_path, monkeypatch):
    page = imported(open_runs(), new_run(tmp_path / "made"))
    folder = own_folder(page) / "copy"
    write_status(folder, Status(state="failed", total=3, message="No room"))
    (folder / LOG).write_text("a path of this machine")
    assert "No room" in said(page.run())
    assert [code.value for code in page.code] == []
    monkeypatch.setenv(hosting.HOSTED_VARIABLE, "")
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder.parent))
    assert [code.value for code in page.run().code] == ["a path of this machine"]


@pytest.mark.parametrize("hosted", [True, False])
def test_only_a_host_s_job_ends_with_the_server(hosted, host, monkeypatch):
    begun = []
    monkeypatch.setattr(session_runs, "start_job", lambda _folder, *, with_parent: begun.append(with_parent))
    monkeypatch.setenv(hosting.HOSTED_VARIABLE, "1" if hosted else "")
    session_runs.begin_job(new_run(host / "session" / "run"))
    assert begun == [hosted]


def test_no_more_jobs_run_at_once_than_the_limit(host):
    runs = [new_run(host / session / "run") for session in "abc"]
    with only_job(runs[0]):
        session_runs.check_begin(runs[2])
        with only_job(runs[1]), pytest.raises(InvalidInput, match="2 jobs are running on this host"):
            session_runs.check_begin(runs[2])
    session_runs.check_begin(runs[2])


def test_two_runs_started_at_once_are_not_both_admitted(host, monkeypatch):
    monkeypatch.setattr(hosting, "HOST", replace(HOST, jobs=1))
    runs = [new_run(host / session / "run") for session in "ab"]
    begun, crowded, go_on, at_work = threading.Event(), threading.Event(), threading.Event(), set()

    def start(folder, **_):
        (crowded if begun.is_set() else begun).set()
        assert go_on.wait(30)
        at_work.add(folder)

    monkeypatch.setattr(session_runs, "start_job", start)
    monkeypatch.setattr(session_runs, "is_held", at_work.__contains__)
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(session_runs.begin_job, run) for run in runs]
        assert begun.wait(30)
        assert not crowded.wait(0.1)  # the other one is not admitted before the first is counted
        go_on.set()
        errors = [one.exception(30) for one in both]
    assert sorted(str(error)[:31] for error in errors) == ["1 jobs are running on this host", "None"]


@pytest.fixture
def sessions(host, monkeypatch):
    """Two sessions of one visitor and one of another, each with a run; this is the first one."""
    monkeypatch.setattr(session_runs.st, "session_state", {"_runs_folder": "mine"})
    visitors = {"": ("a", "mine"), "again": ("a", "also-mine"), "other": ("b", "theirs")}
    for name, (visitor, folder) in visitors.items():
        new_run(host / folder / "run")
        store().sessions[name] = Session(visitor=visitor, folder=folder)
    return host


def limited(monkeypatch, **limits):
    monkeypatch.setattr(hosting, "HOST", replace(HOST, **limits))


def test_a_visitor_has_room_of_its_own_and_nobodys_run_is_deleted_for_another(sessions, monkeypatch):
    size = session_runs._bytes([sessions / "mine" / "run"])
    session_runs.make_room()
    limited(monkeypatch, bytes_each=size)
    with pytest.raises(InvalidInput, match="Your runs have more than"):
        session_runs.make_room()
    limited(monkeypatch, bytes_each=2 * size, bytes=2 * size)
    with pytest.raises(InvalidInput, match="no space for another run"):
        session_runs.make_room()
    store().sessions["other"].folder = "not-there-yet"
    limited(monkeypatch, bytes_each=2 * size, bytes=3 * size)
    session_runs.make_room()
    assert len(list(sessions.glob("*/run"))) == 3


def test_one_job_of_a_visitor_runs_at_a_time(sessions):
    with only_job(sessions / "also-mine" / "run"):
        with pytest.raises(InvalidInput, match="A job of your address is running"):
            session_runs.check_begin(sessions / "mine" / "run")
        store().sessions[""].visitor = "c"
        session_runs.check_begin(sessions / "mine" / "run")


def test_what_a_session_owned_is_deleted_some_minutes_after_it_left(sessions):
    kept = {name: store().answers.keep(make_trace(), session=name) for name in ("", "other")}
    shared = store().answers.keep(make_trace(), session="other")
    store().answers.find(shared, session="")
    for session in store().sessions.values():
        session.connected -= hosting.LEFT_SECONDS - 30
    assert session_runs.clear_left(lambda name: name != "other") == []  # a short break of the connection
    store().sessions["other"].connected -= 31
    with only_job(sessions / "theirs" / "run"):
        session_runs.clear_left(lambda name: name != "other")
        assert (sessions / "theirs" / "run" / STOP).exists()
    assert (sessions / "theirs").exists()
    assert session_runs.clear_left(lambda name: name != "other") == ["other"]
    assert [path.name for path in sorted(sessions.iterdir())] == ["also-mine", "mine"]
    assert list(store().sessions) == ["", "again"]
    assert store().answers.find(kept["other"]) is None
    assert None not in {store().answers.find(name) for name in (kept[""], shared)}


def test_cleaning_goes_on_when_a_job_ends_at_the_same_moment(sessions, monkeypatch):
    for session in store().sessions.values():
        session.connected -= hosting.LEFT_SECONDS + 1

    def gone(_run):
        raise RunError

    monkeypatch.setattr(session_runs, "is_held", lambda run: run.parent.name == "mine")
    monkeypatch.setattr(session_runs, "request_stop", gone)
    assert set(session_runs.clear_left(lambda _name: False)) == {"", "again", "other"}
    assert [path.name for path in sessions.iterdir()] == ["mine"]
    monkeypatch.setattr(session_runs, "is_held", lambda _run: False)
    assert session_runs.clear_left(lambda _name: False) == [""]
    assert list(sessions.iterdir()) == []


def test_a_visitor_has_a_bounded_number_of_runs(sessions, monkeypatch):
    limited(monkeypatch, runs_each=3)
    session_runs.make_room()
    new_run(sessions / "mine" / "another")
    with pytest.raises(InvalidInput, match="Your address has 3 runs, and at most 3 are allowed"):
        session_runs.make_room()


def test_a_large_archive_is_not_unpacked(monkeypatch, tmp_path, host):
    monkeypatch.setattr(hosting, "HOST", replace(HOST, archive=100))
    page = imported(open_runs(), new_run(tmp_path / "made"))
    assert "This archive is not unpacked: its examples.parquet unpacks to" in said(page)
    assert list(host.glob("*/*")) == []
