"""The server of the user's own machine: its document has the style, its log no warning, its exit code is 0."""

import signal

import pytest
import requests

from benchmarks.support.server import PATIENCE, started
from pages.ui.serving.styled import style


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_the_style_and_stops_gracefully(number, tmp_path):
    with (tmp_path / "log").open("wb") as log, started(log=log) as server:
        document = requests.get(f"{server.address}/inspect", headers={"Accept": "text/html"}, timeout=PATIENCE)
        assert style() in document.content
        server.process.send_signal(number)
        assert server.process.wait(PATIENCE) == 0
    said = [line.strip() for line in (tmp_path / "log").read_text().splitlines() if line.strip()]
    assert said == ["You can now view your Streamlit app in your browser.", f"URL: {server.address}"]
