"""CPU and wall time of an answer with its score, relative to plain generation in the same process, for each tool."""

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from analysis.evidence.record import Record
from benchmarks.peers.asking import OURS, PEER, RAUQ_PEERS, ask, with_versions
from benchmarks.peers.material import random_folder, random_prompt
from benchmarks.peers.worker import Request, ToolName
from benchmarks.support.paired import Ratio, ratio, seconds
from benchmarks.support.random_model import NEW_TOKENS, SMALL
from benchmarks.support.recording import at_least, interval, measured

PAIRS = {32: 9, 512: 9, 2048: 4, 4096: 4}  # by prompt length: fewer where a pair takes long
LEAST = 3
TOOLS: tuple[ToolName, ...] = (OURS, PEER)
CLOCKS = ("CPU", "wall")


@dataclass(frozen=True, kw_only=True)
class Turns:
    """Seconds of plain generation and of a tool, in pairs, on one clock."""

    plain: tuple[float, ...]
    tool: tuple[float, ...]

    @property
    def ratio(self) -> Ratio:
        """The tool over plain generation."""
        return ratio(self.tool, self.plain)


def measure() -> Record:
    """Every tool at every prompt length."""
    with tempfile.TemporaryDirectory() as folder:
        random_folder(Path(folder))
        found = {key: turns for tool in TOOLS for key, turns in _turns(tool, folder)}
    return with_versions(_record(found), RAUQ_PEERS)


def _turns(tool: ToolName, folder: str) -> Iterator[tuple[tuple[int, str, str], Turns]]:
    """The turns of a tool by prompt length, tool and clock."""
    prompts, pairs = tuple(map(random_prompt, PAIRS)), tuple(PAIRS.values())
    request = Request(what="times", tool=tool, folder=folder, prompts=prompts, new_tokens=NEW_TOKENS, pairs=pairs)
    for length, turns in zip(PAIRS, ask(request), strict=True):
        plain, own = np.array(turns).transpose(1, 2, 0).tolist()
        for place, clock in enumerate(CLOCKS):
            yield (length, tool, clock), Turns(plain=tuple(plain[place]), tool=tuple(own[place]))


def _record(found: Mapping[tuple[int, str, str], Turns]) -> Record:
    longest = max(length for length, _, _ in found)
    faster = _over(found[longest, PEER, "CPU"].ratio, found[longest, OURS, "CPU"].ratio)
    return measured(
        "peers_time",
        title="Time of an answer with its score, compared with lm-polygraph",
        about=f"{NEW_TOKENS} tokens are generated and scored with RAUQ by a random model of Llama's shape "
        f"({SMALL.layers} layers, hidden size 512), and generated alone by transformers: in the same process, in turn, "
        "batch 1, one thread. Each tool runs in its own environment and is compared with plain generation there.",
        columns=("prompt, tokens", "tool", "clock", "plain, s", "tool, s", "tool / plain", "low", "high", "pairs"),
        rows=[_row(*key, turns) for key, turns in sorted(found.items())],
        bounds=[at_least(f"CPU time at {longest:,} tokens, lm-polygraph / ours, each over plain", faster, LEAST)],
        notes=(
            "lm-polygraph runs with eager attention, which it needs, and without hidden states, which RAUQ does not.",
            "The interval of the last ratio is as wide as both of its parts allow.",
        ),
        finding=f"At {longest:,} prompt tokens, lm-polygraph takes {faster.median:.2f} times the CPU time of "
        "this project.",
    )


def _over(theirs: Ratio, ours: Ratio) -> Ratio:
    """A ratio of two ratios that were measured apart, with the widest interval that both allow."""
    pairs = min(theirs.pairs, ours.pairs)
    return Ratio(theirs.median / ours.median, theirs.low / ours.high, theirs.high / ours.low, pairs)


def _row(length: int, tool: str, clock: str, turns: Turns) -> tuple[str | int | float, ...]:
    plain, taken = seconds(turns.plain).median, seconds(turns.tool).median
    return length, tool, clock, plain, taken, *interval(turns.ratio), turns.ratio.pairs
