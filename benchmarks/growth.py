"""How what we add to generation grows with the prompt: as its length, or as the square of it.

The random model of `benchmarks.capture`, 64 new tokens, one thread. Timed alone, in CPU seconds, is all that is done
besides the model's own steps: the statistics of the logits, the band of attention, and the trace with its score. Only
the band knows how long the prompt is. Fails where an exponent, log-log over the lengths, is 1.5 or more for sure.

    python -m benchmarks.growth [--lengths 512 1024 2048 4096 8192] [--rounds 7] [--record]
"""

import os
import sys

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported

import numpy as np
import torch

from analysis.evidence.record import Record
from benchmarks.capture import NEW_TOKENS, build, prompt_of, wrapped
from benchmarks.paired import Ratio
from benchmarks.parts import Parts, parts
from benchmarks.recording import at_most, finish, measured, parser, tell

MOST_EXPONENT = 1.5
_RESAMPLES = 2000


def exponent(lengths: list[int], seconds: np.ndarray) -> Ratio:
    """Slope of the log of the median over rounds, out of (lengths, rounds), by the log of the length.

    The interval is that of seeded resamples of the rounds of each length.
    """
    num_rounds = seconds.shape[1]
    picks = np.random.default_rng(0).integers(num_rounds, size=(_RESAMPLES, *seconds.shape))
    medians = np.median(np.take_along_axis(seconds[None], picks, axis=2), axis=2)  # (resamples, lengths)
    low, high = np.percentile(_slopes(lengths, medians), [2.5, 97.5])
    return Ratio(float(_slopes(lengths, np.median(seconds, axis=1)[None])[0]), float(low), float(high), num_rounds)


def _slopes(lengths: list[int], medians: np.ndarray) -> np.ndarray:
    return np.polyfit(np.log(lengths), np.log(medians).T, deg=1)[0]


def measure(lengths: list[int], rounds: int, *, new_tokens: int = NEW_TOKENS) -> Record:
    """All lengths in turn, round by round; the first round only warms up."""
    lm, found = wrapped(build()), []
    for turn in range(rounds + 1):
        tell(f"round {turn} of {rounds}")
        found.append([parts(lm, prompt_of(length), new_tokens=new_tokens) for length in lengths])
    seconds = np.array(found[1:])  # (rounds, lengths, parts)
    band, added = seconds[:, :, Parts._fields.index("band")].T, seconds[:, :, 1:].sum(axis=2).T
    return recorded(lengths, np.median(seconds, axis=0), band=exponent(lengths, band), added=exponent(lengths, added))


def recorded(lengths: list[int], medians: np.ndarray, *, band: Ratio, added: Ratio) -> Record:
    """The table of all lengths, from the median of each part (lengths, parts)."""
    rows = [
        (length, made.steps, *(1000 * part for part in made[1:]), 1000 * made.added)
        for length, made in zip(lengths, (Parts(*row) for row in medians.tolist()), strict=True)
    ]
    return measured(
        "growth",
        title="How what we add grows with the prompt",
        about="CPU time of all that is done besides the model's own steps, 64 new tokens, one thread, the random model "
        "of Llama's shape: statistics of the logits, band of attention, trace with score. Only the band knows how long "
        "the prompt is.",
        command="python -m benchmarks.growth",
        columns=("prompt tokens", "decoding steps s", "statistics ms", "band ms", "trace and score ms", "all added ms"),
        rows=rows,
        bounds=(
            at_most("exponent of the band in the prompt's length", band, MOST_EXPONENT),
            at_most("exponent of all that is added", added, MOST_EXPONENT),
        ),
        finding=f"The band's time grows with the prompt's length to the power of {band}, and all that is added to the "
        f"power of {added}.",
    )


def main() -> int:
    """Print the table; 1 if a bound is missed for sure."""
    options = parser(__doc__)
    options.add_argument("--lengths", type=int, nargs="+", default=[512, 1024, 2048, 4096, 8192])
    options.add_argument("--rounds", type=int, default=7)
    given = options.parse_args()
    torch.set_num_threads(1)
    return finish(measure(given.lengths, given.rounds), keep=given.record)


if __name__ == "__main__":
    sys.exit(main())
