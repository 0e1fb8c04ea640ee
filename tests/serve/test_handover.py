"""What happens to answers reaches the event loop: all of it, in order, and waking it once for what comes together."""

import asyncio

import pytest

from serve.handover import Handover
from tests.event_loops import run_apart


@pytest.fixture
def awakened():
    """Runs a coroutine on a loop that counts how often other threads wake it."""

    def run(body):
        async def counted():
            loop, wakes = asyncio.get_running_loop(), []
            call = loop.call_soon_threadsafe

            def counting(*given, **options):
                wakes.extend([given] if given[0] == loop.call_later else [])
                return call(*given, **options)

            loop.call_soon_threadsafe = counting
            await body(loop, wakes)

        run_apart(counted())

    return run


def test_events_of_one_step_wake_the_loop_once(awakened):
    async def body(loop, wakes):
        handover, queues = Handover(), [asyncio.Queue() for _ in range(3)]
        for _ in range(2):
            wakes.clear()
            for number, queue in enumerate(queues):
                handover.put(loop, queue, (number, "grown"))
            assert [await queue.get() for queue in queues] == [(number, "grown") for number in range(3)]
            assert len(wakes) == 1

    awakened(body)


def test_every_event_of_every_thread_arrives_in_its_order(awakened):
    threads, events = 8, 200

    async def body(loop, wakes):
        handover, queue = Handover(), asyncio.Queue()

        def write(thread):
            for number in range(events):
                handover.put(loop, queue, (thread, number))

        await asyncio.gather(*(asyncio.to_thread(write, thread) for thread in range(threads)))
        found = [await queue.get() for _ in range(threads * events)]
        assert queue.empty()
        for thread in range(threads):
            assert [number for one, number in found if one == thread] == list(range(events))
        assert len(wakes) < threads * events

    awakened(body)
