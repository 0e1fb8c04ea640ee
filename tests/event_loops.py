"""Event loops of tests, apart from the one of a browser that the thread of the tests may hold."""

import asyncio
from concurrent.futures import ThreadPoolExecutor


def run_apart(coroutine):
    """The result of a coroutine, in a thread of its own."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(coroutine)).result()
