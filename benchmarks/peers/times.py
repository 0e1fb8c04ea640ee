"""CPU and wall time of an answer with its score, beside plain generation in the same process, for each tool."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.evidence.record import Record
from benchmarks.paired import Ratio, ratio, seconds
from benchmarks.peers.asking import COMMAND, LAYERS, NEW_TOKENS, OURS, PEER, ask
from benchmarks.peers.material import random_prompt
from benchmarks.peers.worker import Request, ToolName
from benchmarks.recording import at_least, interval, measured

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


def measure_times(folder: Path, pairs: Mapping[int, int]) -> Record:
    """Every tool at every prompt length, with so many pairs for each."""
    found: dict[tuple[int, str, str], Turns] = {}
    for tool in TOOLS:
        request = Request(
            what="times",
            tool=tool,
            folder=str(folder),
            prompts=tuple(map(random_prompt, pairs)),
            new_tokens=NEW_TOKENS,
            pairs=tuple(pairs.values()),
        )
        for length, turns in zip(pairs, ask(request), strict=True):
            for place, clock in enumerate(CLOCKS):
                columns = {name: tuple(pair[place] for pair in turns[name]) for name in ("plain", "tool")}
                found[length, tool, clock] = Turns(**columns)
    return times_record(found)


def times_record(found: Mapping[tuple[int, str, str], Turns]) -> Record:
    """The record of turns by prompt length, tool and clock."""
    longest = max(length for length, _, _ in found)
    faster = over(found[longest, PEER, "CPU"].ratio, found[longest, OURS, "CPU"].ratio)
    return measured(
        "peers_time",
        title="Time of an answer with its score, beside lm-polygraph",
        about=f"{NEW_TOKENS} tokens are generated and scored with RAUQ by a random model of Llama's shape ({LAYERS} "
        "layers, hidden size 512), and generated alone by transformers: in the same process, in turn, batch 1, one "
        "thread. Each tool runs in its own environment and is compared with plain generation there.",
        command=COMMAND,
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


def over(theirs: Ratio, ours: Ratio) -> Ratio:
    """A ratio of two ratios that were measured apart, with the widest interval that both allow."""
    pairs = min(theirs.pairs, ours.pairs)
    return Ratio(theirs.median / ours.median, theirs.low / ours.high, theirs.high / ours.low, pairs)


def _row(length: int, tool: str, clock: str, turns: Turns) -> tuple[str | int | float, ...]:
    plain, taken = seconds(turns.plain).median, seconds(turns.tool).median
    return length, tool, clock, plain, taken, *interval(turns.ratio), turns.ratio.pairs


def lengths_and_pairs(lengths: Sequence[int], most: int) -> dict[int, int]:
    """Fewer pairs where a pair takes long: half of them above 1,024 tokens."""
    return {length: most if length <= 1_024 else max(most // 2, 1) for length in lengths}
