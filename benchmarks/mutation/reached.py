"""A plugin of pytest: which tests reach which lines of the library, as coverage keeps it."""

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from coverage import Coverage

from benchmarks.support.server import ROOT

FOLDER = "REACHED_LINES"  # the variable of the environment that names the folder for the data
PRODUCT = ("rauq", "analysis")


@cache
def _coverage() -> Coverage:
    place = Path(os.environ[FOLDER]) / f"data.{os.getpid()}"
    return Coverage(data_file=str(place), source=[str(ROOT / name) for name in PRODUCT])


def pytest_configure(config: pytest.Config) -> None:
    """Begin, in each process that runs tests."""
    if _runs_tests(config):
        _coverage().start()


def _runs_tests(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Name the test in all that it reaches."""
    _coverage().switch_context(item.nodeid)
    result = yield
    _coverage().switch_context("")
    return result


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Keep what was reached."""
    if _runs_tests(session.config):
        _coverage().stop()
        _coverage().save()
