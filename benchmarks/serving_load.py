"""Ten minutes of twenty clients at `rauq serve`, half of them hostile: what honest ones get, and what stays in memory.

Honest clients ask short questions, streamed or not, with RAUQ's numbers or without. Hostile ones hang up at any point,
send bodies that are no requests, half of a request, or fields that cannot be. Each honest answer has to be complete,
and each bad request refused with its status, in the shape of OpenAI's errors.
"""

import json
import random
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np

from analysis.evidence.record import Bound, Cell, Record
from benchmarks.serving import ENGINES, served
from benchmarks.support.processes import family_mib
from benchmarks.support.recording import at_most, measured, tell

MODEL, MINUTES, HONEST, HOSTILE, TOKENS = "smollm2", 10, 10, 10, 32
REST = 45  # seconds without a client, after which memory has gone back to the system
MOST_GROWTH = 32  # MiB, from the first minute to the rest after the last
MOST_QUIET = 10  # seconds until nothing waits or runs any more
QUESTIONS = ("What is the capital of Japan?", "Who wrote Faust?", "How many legs has a spider?", "Name a colour.")
COLUMNS = (
    "engine",
    "answers",
    "without an answer",
    "median s",
    "95 % s",
    "hostile requests",
    "not refused as said",
    "hung up",
    "MiB after the first minute",
    "MiB after the rest",
)
_HOSTILE_TEXT = "<script>alert(1)</script>\x00\u202e' OR 1=1; {{7*7}} \U0001f600"
_REFUSED: Mapping[int, Sequence[Mapping[str, Any]]] = MappingProxyType(
    {
        400: (
            {"max_tokens": -1},
            {"temperature": "warm"},
            {"tools": [{"type": "function"}]},
            {"messages": [{"role": _HOSTILE_TEXT, "content": "Hi"}]},
            {"messages": [{"role": "user", "content": "long " * 20_000}]},
            {_HOSTILE_TEXT: 1},
        ),
        404: ({"model": _HOSTILE_TEXT},),
        413: ({"user": "x" * 6_000_000},),
    }
)


@dataclass
class Load:
    """What clients of one engine got: seconds of honest answers, and the counts of everything else."""

    seconds: list[float] = field(default_factory=list)
    failed: int = 0
    refused: int = 0
    wrong: int = 0
    hung_up: int = 0
    early: float = 0.0  # MiB
    late: float = 0.0
    quiet: float = 0.0  # seconds from the last client to an empty queue
    lock: Lock = field(default_factory=Lock)


def measure() -> Record:
    """Both engines, one after the other."""
    return record_of({engine: _loaded(engine) for engine in ENGINES})


def _loaded(engine: str) -> Load:
    found = Load()
    with served(engine) as (address, process), ThreadPoolExecutor(HONEST + HOSTILE) as pool:
        end = time.monotonic() + 60 * MINUTES
        clients = [partial(_honest, found, address), partial(_hostile, found, address)]
        running = [pool.submit(clients[number % 2], number, end) for number in range(HONEST + HOSTILE)]
        for minute in range(MINUTES):
            tell(f"{engine}, minute {minute + 1} of {MINUTES}")
            time.sleep(60)
            found.early = found.early or family_mib(process)
        for client in running:
            client.result()
        found.quiet = _until_quiet(address)
        time.sleep(REST)
        found.late = family_mib(process)
    return found


def _honest(found: Load, address: str, seed: int, end: float) -> None:
    """Ask one question after another until the time is over."""
    chosen = random.Random(seed)
    with httpx.Client(base_url=address, timeout=120) as client:
        while time.monotonic() < end:
            begin = time.monotonic()
            is_answered = _is_answered(client, chosen)
            with found.lock:
                if is_answered:
                    found.seconds.append(time.monotonic() - begin)
                else:
                    found.failed += 1


def _asked(chosen: random.Random) -> dict[str, Any]:
    messages = [{"role": "user", "content": chosen.choice(QUESTIONS)}]
    return {"model": MODEL, "messages": messages, "max_tokens": chosen.randrange(4, TOKENS)}


def _is_answered(client: httpx.Client, chosen: random.Random) -> bool:
    """Whether an answer came whole, with its numbers where these were asked for."""
    numbers, stream = chosen.random() < 0.5, chosen.random() < 0.5
    body = _asked(chosen) | {"stream": stream, "rauq": numbers}
    try:
        response = client.post("/chat/completions", json=body)
        if not stream:
            choice = response.json()["choices"][0]
            whole, given = choice["finish_reason"], choice["message"].get("rauq")
        else:
            lines = [line.removeprefix("data: ") for line in response.text.split("\n") if line]
            choices = [choice for line in lines[:-1] for choice in json.loads(line)["choices"]]
            whole = lines[-1] == "[DONE]" and choices[-1]["finish_reason"]
            given = next((one["delta"]["rauq"] for one in choices if "rauq" in one["delta"]), None)
    except (httpx.HTTPError, ValueError, LookupError):
        return False
    return whole in ("stop", "length") and (given is not None) == numbers


