"""What happens to answers reaches the event loop: all of it, in order, and waking it once for what comes together."""

import asyncio

import pytest

from serve.mailbox import Mailbox
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


def test_letters_of_one_step_wake_the_loop_once(awakened):
    async def body(loop, wakes):
        mailbox, boxes = Mailbox(), [asyncio.Queue() for _ in range(3)]
        for _ in range(2):
            wakes.clear()
            for number, box in enumerate(boxes):
                mailbox.put(loop, box, (number, "grown"))
            assert [await box.get() for box in boxes] == [(number, "grown") for number in range(3)]
            assert len(wakes) == 1

    awakened(body)


def test_every_letter_of_every_thread_arrives_in_its_order(awakened):
    threads, letters = 8, 200

    async def body(loop, wakes):
        mailbox, box = Mailbox(), asyncio.Queue()

        def write(thread):
            for number in range(letters):
                mailbox.put(loop, box, (thread, number))

        await asyncio.gather(*(asyncio.to_thread(write, thread) for thread in range(threads)))
        found = [await box.get() for _ in range(threads * letters)]
        assert box.empty()
        for thread in range(threads):
            assert [number for one, number in found if one == thread] == list(range(letters))
        assert len(wakes) < threads * letters

    awakened(body)
