"""Peak memory of an answer with its score above the loaded model, each run in a process of its own."""

import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from analysis.evidence.record import Cell, Record
from benchmarks.peers.asking import OURS, PEER, PLAIN, RAUQ_PEERS, ask, with_versions
from benchmarks.peers.material import random_folder, random_prompt
from benchmarks.peers.worker import Request, ToolName
from benchmarks.support.random_model import NEW_TOKENS, SMALL, Shape
from benchmarks.support.recording import at_least, measured

LENGTHS = (32, 512, 2048, 4096)
LEAST = 15
RUNS = 3
COMPUTED_ONLY = 8_192
WAYS: tuple[ToolName, ...] = (PLAIN, OURS, PEER)
_MIB = 2**20


def measure() -> Record:
    """Every way to answer at every prompt length."""
    with tempfile.TemporaryDirectory() as folder:
        random_folder(Path(folder))
        found: dict[tuple[int, str], list[float]] = {
            (length, way): [_peak(folder, way, length) for _ in range(RUNS)] for length in LENGTHS for way in WAYS
        }
    return with_versions(_record(found), RAUQ_PEERS)


def _record(found: Mapping[tuple[int, str], Sequence[float]]) -> Record:
    """The record of peaks in MiB by prompt length and way."""
    lengths = sorted({length for length, _ in found})
    less = {length: float(np.median(found[length, PEER]) / np.median(found[length, OURS])) for length in lengths}
    at = lengths[-1]
    rows = [_row(length, way, found[length, way]) for length in lengths for way in WAYS]
    computed = _weights_bytes(COMPUTED_ONLY)
    return measured(
        "peers_memory",
        title="Memory of an answer with its score, compared with lm-polygraph",
        about="Peak resident memory above the loaded model, for the same answers as in the comparison of time: medians "
        f"of {RUNS} processes; low and high are the smallest and the largest of them.",
        columns=("prompt, tokens", "tool", "MiB", "low", "high", "weights kept, MiB"),
        rows=[*rows, (COMPUTED_ONLY, PEER, math.nan, math.nan, math.nan, computed / _MIB)],
        bounds=[at_least(f"Memory at {at:,} tokens, lm-polygraph / ours", less[at], LEAST)],
        notes=(
            "Weights kept by lm-polygraph: layers x heads x (P² + the sum of P + j over j = 1 to N - 1) x 4 bytes.",
            f"At {COMPUTED_ONLY:,} tokens that is {computed / 1e9:.0f} GB, so it was computed and not run.",
        ),
        finding=f"At {at:,} prompt tokens, lm-polygraph takes {less[at]:.0f} times the memory of this project above "
        "the loaded model.",
    )


def _weights_bytes(prompt: int, *, shape: Shape = SMALL, new_tokens: int = NEW_TOKENS) -> int:
    """Bytes of the float32 attention weights of one generation with `output_attentions`.

    The prompt is fed at once, then each answer token but the last alone: it looks at all before it and at itself.
    """
    steps = sum(prompt + step for step in range(1, new_tokens))
    return shape.layers * shape.heads * (prompt**2 + steps) * 4


def _row(length: int, way: str, peaks: Sequence[float]) -> tuple[Cell, ...]:
    kept = _weights_bytes(length) / _MIB if way == PEER else math.nan
    return length, way, float(np.median(peaks)), min(peaks), max(peaks), kept


def _peak(folder: str, way: ToolName, length: int) -> float:
    prompts = (random_prompt(length),)
    return float(ask(Request(what="memory", tool=way, folder=folder, prompts=prompts, new_tokens=NEW_TOKENS)))
