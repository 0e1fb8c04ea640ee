"""What serving costs: tokens a second of `rauq serve` at 1, 4 and 8 clients, against the library alone.

The server and the library each have a process with smollm2 loaded, and take turns, round by round. A client sends its
next request once it has the answer before; the library gets as many prompts in a batch as there are clients. Bound: at
least .95 of the library's tokens a second, streamed, without numbers.
"""

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from multiprocessing import get_context
from typing import Any, NamedTuple

import httpx

from analysis.evidence.record import Cell, Record
from benchmarks.support.paired import Ratio, ratio
from benchmarks.support.recording import at_least, interval, measured, tell
from rauq.layout import command, environment
from rauq.model.loading import load_model

CLIENTS, NEW_TOKENS, REQUESTS, ROUNDS, LEAST = (1, 4, 8), 64, 2, 15, 0.95
WITH_NUMBERS = 4  # clients
ENGINES = ("transformers", "llama.cpp")
PLAIN, NUMBERS = "text alone", "with numbers"
COLUMNS = (
    "engine",
    "clients",
    "stream",
    "tokens/s",
    "tokens/s, library",
    "ratio",
    "low",
    "high",
    "first token s",
    "first token s, library",
)


class Speed(NamedTuple):
    """Tokens a second of all answers together, and seconds until the first token of the first answer."""

    rate: float
    first: float


Way = tuple[str, int, str]  # engine, clients, and what is streamed
Pair = tuple[Speed, Speed]  # of the server, and of the library


def measure() -> Record:
    """Every engine, round by round."""
    found: dict[Way, list[Pair]] = {}
    for engine in ENGINES:
        with served(engine) as (address, _), ProcessPoolExecutor(1, mp_context=get_context("spawn")) as library:
            for turn in range(-1, ROUNDS):  # the first round warms up
                tell(f"{engine}, round {turn + 1} of {ROUNDS}")
                for clients in CLIENTS:
                    alone = library.submit(_by_library, engine, clients).result()
                    for stream in (PLAIN, NUMBERS) if clients == WITH_NUMBERS else (PLAIN,):
                        there = _by_server(address, clients, numbers=stream == NUMBERS)
                        if turn >= 0:
                            found.setdefault((engine, clients, stream), []).append((there, alone))
    return record_of(found)


@contextmanager
def served(engine: str) -> Iterator[tuple[str, int]]:
    """The address of a server of smollm2, and its process."""
    asked = command("rauq", "serve", "--model", "smollm2", "--engine", engine, "--port", "0", "--device", "cpu")
    with subprocess.Popen(asked, stderr=subprocess.PIPE, text=True, env=environment()) as running:
        assert running.stderr is not None  # noqa: S101 - it is a pipe
        try:
            address = next(found[1] for line in running.stderr if (found := re.search(r"on (http://\S+)", line)))
            with ThreadPoolExecutor(1) as reader:
                reader.submit(running.stderr.read)  # a full pipe would stop the server
                try:
                    yield address, running.pid
                finally:
                    running.terminate()
        finally:
            running.kill()


def _prompts(clients: int) -> list[list[dict[str, str]]]:
    animals = "fox owl bear hare wolf deer crow mole".split()
    return [[{"role": "user", "content": f"Tell me a long story about a {one}."}] for one in animals[:clients]]


@cache
def _loaded(engine: str) -> Any:  # noqa: ANN401 - a model, which only the process of the library has
    return load_model("smollm2", device="cpu", engine=engine)


def _by_library(engine: str, clients: int) -> Speed:
    """As many batches as a client sends requests."""
    from rauq.scoring.watch import Watch

    lm, times, count = _loaded(engine), list[float](), 0
    begin = time.perf_counter()
    watches = [Watch(on_token=lambda *_: times.append(time.perf_counter() - begin)) for _ in range(clients)]
    for _ in range(REQUESTS):
        traces = lm.generate_batch(_prompts(clients), watches=watches, max_new_tokens=NEW_TOKENS, stop=())
        count += sum(len(trace.answer_ids) for trace in traces)
    return Speed(count / (time.perf_counter() - begin), times[0])


def _by_server(address: str, clients: int, *, numbers: bool) -> Speed:
    """All clients at once, each with its requests one after another."""
    with ExitStack() as stack, ThreadPoolExecutor(clients) as pool:
        # Made before the time begins: one takes as long as a token.
        made = [stack.enter_context(httpx.Client(base_url=address, timeout=600)) for _ in range(clients)]
        begin = time.perf_counter()
        found = list(pool.map(partial(_answers, begin, numbers=numbers), made, _prompts(clients)))
        seconds = time.perf_counter() - begin
    return Speed(sum(count for count, _ in found) / seconds, min(first for _, first in found))


def _answers(begin: float, client: httpx.Client, messages: list[dict[str, str]], *, numbers: bool) -> tuple[int, float]:
    """Tokens of all answers to one client, and seconds until the first text."""
    asked = {"model": "smollm2", "messages": messages, "max_tokens": NEW_TOKENS, "stream": True, "logprobs": numbers}
    body = asked | {"stream_options": {"include_usage": True}}
    count, first = 0, 0.0
    for _ in range(REQUESTS):
        with client.stream("POST", "/chat/completions", json=body) as response:
            for line in filter(None, response.iter_lines()):
                if not first and _has_text(line):
                    first = time.perf_counter() - begin
                if '"usage"' in line:
                    count += json.loads(line.removeprefix("data: "))["usage"]["completion_tokens"]
    return count, first


def _has_text(line: str) -> bool:
    return '"content": "' in line and '"content": ""' not in line


def record_of(found: dict[Way, list[Pair]]) -> Record:
    """The table, the bounds, and what it shows."""
    ratios = {way: _ratio(pairs) for way, pairs in found.items()}
    plain = {way: one for way, one in ratios.items() if way[2] == PLAIN}
    said = "; ".join(
        f"{engine} {', '.join(f'{plain[way].median:.2f}' for way in plain if way[0] == engine)}" for engine in ENGINES
    )
    return measured(
        "serve",
        title="Serving to clients of OpenAI's API",
        about=f"smollm2 behind rauq serve and in the library alone, in turn: {REQUESTS} streamed answers of "
        f"{NEW_TOKENS} tokens to each client, medians of {ROUNDS} rounds on {os.environ['OMP_NUM_THREADS']} thread of "
        "torch, the threads of llama.cpp as it takes them.",
        columns=COLUMNS,
        rows=[(*way, *_cells(pairs, ratios[way])) for way, pairs in found.items()],
        bounds=[
            at_least(f"{engine}, {clients} clients: tokens/s against the library", one, LEAST)
            for (engine, clients, _), one in plain.items()
        ],
        finding=f"Tokens a second of the library that clients get, at {', '.join(map(str, CLIENTS))} clients: {said}.",
        packages=("torch", "transformers", "starlette", "uvicorn"),
    )


def _ratio(pairs: list[Pair]) -> Ratio:
    return ratio([served.rate for served, _ in pairs], [alone.rate for _, alone in pairs])


def _cells(pairs: list[Pair], found: Ratio) -> list[Cell]:
    middle = sorted(range(len(pairs)), key=lambda place: pairs[place][0].rate / pairs[place][1].rate)[len(pairs) // 2]
    served, alone = pairs[middle]
    rates = (round(served.rate, 1), round(alone.rate, 1))
    return [*rates, *(round(end, 3) for end in interval(found)), round(served.first, 3), round(alone.first, 3)]
