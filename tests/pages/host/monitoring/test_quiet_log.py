"""Of each kind of failure the log has one line a minute, with how many there were; nobody can fill it."""

import logging

import pytest

from pages.ui.host.monitoring import quiet_log
from pages.ui.host.monitoring.quiet_log import Seldom


class Lines(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(self.format(record))


class Clock:
    now = 100.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(quiet_log, "time", clock)
    return clock


@pytest.fixture
def log():
    logger, handler = logging.Logger("test"), Lines()  # noqa: LOG001 - of this test alone
    handler.addFilter(Seldom())
    logger.addHandler(handler)
    logger.lines = handler.lines
    return logger


def fail(log, value):
    try:
        int(value)
    except ValueError:
        log.exception("No number: %r\nsecond line", value)


def test_one_line_a_minute_tells_a_kind_of_failure_and_how_many_there_were(log, clock):
    for value in "abcde":
        fail(log, value)
        log.warning("Another place")
    assert len(log.lines) == 2
    assert log.lines[0].startswith("No number: 'a' (ValueError, raised in ")
    assert log.lines[1] == "Another place"
    clock.now += quiet_log.SECONDS
    fail(log, "f")
    fail(log, "g")
    assert log.lines[2:] == [log.lines[0].replace("'a'", "'f'") + "; 4 more like this before"]


def test_a_line_names_the_system_s_reason_and_the_places_and_no_text_of_a_visitor(log):
    def inner(text):
        raise (OSError(28, "No space left on device", text) if text == "file" else KeyError(text))

    for text in ("file", "secret"):
        try:
            inner(text)
        except (OSError, KeyError):
            log.exception("Failed")
    assert "(OSError: No space left on device, raised in" in log.lines[0]
    assert log.lines[0].count("test_quiet_log.py:") == 2
    assert "KeyError" in log.lines[1]
    assert "secret" not in log.lines[1]


def test_a_record_that_cannot_be_formatted_raises_nothing(log):
    log.warning("x %d", "a")
    assert log.lines == ["x %d"]


def test_failures_of_ever_new_kinds_are_bounded_too(log, clock):
    del clock
    for number in range(1_000):
        exec(compile(f"log.warning('x')\n#{number}", f"place{number}", "exec"), {"log": log})  # noqa: S102 - a new place
    assert len(log.lines) == quiet_log._MOST_KINDS + 1


def test_all_handlers_but_that_of_requests_are_quiet_and_only_once():
    known, requests = logging.getLogger("test.known"), logging.getLogger(quiet_log.REQUESTS)
    handlers = [Lines(), Lines()]
    for logger, handler in zip((known, requests), handlers, strict=True):
        logger.addHandler(handler)
    try:
        quiet_log.install()
        quiet_log.install()
        assert [len(handler.filters) for handler in handlers] == [1, 0]
    finally:
        for logger, handler in zip((known, requests), handlers, strict=True):
            logger.removeHandler(handler)
        for handler in quiet_log._handlers():
            handler.filters = [one for one in handler.filters if not isinstance(one, Seldom)]