def _hostile(found: Load, address: str, seed: int, end: float) -> None:
    """Send one bad request after another until the time is over."""
    chosen = random.Random(seed)
    ways: Sequence[Callable[[str, random.Random], bool | None]] = (_hangs_up, _half, _no_request, _refused)
    while time.monotonic() < end:
        is_right = chosen.choice(ways)(address, chosen)
        with found.lock:
            found.refused += is_right is not None
            found.wrong += is_right is False
            found.hung_up += is_right is None
        time.sleep(chosen.uniform(0, 0.5))


def _hangs_up(address: str, chosen: random.Random) -> None:
    """Go away before the answer, or after some of its chunks."""
    body, chunks = _asked(chosen) | {"max_tokens": 512, "stream": True, "rauq": True, "n": 2}, chosen.randrange(4)
    try:
        with httpx.stream("POST", f"{address}/chat/completions", json=body, timeout=chosen.uniform(0.2, 5)) as response:
            for _, _line in zip(range(chunks), response.iter_lines(), strict=False):
                pass
    except httpx.HTTPError:
        pass


def _half(address: str, chosen: random.Random) -> None:
    """Send half of a request, and go."""
    parts = urlsplit(address)
    sent = b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n{"
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=10) as connection:
        connection.sendall(sent[: chosen.randrange(1, len(sent))])
        time.sleep(chosen.uniform(0, 1))


def _no_request(address: str, chosen: random.Random) -> bool:
    content = chosen.choice((b"{", b"[" * 100_000, b"\xff\xfe", b'{"temperature": NaN}', b""))
    headers = {"content-type": "application/json"}
    return _is_error(400, lambda: httpx.post(f"{address}/chat/completions", content=content, headers=headers))


def _refused(address: str, chosen: random.Random) -> bool:
    status = chosen.choice(tuple(_REFUSED))
    body = {**_asked(chosen), **chosen.choice(_REFUSED[status])}
    return _is_error(status, lambda: httpx.post(f"{address}/chat/completions", json=body, timeout=60))


def _is_error(status: int, ask: Callable[[], httpx.Response]) -> bool:
    """Whether the response is an error of this status in the shape of OpenAI's."""
    try:
        response = ask()
        return response.status_code == status and set(response.json()["error"]) == {"message", "type", "param", "code"}
    except (httpx.HTTPError, ValueError, LookupError):
        return False


def _until_quiet(address: str) -> float:
    """Seconds until no answer waits or runs any more; infinite where that takes a minute."""
    begin = time.monotonic()
    parts = urlsplit(address)
    while (seconds := time.monotonic() - begin) < 60:
        counts = httpx.get(f"{parts.scheme}://{parts.netloc}/metrics", timeout=60).text.splitlines()
        if {"rauq_serve_waiting 0", "rauq_serve_running 0"} <= set(counts):
            return seconds
        time.sleep(0.1)
    return float("inf")


def record_of(loads: Mapping[str, Load]) -> Record:
    """The table, and its bounds."""
    answers = sum(len(load.seconds) for load in loads.values())
    hostile = sum(load.refused + load.hung_up for load in loads.values())
    return measured(
        "serve_load",
        title="Serving beside hostile clients",
        about=f"For {MINUTES} minutes, {HONEST} clients ask {MODEL} behind rauq serve short questions of up to "
        f"{TOKENS} tokens, one after another, while {HOSTILE} others hang up at any point, send bodies that are no "
        "requests, half of a request, or fields that are refused. Memory is that of all processes of the server.",
        columns=COLUMNS,
        rows=[(engine, *_cells(load)) for engine, load in loads.items()],
        bounds=[bound for engine, load in loads.items() for bound in _bounds(engine, load)],
        finding=f"{answers:,} questions were answered beside {hostile:,} hostile requests; "
        f"{sum(load.failed for load in loads.values()):,} had no whole answer.",
        packages=("torch", "transformers", "starlette", "uvicorn"),
    )


def _cells(load: Load) -> Sequence[Cell]:
    waits = load.seconds or [float("nan")]
    middle, worst = (round(float(wait), 2) for wait in np.percentile(waits, (50, 95)))
    answered = len(load.seconds), load.failed, middle, worst
    return *answered, load.refused + load.hung_up, load.wrong, load.hung_up, round(load.early), round(load.late)


def _bounds(engine: str, load: Load) -> Sequence[Bound]:
    return (
        at_most(f"{engine}: questions without a whole answer", load.failed, 0),
        at_most(f"{engine}: bad requests not refused as said", load.wrong, 0),
        at_most(f"{engine}: MiB from the first minute to the rest", load.late - load.early, MOST_GROWTH),
        at_most(f"{engine}: seconds until nothing waits or runs", load.quiet, MOST_QUIET),
        Bound(text=f"{engine}: some hung up: {load.hung_up:,}", met=load.hung_up > 0),
    )
