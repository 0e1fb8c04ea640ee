"""The app for strangers: models of its list, the limits, and a session's own runs, whatever a client sends."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

import rauq
from analysis.datasets.example import DataSet, Example
from analysis.runs import process
from analysis.runs.archive import export_zip
from analysis.runs.library import FOLDER_VARIABLE
from analysis.runs.lock import only_job
from analysis.runs.manifest import MOST_EXAMPLES, MOST_SAMPLES, read_manifest
from analysis.runs.preparing import prepare, request_for
from pages.ui import cache, hosting, jobs, session_runs, state
from pages.ui.cache import ModelChoice
from pages.ui.hosting import HOST, OWN, Limits
from pages.ui.jobs import Branch, Request
from rauq.errors import InvalidInput
from rauq.trace_file import LARGEST_UPLOAD
from tests.pages.comparing import open_compare
from tests.pages.reading import interpreted, written
from tests.pages.runs_page import new_run, open_form, open_runs, said, told, upload
from tests.pages.sets import make
from tests.traces import make_trace

ATLAS = ModelChoice()
LONG = "x" * (HOST.characters + 1)
PATHS = {"other_model", "new_run_weights", "new_run_copy"}


@pytest.fixture(autouse=True)
def host(monkeypatch, tmp_path):
    """A host whose machine has runs and models that are nobody's business."""
    monkeypatch.setenv(hosting.HOSTED_VARIABLE, "1")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "private"))
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.setattr(cache, "private_place", lambda: place)
    return place


@pytest.fixture
def nothing_is_read(monkeypatch):
    def refuse(*_arguments, **_options):
        raise AssertionError

    monkeypatch.setattr(rauq, "load_model", refuse, raising=False)
    monkeypatch.setattr(rauq, "examine", refuse, raising=False)


@pytest.fixture
def no_process(monkeypatch):
    begun = []
    monkeypatch.setattr(process, "_started", begun.append)
    return begun


def fields(page):
    return {field.key for field in page.text_input}


def imported(page, folder):
    with export_zip(folder) as archive:
        content = archive.read()
    page.session_state["import_run"] = True
    return page.run().get("file_uploader")[0].upload("copy.zip", content).run()


def own_folder(page):
    return cache.private_place() / page.session_state["_runs_folder"]


@pytest.mark.parametrize(("value", "hosted"), [(None, False), ("", False), ("0", False), ("1", True), ("yes", True)])
def test_a_variable_makes_it_a_host(value, hosted, monkeypatch):
    monkeypatch.delenv(hosting.HOSTED_VARIABLE)
    if value is not None:
        monkeypatch.setenv(hosting.HOSTED_VARIABLE, value)
    assert hosting.is_hosted() is hosted
    assert hosting.limits() is (HOST if hosted else OWN)


@pytest.mark.parametrize(
    ("listed", "models"),
    [(None, ("atlas",)), (" , ", ("atlas",)), ("org/a, atlas,org/a", ("org/a", "atlas")), ("org/a", ("org/a",))],
)
def test_the_models_are_those_of_the_list(listed, models, monkeypatch):
    if listed is not None:
        monkeypatch.setenv(hosting.MODELS_VARIABLE, listed)
    assert hosting.models() == models


def test_ones_own_machine_has_the_limits_that_hold_anyway(monkeypatch):
    monkeypatch.setenv(hosting.HOSTED_VARIABLE, "")
    assert (OWN.rows, OWN.samples) == (MOST_EXAMPLES, MOST_SAMPLES)
    hosting.check_model(ModelChoice(name="/any/folder", device="cuda", kind="instruct"))
    hosting.check_answer(Request(model=ATLAS, prompt=LONG * 100, answer=LONG))
    assert session_runs.runs_folder() == Path(os.environ[FOLDER_VARIABLE])
    assert all(getattr(HOST, name) <= getattr(OWN, name) for name in Limits.__dataclass_fields__)


@pytest.mark.parametrize(
    "choice",
    [
        *(ModelChoice(name=name) for name in ("", "/etc", "..", "~", "org/other", "atlas/..", "atlas\0", " atlas")),
        *(replace(ATLAS, device="cuda"), replace(ATLAS, dtype="float16"), replace(ATLAS, kind="instruct")),
    ],
    ids=repr,
)
@pytest.mark.usefixtures("nothing_is_read")
def test_no_other_model_is_looked_at_or_loaded(choice):
    for look in (cache.model, cache.examine):
        with pytest.raises(InvalidInput, match="this host offers atlas"):
            look(choice)
    job = jobs.start(Request(model=choice, prompt="Where?"))
    assert job.done.wait(30)
    assert "this host offers atlas" in str(job.error)


