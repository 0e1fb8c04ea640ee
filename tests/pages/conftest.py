"""The app under AppTest, without recorded generations."""

from functools import cache as kept

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

import rauq
from analysis.runs import library
from pages.ui.host import hosting, session_runs
from pages.ui.host.store import store
from pages.ui.shared import url_state
from rauq.recorded import answers as recorded
from tests.pages.reading import APP

NAME = "made-up"  # of the answer that a page is opened with


@pytest.fixture(scope="session", autouse=True)
def installed_components():
    """Streamlit looks through all installed packages whenever an app is opened, most of the time a test takes: once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", kept(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture
def open_app(monkeypatch, tmp_path):
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    monkeypatch.setattr(recorded, "INDEX", tmp_path / "index.json")

    def run(trace=None, **query):
        page = AppTest.from_file(APP, default_timeout=60)
        for name, value in query.items():
            page.query_params[name] = value
        if trace is not None:
            store().answers.keep(trace, name=NAME)
            page.query_params[url_state.KEPT] = NAME
        return page.run()

    return run


@pytest.fixture
def runs(monkeypatch, tmp_path):
    """The folder of runs, which is not there yet; none came with the app."""
    folder = tmp_path / "runs"
    monkeypatch.setenv(library.FOLDER_VARIABLE, str(folder))
    monkeypatch.setattr(library, "bundled_folder", lambda: tmp_path / "bundled")
    return folder


@pytest.fixture
def small(runs, shared, monkeypatch):
    """Instead of it, the folder of runs that the tests of a file share."""
    del runs  # no other one is found
    monkeypatch.setenv(library.FOLDER_VARIABLE, str(shared))
    return shared


@pytest.fixture
def no_model(monkeypatch):
    def refuse(name):
        raise AssertionError(name)

    monkeypatch.setattr(rauq, "load_model", refuse, raising=False)


@pytest.fixture
def host(monkeypatch, tmp_path):
    """A host whose machine has private runs and models."""
    monkeypatch.setenv(hosting.HOSTED_VARIABLE, "1")
    monkeypatch.setattr(store(), "guarded", True)
    monkeypatch.setattr(store(), "sessions", {})
    monkeypatch.setenv(library.FOLDER_VARIABLE, str(tmp_path / "private"))
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.setattr(session_runs, "private_folder", lambda: place)
    return place
