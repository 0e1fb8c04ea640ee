"""The hosted app: only listed models, and limits on every request that a client sends."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import rauq
from analysis.runs.library import FOLDER_VARIABLE
from analysis.runs.manifest import MOST_EXAMPLES, MOST_SAMPLES
from pages.ui.host import hosting, models, server, session_runs
from pages.ui.host.hosting import HOST, OWN, Limits, ModelChoice
from pages.ui.host.request import Branch, Request, check_answer
from pages.ui.host.store import store
from pages.ui.inspect import form
from pages.ui.shared import state
from rauq.checkpoints.named import MODELS_VARIABLE
from rauq.errors import InvalidInput
from tests.pages.comparing import open_compare
from tests.pages.reading import APP, interpreted, started, written
from tests.pages.runs_page import said
from tests.traces import make_trace

pytestmark = pytest.mark.usefixtures("host")

ATLAS = ModelChoice()
LONG = "x" * (HOST.characters + 1)
PATHS = {"other_model", "new_run_weights", "new_run_copy"}


@pytest.fixture
def nothing_is_read(monkeypatch):
    def refuse(*_arguments, **_options):
        raise AssertionError

    monkeypatch.setattr(rauq, "load_model", refuse, raising=False)
    monkeypatch.setattr(rauq, "inspect_model", refuse, raising=False)


def fields(page):
    return {field.key for field in page.text_input}


@pytest.mark.parametrize(("value", "hosted"), [(None, False), ("", False), ("0", False), ("1", True), ("yes", True)])
def test_an_environment_variable_makes_the_app_a_host(value, hosted, monkeypatch):
    monkeypatch.delenv(hosting.HOSTED_VARIABLE)
    if value is not None:
        monkeypatch.setenv(hosting.HOSTED_VARIABLE, value)
    assert hosting.is_hosted() is hosted
    assert hosting.limits() is (HOST if hosted else OWN)


@pytest.mark.parametrize(("cores", "said", "threads"), [(2, "", "1"), (16, "", "15"), (1, "", "1"), (16, "4", "4")])
def test_a_model_leaves_one_core_to_the_pages_unless_the_operator_says_otherwise(cores, said, threads, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", said)  # restored after the test
    monkeypatch.setattr(server.os, "cpu_count", lambda: cores)
    if not said:
        monkeypatch.delenv("OMP_NUM_THREADS")
    server.leave_a_core()
    assert os.environ["OMP_NUM_THREADS"] == threads


@pytest.mark.parametrize(
    ("listed", "models"),
    [(None, ("atlas",)), (" , ", ("atlas",)), ("org/a, atlas,org/a", ("org/a", "atlas")), ("org/a", ("org/a",))],
)
def test_the_models_are_those_of_the_list(listed, models, monkeypatch):
    if listed is not None:
        monkeypatch.setenv(MODELS_VARIABLE, listed)
    assert hosting.models() == models


@pytest.mark.parametrize("path", ["app.py", "pages/runs.py"])
def test_without_its_guard_the_hosted_app_shows_nothing(path, monkeypatch):
    monkeypatch.setattr(store(), "guarded", False)
    page = AppTest.from_file(str(Path(APP).parent / path)).run()
    assert [error.value for error in page.error] == [
        "The hosted mode needs its guard. Start it with: make host NAMES=rauq.example.org"
    ]
    assert not [*page.button, *page.text_area, *page.get("file_uploader")]
    assert store().sessions == {}


def test_a_host_does_not_follow_links_out_of_the_folder_of_a_model(tmp_path, monkeypatch):
    elsewhere, models = tmp_path / "elsewhere", tmp_path / "models"
    for folder in (elsewhere, models, models / "folder"):
        folder.mkdir()
    (elsewhere / "a.gguf").write_text("")
    (models / "own.gguf").write_text("")
    (models / "near.gguf").symlink_to("own.gguf")
    (models / "out.gguf").symlink_to(elsewhere / "a.gguf")
    (models / "folder" / "out.gguf").symlink_to(elsewhere / "a.gguf")
    (models / "linked").symlink_to(elsewhere)
    names = ["own.gguf", "near.gguf", "out.gguf", "folder", "linked"]
    monkeypatch.setenv(MODELS_VARIABLE, ",".join(str(models / name) for name in names))
    for name in names[:2]:
        hosting.check_model(ModelChoice(name=name))
    for name in names[2:]:
        with pytest.raises(InvalidInput, match="links to another folder"):
            hosting.check_model(ModelChoice(name=name))
        with pytest.MonkeyPatch.context() as own:
            own.setenv(hosting.HOSTED_VARIABLE, "")
            hosting.check_model(ModelChoice(name=name))
    with pytest.raises(InvalidInput, match="this host offers"):
        hosting.check_model(ModelChoice(name=str(elsewhere / "a.gguf")))


def test_without_a_host_only_the_general_limits_hold(monkeypatch):
    monkeypatch.setenv(hosting.HOSTED_VARIABLE, "")
    assert (OWN.rows, OWN.samples) == (MOST_EXAMPLES, MOST_SAMPLES)
    hosting.check_model(ModelChoice(name="/any/folder", device="cuda", kind="instruct"))
    check_answer(Request(model=ATLAS, prompt=LONG * 100, answer=LONG))
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
def test_no_other_model_is_inspected_or_loaded(choice):
    for look in (models.model, models.inspect_model):
        with pytest.raises(InvalidInput, match="this host offers atlas"):
            look(choice)
    job = started(Request(model=choice, prompt="Where?"))
    assert job.done.wait(30)
    assert "this host offers atlas" in str(job.error)


BRANCH = Branch(origin=make_trace(), token=0, instead=LONG)
LONG_BRANCH = replace(BRANCH, instead=5, origin=make_trace((LONG.encode(),)))


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"prompt": LONG}, "4,001 characters of prompt"),
        ({"answer": LONG}, "4,001 characters of answer"),
        ({"branch": BRANCH}, "4,001 characters of answer"),
        ({"branch": LONG_BRANCH}, "4,001 characters of answer"),
        ({"max_new_tokens": HOST.new_tokens + 1}, "Got 257 new tokens; choose a number from 1 to 256"),
        ({"max_new_tokens": 0}, "Got 0 new tokens"),
    ],
)
@pytest.mark.usefixtures("nothing_is_read")
def test_a_request_beyond_a_limit_is_refused_at_once(asked, says):
    job = started(Request(**{"model": ATLAS, "prompt": "Where?"} | asked))
    assert not job.live
    assert says in str(job.error)


@pytest.mark.usefixtures("nothing_is_read")
def test_the_tokens_of_a_prompt_that_is_too_long_are_not_counted():
    assert "4,001 characters of prompt" in str(form._counted(Request(model=ATLAS, prompt=LONG), None))


def test_the_form_offers_the_list_and_says_the_limits(open_app, monkeypatch):
    monkeypatch.setenv(MODELS_VARIABLE, "atlas,org/name")
    for page in (open_app(), open_compare()):
        assert not page.exception
        assert not fields(page) & PATHS
    page = written(open_app(), prompt=LONG).run()
    assert page.selectbox(key=state.MODEL).options == ["atlas", "org/name"]
    assert page.number_input(key=state.LIMIT).max == HOST.new_tokens
    assert "4,000 characters" in interpreted(page)
    page.button(key="run").click().run()
    assert "Got 4,001 characters of prompt" in said(page)
    assert page.text_area(key=state.PROMPT).value == LONG


@pytest.mark.usefixtures("nothing_is_read")
def test_a_model_that_no_field_offers_is_refused(open_app, monkeypatch):
    monkeypatch.setenv(MODELS_VARIABLE, "atlas,/etc")
    page = written(open_app(), prompt="Where?").run()
    page.selectbox(key=state.MODEL).set_value("etc")
    monkeypatch.setenv(MODELS_VARIABLE, "atlas")
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
    assert "The link's token limit is not allowed here; it was set to 256." in interpreted(page)


@pytest.mark.usefixtures("nothing_is_read")
def test_an_uploaded_answer_of_another_model_does_not_branch(open_app):
    trace = make_trace(model="/etc", kind="instruct")
    page = open_app(trace)
    assert page.selectbox(key=state.MODEL).value == "atlas"
    request = Request(model=ModelChoice(name=trace.model), prompt=trace.prompt, branch=replace(BRANCH, instead=5))
    job = started(request)
    assert job.done.wait(30)
    assert "this host offers atlas" in str(job.error)


def test_an_unexpected_error_shows_only_its_type(monkeypatch):
    def fail(*_arguments, **_options):
        message = "/a/folder of this machine"
        raise OSError(message)

    monkeypatch.setattr(models, "model", fail)
    job = started(Request(model=ATLAS, prompt="Where?"))
    assert job.done.wait(30)
    assert str(job.error) == "The generation failed unexpectedly (OSError)."


def test_errors_show_visitors_nothing_about_the_machine(open_app, monkeypatch):
    set_options = []
    monkeypatch.setattr("streamlit.set_option", lambda *option: set_options.append(option))
    open_app()
    assert set(set_options) == set(hosting.STREAMLIT.items())
    monkeypatch.setenv(hosting.HOSTED_VARIABLE, "0")
    set_options.clear()
    open_app()
    assert set_options == []
