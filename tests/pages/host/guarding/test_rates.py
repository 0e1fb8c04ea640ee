"""What one session and one visitor may take at a time, by the clock of the test."""

import asyncio
from contextlib import ExitStack

import pytest

from pages.ui.host.guarding import rates
from pages.ui.host.guarding.rates import (
    SESSION_AT_ONCE,
    SESSION_SHARE,
    VISITOR_AT_ONCE,
    VISITOR_SHARE,
    Opening,
    RateLimit,
    RateLimits,
    ServerTime,
    SessionTime,
)
from pages.ui.host.queueing.first_pages import FirstPages
from tests.event_loops import run_apart


class Clock:
    now = 100.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(rates, "time", clock)
    return clock


@pytest.fixture
def server_time():
    return ServerTime()


def run(clock, *sessions, seconds):
    for one in sessions:
        one.begin()
    clock.now += seconds
    for one in sessions:
        one.end()


def test_a_pace_allows_so_much_at_once_and_then_so_much_a_second(clock):
    limit = RateLimit(rate=2, at_once=10)
    assert limit.wait(10) == 0
    assert limit.wait(4) == 2
    clock.now += 2
    assert limit.wait() == 0
    clock.now += 100
    assert limit.wait(10) == 0  # what was not used is not saved


def test_each_visitor_has_a_pace_which_is_forgotten_once_nothing_is_used(clock):
    visitors = RateLimits(rate=1, at_once=1)
    visitors.of("one").wait(3)
    assert visitors.of("another").wait(1) == 0
    assert visitors.of("one").wait() == 2
    clock.now += 10
    visitors.of("another")
    assert set(visitors.known) == {"another"}


def test_a_session_that_takes_more_than_its_share_waits_while_others_use_the_app(clock, server_time):
    greedy, other = SessionTime(server_time, "greedy"), SessionTime(server_time, "other")
    run(clock, other, seconds=0.1)
    run(clock, greedy, seconds=SESSION_AT_ONCE + 0.9)
    assert greedy.wait() > 0
    assert other.wait() == 0
    clock.now += 1 / SESSION_SHARE
    run(clock, other, seconds=0.1)
    assert greedy.wait() == 0


def test_an_only_visitor_never_waits(clock, server_time):
    alone = SessionTime(server_time, "alone")
    run(clock, alone, seconds=100)
    assert alone.wait() == 0


def test_the_sessions_of_a_visitor_share_one_share(clock, server_time):
    many = [SessionTime(server_time, "greedy") for _ in range(10)]
    for one in many:
        run(clock, one, seconds=VISITOR_AT_ONCE / 5)
    run(clock, SessionTime(server_time, "other"), seconds=0.1)
    fresh = SessionTime(server_time, "greedy")
    assert fresh.wait() > 0
    assert SessionTime(server_time, "other").wait() == 0


def test_scripts_that_run_at_once_have_equal_parts_of_the_time(clock, server_time):
    both = [SessionTime(server_time, name) for name in ("one", "another")]
    run(clock, *both, seconds=4)
    assert [one.limit.used for one in both] == pytest.approx([2, 2])


def test_scripts_that_were_interrupted_count_and_no_session_that_waits_interrupts_its_own(clock, server_time):
    greedy, other = SessionTime(server_time, "greedy"), SessionTime(server_time, "other")
    run(clock, other, seconds=0.1)
    for _ in range(int(SESSION_AT_ONCE / rates._INTERRUPTED) + 2):
        greedy.begin()
    assert greedy.wait() == rates._LOOK
    greedy.end()
    assert greedy.wait() > 0


def test_a_script_that_ends_twice_is_counted_once(clock, server_time):
    one = SessionTime(server_time, "one")
    run(clock, one, seconds=1)
    one.end()
    assert (one.limit.used, server_time.running) == (1, 0)


class Session:
    """A session whose first page is asked for."""

    def __init__(self, places, pages):
        self.opening = Opening(places, pages)
        self.task = asyncio.ensure_future(self.opening.begin())


async def settled():
    for _ in range(5):
        await asyncio.sleep(0)


def test_a_few_first_pages_are_drawn_at_once_and_the_next_ones_in_turn():
    async def come():
        places, pages = asyncio.Semaphore(2), FirstPages()
        sessions = [Session(places, pages) for _ in range(4)]
        await settled()
        coming = [pages.coming]
        began = [[session.task.done() for session in sessions]]
        sessions[1].opening.drawn()
        sessions[1].opening.drawn()  # once more, since its next page has ended too
        await settled()
        began.append([session.task.done() for session in sessions])
        coming.append(pages.coming)
        await sessions[1].opening.begin()  # its next page waits for nobody
        for session in sessions:
            session.opening.end()
            await settled()
        sessions[3].opening.end()
        return began, places._value, [*coming, pages.coming]

    began, free, coming = run_apart(come())
    assert coming == [4, 3, 0]
    assert began == [[True, True, False, False], [True, True, True, False]]
    assert free == 2


def test_a_first_page_that_takes_long_does_not_keep_others_from_beginning(monkeypatch):
    monkeypatch.setattr(rates, "_FIRST_PAGE", 0.0)

    async def come():
        places, pages = asyncio.Semaphore(1), FirstPages()
        first, second = Session(places, pages), Session(places, pages)
        await asyncio.wait_for(second.task, 30)
        return first.task.done()

    assert run_apart(come())


def test_a_session_that_leaves_before_its_first_page_is_not_waited_for():
    async def come():
        pages, places = FirstPages(), asyncio.Semaphore(0)
        session = Session(places, pages)
        await settled()
        session.task.cancel()
        session.opening.end()
        await settled()
        return pages.coming, places._value

    assert run_apart(come()) == (0, 0)


def test_pages_that_are_drawn_at_once_share_the_servers_time():
    alone, beside = FirstPages(coming=1), FirstPages(coming=3)
    for _ in range(60):
        alone.note(0.2)
        beside.note(0.2)
    assert [alone.each, beside.each] == pytest.approx([0.2, 0.1], rel=1e-3)
    assert beside.seconds == pytest.approx(0.3, rel=1e-3)


def test_the_first_page_of_a_process_which_imports_what_others_need_changes_little():
    pages = FirstPages(coming=1)
    usual = pages.each
    pages.note(2.0)
    assert usual < pages.each < 1.5 * usual


def test_nothing_is_learned_from_a_page_whose_session_left():
    async def come():
        pages = FirstPages()
        left, stayed = (Session(asyncio.Semaphore(1), pages) for _ in range(2))
        await settled()
        before = pages.each
        left.opening.end()
        known = [pages.each == before]
        stayed.opening.drawn()
        return [*known, pages.each == before, pages.coming]

    assert run_apart(come()) == [True, False, 0]


def test_a_class_behind_one_address_has_more_of_the_servers_time_than_one_visitor(clock):
    del clock
    server = ServerTime()
    assert server.limit_of("one").rate == VISITOR_SHARE
    with ExitStack() as stack:
        for _ in range(30):
            stack.enter_context(server.present("class"))
        assert (server.limit_of("class").rate, server.limit_of("class").at_once) == pytest.approx((0.45, 6.0))
        assert server.limit_of("one").rate == VISITOR_SHARE
    assert server.limit_of("class").rate == VISITOR_SHARE
    assert not server.sessions