BRANCH = Branch(origin=make_trace(), token=0, instead=LONG)
LONG_BRANCH = replace(BRANCH, instead=5, origin=make_trace((LONG.encode(),)))


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"prompt": LONG}, "8,001 characters of prompt"),
        ({"answer": LONG}, "8,001 characters of answer"),
        ({"branch": BRANCH}, "8,001 characters of answer"),
        ({"branch": LONG_BRANCH}, "8,001 characters of answer"),
        ({"max_new_tokens": HOST.new_tokens + 1}, "Got 257 new tokens; there may be 1 to 256"),
        ({"max_new_tokens": 0}, "Got 0 new tokens"),
    ],
)
@pytest.mark.usefixtures("nothing_is_read")
def test_a_request_that_oversteps_a_limit_is_refused_at_once(asked, says):
    job = jobs.start(Request(**{"model": ATLAS, "prompt": "Where?"} | asked))
    assert not job.live
    assert says in str(job.error)


def test_the_form_offers_the_list_and_says_the_limits(open_app, monkeypatch):
    monkeypatch.setenv(hosting.MODELS_VARIABLE, "atlas,org/name")
    for page in (open_app(), open_compare()):
        assert not page.exception
        assert not fields(page) & PATHS
    page = written(open_app(), prompt=LONG).run()
    assert page.selectbox(key=state.MODEL).options == ["atlas", "org/name"]
    assert page.number_input(key=state.LIMIT).max == HOST.new_tokens
    assert "8,000 characters each" in interpreted(page)
    page.button(key="run").click().run()
    assert "Got 8,001 characters of prompt" in said(page)
    assert page.text_area(key=state.PROMPT).value == LONG


@pytest.mark.usefixtures("nothing_is_read")
def test_a_model_that_no_field_offers_is_refused(open_app, monkeypatch):
    monkeypatch.setenv(hosting.MODELS_VARIABLE, "atlas,/etc")
    page = written(open_app(), prompt="Where?").run()
    page.selectbox(key=state.MODEL).set_value("/etc")
    monkeypatch.setenv(hosting.MODELS_VARIABLE, "atlas")
    page.button(key="run").click().run()
    assert not page.exception
    job = page.session_state[state.JOB]
    assert job.done.wait(30)
    assert "this host offers atlas" in str(job.error)


@pytest.mark.usefixtures("nothing_is_read")
def test_a_link_brings_no_model_and_no_more_tokens_than_there_may_be(open_app):
    page = open_app(prompt="Where?", model="/etc/passwd", kind="instruct", max_new_tokens="1000")
    assert not page.exception
    assert page.selectbox(key=state.MODEL).value == "atlas"
    assert page.number_input(key=state.LIMIT).value == HOST.new_tokens
    assert "The link's model is not offered here" in interpreted(page)
    assert "The link's limit of tokens cannot be used here; it is 256 now." in interpreted(page)


@pytest.mark.usefixtures("nothing_is_read")
def test_an_uploaded_answer_of_another_model_does_not_branch(open_app):
    trace = make_trace(model="/etc", kind="instruct")
    page = open_app(trace)
    assert page.selectbox(key=state.MODEL).value == "atlas"
    assert LARGEST_UPLOAD <= 64 * 2**20
    request = Request(model=ModelChoice(name=trace.model), prompt=trace.prompt, branch=replace(BRANCH, instead=5))
    job = jobs.start(request)
    assert job.done.wait(30)
    assert "this host offers atlas" in str(job.error)


@pytest.fixture
def request_and_data():
    data = DataSet(name="mine.csv", examples=(Example(id="0", prompt="Where?"),))
    return request_for(data, model="atlas"), data


FOREIGN = {
    **{name: ({name: "/etc"}, "from elsewhere") for name in ("weights", "nli", "similarity", "tagger", "idf")},
    **{name: ({name: value}, "offers atlas") for name, value in (("model", "/etc"), ("device", "cuda"))},
    "kind": ({"kind": "instruct"}, "offers atlas"),
    "rows": ({"count": HOST.rows + 1}, "501 rows"),
    "tokens": ({"max_new_tokens": HOST.new_tokens + 1}, "257 new tokens"),
    "samples": ({"samples": HOST.samples + 1}, "6 samples"),
    "batch": ({"batch_size": HOST.batch + 1}, "17 rows in a batch"),
}


@pytest.mark.parametrize(("change", "says"), FOREIGN.values(), ids=FOREIGN)
def test_a_run_that_oversteps_a_limit_is_refused(change, says, request_and_data, monkeypatch):
    request, data = request_and_data
    session_runs.check_run(request, data.examples)
    with pytest.raises(InvalidInput, match=says):
        session_runs.check_run(replace(request, **change), data.examples)
    monkeypatch.setenv(hosting.HOSTED_VARIABLE, "")
    session_runs.check_run(replace(request, **change), data.examples)


