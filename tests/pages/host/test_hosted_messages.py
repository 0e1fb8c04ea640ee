"""What a host's pages say to visitors: messages without its folders, and their own texts as they are."""

import sys
import sysconfig
import tempfile
from pathlib import Path

import pytest

from analysis.runs.job import Status, write_status
from pages.ui.host import hosting
from pages.ui.host.hosting import without_folders
from pages.ui.inspect.closing import OPEN
from pages.ui.inspect.drawers import EXPORT
from rauq.checkpoints.named import MODELS_VARIABLE
from rauq.checkpoints.store import PLACE_VARIABLE
from tests.architectures import save_tiny
from tests.pages.reading import finished, open_page, shown_trace, written
from tests.pages.runs_page import new_run
from tests.pages.sets import make

pytestmark = pytest.mark.usefixtures("host")

TEMPORARY, ROOT, LIBRARY = tempfile.gettempdir(), Path(__file__).parents[3], sysconfig.get_path("purelib")
MESSAGES = {
    f"{TEMPORARY}/rauq-x/abc/run-1 cannot be written to (Full).": "run-1 cannot be written to (Full).",
    f"No such file: '{ROOT}/rauq/atlas/config.json'": "No such file: 'config.json'",
    f"Read {LIBRARY}/torch/x.py, line 3": "Read x.py, line 3",
    f"({sys.prefix}/bin/python)": "(python)",
    f"See {ROOT}.": f"See {ROOT.name}.",
    "/home/host/.cache/rauq/a, /home/host/b: gone": "a, b: gone",
    "file:///home/host/a": "file://a",
    "/srv/models/x/config.json and /srv/models/y differ": "config.json and y differ",
    "/opt/my models/z lacks weights": "z lacks weights",
    "/srv/models/cache of rauq/key/file is full": "file is full",
    f"first {TEMPORARY}/a\nsecond {TEMPORARY}/b/": "first a\nsecond b",
}
OWN_TEXTS = (
    "#!/usr/bin/env python, /etc/passwd and /bin",
    f"https://example.org{TEMPORARY}/x",
    f"a{TEMPORARY}/x, ~{TEMPORARY}/x, {TEMPORARY}x/y, {TEMPORARY}-x/y",
    "1/2, and/or, /",
    "srv/models/x",
)


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    monkeypatch.setenv("HOME", "/home/host")
    monkeypatch.setenv(MODELS_VARIABLE, "atlas,org/name,/srv/models/x,/opt/my models/z,/a")
    monkeypatch.setenv(PLACE_VARIABLE, "/srv/models/cache of rauq")


@pytest.mark.parametrize("message", MESSAGES)
def test_paths_of_the_machine_are_cut_on_a_host(message, monkeypatch):
    assert without_folders(message) == MESSAGES[message]
    monkeypatch.setenv(hosting.HOSTED_VARIABLE, "")
    assert without_folders(message) == message


@pytest.mark.parametrize("text", OWN_TEXTS)
def test_a_visitor_s_text_stays(text):
    assert without_folders(text) == text


def shows(page, text):
    """Whether anything that the browser is sent holds a text."""
    assert not page.exception
    protos = filter(None, (getattr(node, "proto", None) for node in page._tree))
    return any(text.encode() in proto.SerializeToString() for proto in protos)


@pytest.fixture
def own(host):
    """The folder of the session's runs."""
    (host / "session").mkdir()
    return host / "session"


def opened(page, run, **state):
    return open_page(page, {"_runs_folder": "session", **state}, run=run)


def test_the_list_of_runs_shows_no_folder(own):
    for name in ("broken", "failed", "damaged"):
        new_run(own / name)
    (own / "broken" / "manifest.json").write_text("{")
    write_status(own / "failed", Status(state="failed", total=3, message=f"{own}/failed/log.txt cannot be written"))
    (own / "damaged" / "corrections.json").mkdir()
    page = opened("runs", "damaged")
    assert not shows(page, str(own))
    for text in ("broken", "log.txt cannot be written", "corrections.json"):
        assert shows(page, text)
    assert not shows(opened("runs", "broken"), str(own))


def test_failures_of_a_run_show_no_folder(own, monkeypatch):
    monkeypatch.setattr("tests.analysis.report.made_run.Failed", failed_in(own))
    make(own, "run", quality=())
    write_status(own / "run", Status(state="finished", total=1, saved=1, failed=1))
    for page in (opened("runs", "run", errors_in_full=True), opened("answer_sets", "run")):
        assert not shows(page, str(own))
        assert shows(page, "answers.bin")


def failed_in(folder):
    from analysis.runs.files.tables import Failed

    return lambda *, number, error: Failed(number=number, error=f"{error}: {folder}/run/answers.bin " + "x" * 90)


def test_damaged_parts_of_a_run_show_no_folder(own):
    make(own, "run")
    (own / "run" / "traces-00000.safetensors").unlink()
    page = opened("answer_sets", "run", answer_set_faults=True)
    assert not shows(page, str(own))
    assert shows(page, "traces-00000.safetensors")


def answered(page):
    """The page after the model was asked for an answer."""
    page = written(page, prompt="Where?", limit=2).run()
    return finished(page.button(key="run").click().run())


def test_a_model_in_a_folder_shows_no_path(open_app, tmp_path, monkeypatch):
    monkeypatch.setenv(MODELS_VARIABLE, str(save_tiny(tmp_path / "tiny-base")))
    page = answered(open_app())
    page.session_state[OPEN] = EXPORT
    assert shows(page.run(), "tiny-base")
    assert not shows(page, str(tmp_path))
    assert str(tmp_path).encode() not in shown_trace(page).to_bytes()


def test_a_model_that_is_missing_shows_no_path(open_app, monkeypatch):
    monkeypatch.setenv(MODELS_VARIABLE, "/srv/models/gone")
    page = answered(open_app())
    assert shows(page, "'gone' not found")
    assert not shows(page, "/srv")
