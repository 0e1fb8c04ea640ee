"""Beside lm-polygraph, BertViz and plain transformers: time, memory, agreement, payload.

The tools run in their own environment, which `make bench-peers` makes, with the same torch and transformers as here.
At a prompt of 4,096 tokens lm-polygraph has to take at least 3 times as much CPU time, each measured against plain
generation beside it, and at least 15 times as much memory above the loaded model; and both have to agree.

    python -m benchmarks.peers [--record] [--only times memory agreement payload] [--lengths 32 512 2048 4096]
"""

import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from analysis.evidence.record import Record
from benchmarks.peers.agreement import measure_agreement
from benchmarks.peers.asking import peers_versions
from benchmarks.peers.material import random_folder
from benchmarks.peers.memory import measure_memory
from benchmarks.peers.payload import measure_payload
from benchmarks.peers.times import lengths_and_pairs, measure_times
from benchmarks.recording import finish, parser, tell

PARTS = ("agreement", "times", "memory", "payload")
RAUQ_PEERS, VIEW_PEERS = ("lm-polygraph", "torch", "transformers", "numpy"), ("bertviz", "torch")


def main() -> int:
    """Measure, and return 1 where a bound is missed for sure."""
    options = parser(__doc__)
    options.add_argument("--only", choices=PARTS, nargs="+", default=PARTS)
    options.add_argument("--lengths", type=int, nargs="+", default=[32, 512, 2048, 4096])
    options.add_argument("--pairs", type=int, default=9, help="half of them above 1,024 tokens")
    given = options.parse_args()
    return max(finish(record, keep=given.record) for record in _records(given))


def _records(given: Namespace) -> Iterator[Record]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = random_folder(Path(scratch) / "random")
        for part in given.only:
            tell(f"measuring {part}")
            record, packages = _measure(part, given, folder)
            yield replace(record, versions=record.versions + peers_versions(packages))


def _measure(part: str, given: Namespace, folder: Path) -> tuple[Record, tuple[str, ...]]:
    if part == "agreement":
        return measure_agreement(folder, folder.parent), RAUQ_PEERS
    if part == "times":
        return measure_times(folder, lengths_and_pairs(given.lengths, given.pairs)), RAUQ_PEERS
    if part == "memory":
        return measure_memory(folder, given.lengths), RAUQ_PEERS
    return measure_payload(), VIEW_PEERS


if __name__ == "__main__":
    sys.exit(main())
