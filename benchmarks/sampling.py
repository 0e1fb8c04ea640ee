"""What K samples cost that share the pass over their prompt, beside K separate generations.

One thread, a random model of Llama's shape that never ends by itself, so that all answers have the same length; CPU
times, the two ways in turn. The second table is what the extras of a trace add to a generation. Fails where samples
cost more than 0.7 of separate generations for sure, at any length.

    python -m benchmarks.sampling [--lengths 32 128 512 1024] [--samples 5] [--new-tokens 32] [--pairs 7]
"""

import argparse
import os
import sys
from collections.abc import Callable

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported

import numpy as np
import torch
from transformers import logging as transformers_logging

from benchmarks.capture import build, prompt_of, wrapped
from benchmarks.paired import Ratio, cpu_seconds, ratio
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


def main() -> int:
    """Print the two tables; 1 if the bound is missed for sure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", type=int, nargs="+", default=[32, 128, 512, 1024])
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--new-tokens", type=int, default=32)
    parser.add_argument("--pairs", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(1)
    transformers_logging.set_verbosity_error()
    lm, missed = wrapped(build()), False
    print(f"{options.samples} samples of {options.new_tokens} tokens, shared / separate, CPU time, at most {MOST}")
    for length in options.lengths:
        found = measure_samples(lm, length, options)
        missed |= found.low > MOST
        print(f"  prompt of {length:5} tokens    {found}  ({options.pairs} pairs)", flush=True)
    print("a greedy generation with all extras / without, CPU time")
    for length in options.lengths:
        found = measure_extras(lm, length, options)
        print(f"  prompt of {length:5} tokens    {found}  ({options.pairs} pairs)", flush=True)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
