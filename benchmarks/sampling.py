"""What K samples cost that share the pass over their prompt, beside K separate generations.

One thread, a random model of Llama's shape that never ends by itself, so that all answers have the same length; CPU
times, the two ways in turn. Beside it: what the extras of a trace add to a greedy generation. Fails where samples
cost more than 0.7 of separate generations for sure, at any length.

    python -m benchmarks.sampling [--lengths 32 128 512] [--samples 5] [--new-tokens 32] [--pairs 15]
        [--record]
"""

import argparse
import os
import sys
from collections.abc import Callable

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported

import numpy as np
import torch
from transformers import logging as transformers_logging

from analysis.evidence.record import Record
from benchmarks.capture import build, prompt_of, wrapped
from benchmarks.paired import Ratio, cpu_seconds, ratio
from benchmarks.recording import at_most, finish, interval, measured, parser, tell
from rauq import LanguageModel

MOST = 0.7


def in_turn(ours: Callable[[], object], base: Callable[[], object], pairs: int) -> Ratio:
    """CPU time of one way beside the other, each first in every second pair."""
    base()
    times: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(pairs):
        for is_ours in (True, False) if turn % 2 else (False, True):
            times[is_ours].append(cpu_seconds(ours if is_ours else base))
    return ratio(times[True], times[False])


def measure_samples(lm: LanguageModel, length: int, options: argparse.Namespace) -> Ratio:
    """Samples that share their prompt, beside as many separate ones."""
    prompt, new_tokens = prompt_of(length), options.new_tokens

    def separate() -> None:
        for seed in range(options.samples):
            lm.generate(prompt, do_sample=True, seed=seed, max_new_tokens=new_tokens, stop=())

    def shared() -> None:
        lm.sample(prompt, k=options.samples, max_new_tokens=new_tokens, stop=())

    return in_turn(shared, separate, options.pairs)


def measure_extras(lm: LanguageModel, length: int, options: argparse.Namespace) -> Ratio:
    """A greedy generation with all extras, beside one without."""
    prompt, idf = prompt_of(length), np.ones(lm.vocab_size)

    def rich() -> None:
        lm.generate(prompt, max_new_tokens=options.new_tokens, stop=(), extras=lm.extras, idf=idf)

    def plain() -> None:
        lm.generate(prompt, max_new_tokens=options.new_tokens, stop=())

    return in_turn(rich, plain, options.pairs)


def measure(lm: LanguageModel, options: argparse.Namespace) -> Record:
    """Both comparisons, one prompt length after the other."""
    samples, extras = {}, {}
    for length in options.lengths:
        tell(f"prompt of {length:,} tokens")
        samples[length] = measure_samples(lm, length, options)
        extras[length] = measure_extras(lm, length, options)
    together = f"{options.samples} samples, together / separate"
    kinds = ((together, samples), ("one generation, with all extras / without", extras))
    longest = max(options.lengths)
    return measured(
        "sampling",
        title="Samples that share their prompt",
        about=f"What {options.samples} samples of {options.new_tokens} tokens cost that share the pass over their "
        "prompt, beside separate generations; and what the arrays for other methods add to one generation.",
        command="python -m benchmarks.sampling --record",
        columns=("what", "prompt tokens", "CPU ratio", "low", "high"),
        rows=[(what, length, *interval(found)) for what, all_ in kinds for length, found in all_.items()],
        bounds=[at_most(f"{together}, prompt of {length:,}", found, MOST) for length, found in samples.items()],
        notes=(f"{options.pairs} pairs each, one thread, a random model of 59 million parameters.",),
        finding=f"At a prompt of {longest:,} tokens, {options.samples} samples cost {samples[longest].median:.2f} of "
        "as many separate generations.",
    )


def main() -> int:
    """Measure, and return 1 if a bound is missed for sure."""
    options = parser(__doc__)
    options.add_argument("--lengths", type=int, nargs="+", default=[32, 128, 512])
    options.add_argument("--samples", type=int, default=5)
    options.add_argument("--new-tokens", type=int, default=32)
    options.add_argument("--pairs", type=int, default=15)
    given = options.parse_args()
    torch.set_num_threads(1)
    transformers_logging.set_verbosity_error()
    return finish(measure(wrapped(build()), given), keep=given.record)


if __name__ == "__main__":
    sys.exit(main())
