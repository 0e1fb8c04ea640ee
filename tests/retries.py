"""The hub's client waits between attempts, for half a minute in all: tests refuse the first wait."""

import time
from types import SimpleNamespace

import pytest
from huggingface_hub.utils import _http


def refuse_retries(monkeypatch):
    """Let the test fail where the hub's client would wait and try again: a measure of time would depend on the load."""

    def sleep(seconds):
        pytest.fail(f"The hub's client waits {seconds} s and tries again.")

    monkeypatch.setattr(_http, "time", SimpleNamespace(**{**vars(time), "sleep": sleep}))
