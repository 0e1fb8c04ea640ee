"""The app under AppTest, as it opens where no recorded generation ships."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import rauq
from pages.ui import state
from rauq.atlas import recorded

APP = str(Path(__file__).parents[2] / "app.py")


@pytest.fixture
def open_app(monkeypatch, tmp_path):
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    monkeypatch.setattr(recorded, "INDEX", tmp_path / "index.json")

    def run(trace=None, **query):
        page = AppTest.from_file(APP, default_timeout=60)
        for name, value in query.items():
            page.query_params[name] = value
        if trace is not None:
            page.session_state[state.TRACE] = trace
        return page.run()

    return run


@pytest.fixture
def no_model(monkeypatch):
    def refuse(name):
        raise AssertionError(name)

    monkeypatch.setattr(rauq, "load_model", refuse, raising=False)
