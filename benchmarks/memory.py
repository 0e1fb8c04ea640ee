"""What capturing attention and scoring with RAUQ take of memory, beside plain generation.

The random model of `benchmarks.capture`, 64 new tokens, one thread: the peak above the loaded model, each run in a
process of its own, medians. The allocator is told to give every block of 1 MiB and more back as soon as it is freed:
left alone, glibc keeps some of them, and how much is chance: 100 to 400 MiB between equal runs of either.
`benchmarks.peers` measures with the allocator as it is. Fails where ours takes more than 48 MiB more at any length.

    python -m benchmarks.memory [--lengths 32 512 2048 4096 8192] [--record]
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported

import numpy as np
import torch
from transformers import logging as transformers_logging

from analysis.evidence.record import Bound, Cell, Record
from benchmarks.capture import build, ours, plain, prompt_of, wrapped
from benchmarks.recording import finish, measured, parser, tell

RUNS = 3
MOST_EXTRA_MIB = 48
WAYS = {"plain": plain, "ours": ours}
_GIVE_BACK = {"MALLOC_MMAP_THRESHOLD_": str(2**20)}
_HOW = (
    "Both are measured with MALLOC_MMAP_THRESHOLD_=1048576. Without it glibc keeps freed blocks by chance, and equal "
    "runs of either differ by 100 MiB and more; the table beside lm-polygraph is made without it."
)


class Peaks(NamedTuple):
    """Peak MiB above the loaded model at one prompt length, of plain generation and of ours, in every process."""

    length: int
    plain: Sequence[float]
    ours: Sequence[float]

    @property
    def extra(self) -> float:
        """How much more ours takes, in the median."""
        return float(np.median(self.ours) - np.median(self.plain))

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Its row of the table."""
        middles = float(np.median(self.plain)), float(np.median(self.ours))
        return self.length, *middles, self.extra, min(self.ours), max(self.ours)

    @property
    def bound(self) -> Bound:
        """What is promised at every length."""
        text = f"{self.length} tokens, extra peak memory: {round(self.extra)} MiB, at most {MOST_EXTRA_MIB}"
        return Bound(text=text, met=self.extra <= MOST_EXTRA_MIB)


def peak(way: str, length: int) -> float:
    """Peak MiB of one run, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.memory", "--of", way, "--lengths", str(length)]
    root, environment = Path(__file__).resolve().parents[1], os.environ | _GIVE_BACK
    run = subprocess.run(command, cwd=root, env=environment, check=True, capture_output=True, text=True)
    return float(run.stdout)


def own_peak(way: str, length: int) -> float:
    """Peak MiB of one run in this process, above what the loaded model takes."""
    lm = wrapped(build())
    plain(lm, prompt_of(8))  # what every first call allocates
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak of building the model
    loaded = memory_mib("VmRSS")
    WAYS[way](lm, prompt_of(length))
    return memory_mib("VmHWM") - loaded


def memory_mib(name: str) -> float:
    """A line of the kernel's account of this process, such as VmHWM, the peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 1024


def peaks(length: int) -> Peaks:
    """Both ways at one prompt length, in turn."""
    tell(f"prompt of {length} tokens")
    turns = [[peak(way, length) for way in WAYS] for _ in range(RUNS)]
    return Peaks(length, *zip(*turns, strict=True))


def recorded(found: Sequence[Peaks]) -> Record:
    """The table of all lengths."""
    most, lengths = max(one.extra for one in found), f"{found[0].length:,} to {found[-1].length:,}"
    return measured(
        "memory",
        title="Memory of generating and scoring, beside plain generation",
        about="Batch 1, 64 new tokens, the random model of Llama's shape: peak resident memory above the loaded model, "
        f"medians of {RUNS} processes; low and high are the least and the most of ours.",
        command="python -m benchmarks.memory",
        columns=("prompt tokens", "plain MiB", "ours MiB", "extra MiB", "low", "high"),
        rows=[one.cells for one in found],
        bounds=[one.bound for one in found],
        notes=(_HOW,),
        finding=f"To generate and to score takes at most {max(most, 0):.0f} MiB more memory than plain generation, at "
        f"{lengths} prompt tokens.",
    )


def main() -> int:
    """Print the table; 1 if a bound is missed."""
    options = parser(__doc__)
    options.add_argument("--lengths", type=int, nargs="+", default=[32, 512, 2048, 4096, 8192])
    options.add_argument("--of", choices=WAYS, help="only print the peak of one run, in MiB")
    given = options.parse_args()
    torch.set_num_threads(1)
    transformers_logging.set_verbosity_error()
    if given.of:
        print(own_peak(given.of, given.lengths[0]))
        return 0
    return finish(recorded([peaks(length) for length in given.lengths]), keep=given.record)


if __name__ == "__main__":
    sys.exit(main())