@pytest.mark.parametrize("example", [Example(id="0", prompt=LONG), Example(id="0", prompt="a", answer=LONG)])
def test_a_text_of_a_run_that_is_too_long_is_refused(example, request_and_data):
    with pytest.raises(InvalidInput, match="8,001 characters"):
        session_runs.check_run(request_and_data[0], [example])


def test_the_form_of_a_run_names_no_path_and_keeps_the_rows(no_process):
    rows = "".join(f"Where is {number}?\n" for number in range(HOST.rows + 1))
    page = upload(open_form(), f"prompt\n{rows}".encode())
    assert not page.exception
    assert fields(page) == {"new_run_name"}
    sources = next(group for group in page.get("button_group") if group.key == "new_run_source")
    assert "The paper's" not in [option.content for option in sources.proto.options]
    assert page.number_input(key="new_run_limit").placeholder == "500 of 501"
    page.button(key="start_run").click().run()
    (folder,) = own_folder(page).iterdir()
    assert read_manifest(folder).request.count == HOST.rows
    assert no_process == [folder]


def test_a_session_sees_the_bundled_run_and_its_own_alone(open_app, tmp_path):
    make(tmp_path / "private", "of-this-machine")
    mine, other = imported(open_runs(), new_run(tmp_path / "made")), open_runs()
    assert not mine.error
    assert "copy" in said(mine)
    for text in ("copy", "of-this-machine"):
        assert text not in said(other.run())
        assert "There is no run of that name here." in interpreted(open_runs(run=text))
        assert "There is no such answer of a run here" in interpreted(open_app(run=text, number="0"))
    assert "they go with this page" in told(mine)
    assert own_folder(mine) != own_folder(other)
    assert len(own_folder(mine).name) == 22  # of 64 letters: 128 bits


@pytest.mark.parametrize("change", [{"model": "/etc"}, {"nli": "/etc"}], ids=["model", "judge"])
def test_a_run_from_elsewhere_is_not_gone_on_with_beyond_what_is_offered(change, no_process, tmp_path):
    data = DataSet(name="a", examples=(Example(id="0", prompt="Where?"),))
    prepare(tmp_path / "made", data, request_for(data, **{"model": "atlas"} | change))
    page = imported(open_runs(), tmp_path / "made")
    page.button(key="resume_copy").click().run()
    assert not page.exception
    assert page.error[0].value == "This input cannot be used"
    assert no_process == []


def test_so_many_jobs_work_at_a_time_and_no_more(host):
    runs = [new_run(host / session / "run") for session in "abc"]
    with only_job(runs[0]):
        session_runs.check_begin(runs[2])
        with only_job(runs[1]), pytest.raises(InvalidInput, match="2 jobs work on this host"):
            session_runs.check_begin(runs[2])
    session_runs.check_begin(runs[2])


def test_runs_of_the_longest_unused_session_make_room(host, monkeypatch):
    monkeypatch.setattr(session_runs.st, "session_state", {"_runs_folder": "mine"})
    runs = {name: new_run(host / name / "run") for name in ("at-work", "mine", "old", "new")}
    for age, name in enumerate(runs):
        os.utime(host / name, (age, age))
    size = session_runs._bytes() // 4
    room(monkeypatch, 3.5 * size)
    with only_job(runs["at-work"]):
        session_runs.make_room()
        assert {path.name for path in host.iterdir()} == {"at-work", "mine", "new"}
        room(monkeypatch, 1.5 * size)
        with pytest.raises(InvalidInput, match="no room for another run"):
            session_runs.make_room()
    assert {path.name for path in host.iterdir()} == {"at-work", "mine"}


def room(monkeypatch, size):
    monkeypatch.setattr(hosting, "HOST", replace(HOST, bytes=int(size)))


def test_a_large_archive_is_not_unpacked(monkeypatch, tmp_path, host):
    monkeypatch.setattr(hosting, "HOST", replace(HOST, archive=100))
    page = imported(open_runs(), new_run(tmp_path / "made"))
    assert "This archive is not unpacked: it unpacks from" in said(page)
    assert list(host.glob("*/*")) == []


def test_errors_tell_strangers_nothing_about_the_machine(open_app, monkeypatch):
    told = []
    monkeypatch.setattr("streamlit.set_option", lambda *option: told.append(option))
    open_app()
    assert set(told) == {("client.showErrorDetails", "none")}
    monkeypatch.setenv(hosting.HOSTED_VARIABLE, "0")
    told.clear()
    open_app()
    assert told == []
