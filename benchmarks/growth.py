"""How what we add to generation grows with the prompt: as its length, or as the square of it.

The random model, 64 new tokens. Timed alone, in CPU seconds, is all that is done besides the model's own steps: the
statistics of the logits, the band of attention, and the trace with its score. Only the band depends on the length of
the prompt. Bound: the exponents of the band and of all, log-log over the lengths, are at most 1.5.
"""

from collections.abc import Sequence

import numpy as np

from analysis.evidence.record import Record
from benchmarks.parts import Parts, parts
from benchmarks.support.paired import Ratio
from benchmarks.support.random_model import NEW_TOKENS, build, prompt_of, wrapped
from benchmarks.support.recording import at_most, measured, tell

LENGTHS = (512, 1024, 2048, 4096, 8192)
ROUNDS = 7
MOST_EXPONENT = 1.5
_RESAMPLES = 2000


def measure() -> Record:
    """All lengths in turn, round by round; the first round only warms up."""
    lm, found = wrapped(build()), []
    for turn in range(ROUNDS + 1):
        tell(f"round {turn} of {ROUNDS}")
        found.append([parts(lm, prompt_of(length), new_tokens=NEW_TOKENS) for length in LENGTHS])
    return _record(LENGTHS, np.array(found[1:]))


def _record(lengths: Sequence[int], seconds: np.ndarray) -> Record:
    """The record of the seconds of each part: (rounds, lengths, parts)."""
    band = _exponent(lengths, seconds[:, :, Parts._fields.index("band")].T)
    added = _exponent(lengths, seconds[:, :, 1:].sum(axis=2).T)
    medians = [Parts(*row) for row in np.median(seconds, axis=0).tolist()]
    return measured(
        "growth",
        title="Growth of the added time with prompt length",
        about="CPU time of all that is done besides the model's own steps, 64 new tokens, one thread, the random model "
        "of Llama's shape: statistics of the logits, band of attention, trace with score. Only the band knows how long "
        "the prompt is.",
        columns=("prompt tokens", "decoding steps s", "statistics ms", "band ms", "trace and score ms", "all added ms"),
        rows=[
            (length, made.steps, *(1000 * part for part in made[1:]), 1000 * made.added)
            for length, made in zip(lengths, medians, strict=True)
        ],
        bounds=(
            at_most("exponent of the band in the prompt's length", band, MOST_EXPONENT),
            at_most("exponent of all added time", added, MOST_EXPONENT),
        ),
        finding=f"The band's time grows with the prompt's length to the power of {band}, and all added time to the "
        f"power of {added}.",
    )


def _exponent(lengths: Sequence[int], seconds: np.ndarray) -> Ratio:
    """Slope of the log of the median over rounds, out of (lengths, rounds), by the log of the length.

    The interval is that of seeded resamples of the rounds of each length.
    """
    num_rounds = seconds.shape[1]
    picks = np.random.default_rng(0).integers(num_rounds, size=(_RESAMPLES, *seconds.shape))
    medians = np.median(np.take_along_axis(seconds[None], picks, axis=2), axis=2)  # (resamples, lengths)
    low, high = np.percentile(_slopes(lengths, medians), [2.5, 97.5])
    return Ratio(float(_slopes(lengths, np.median(seconds, axis=1)[None])[0]), float(low), float(high), num_rounds)


def _slopes(lengths: Sequence[int], medians: np.ndarray) -> np.ndarray:
    return np.polyfit(np.log(lengths), np.log(medians).T, deg=1)[0]
