"""What K samples cost that share the pass over their prompt, relative to K separate generations.

The random model, which never ends by itself, so that all answers have the same length; CPU times, both ways in turn.
Also: what the extras of a trace add to a greedy generation. Bound, at every prompt length: samples cost at most 0.7 of
separate generations.
"""

import numpy as np

from analysis.evidence.record import Record
from benchmarks.support.paired import Ratio, in_turn, ratio
from benchmarks.support.random_model import build, prompt_of, wrapped
from benchmarks.support.recording import at_most, interval, measured, tell
from rauq import LanguageModel

LENGTHS = (32, 128, 512)
SAMPLES, NEW_TOKENS, PAIRS = 5, 32, 15
MOST = 0.7


def measure() -> Record:
    """Both comparisons, one prompt length after the other."""
    lm, samples, extras = wrapped(build()), {}, {}
    for length in LENGTHS:
        tell(f"prompt of {length:,} tokens")
        samples[length], extras[length] = _samples(lm, length), _extras(lm, length)
    together = f"{SAMPLES} samples, together / separate"
    kinds = ((together, samples), ("one generation, with all extras / without", extras))
    longest = max(LENGTHS)
    return measured(
        "sampling",
        title="Samples that share their prompt",
        about=f"What {SAMPLES} samples of {NEW_TOKENS} tokens cost that share the pass over their prompt, beside "
        "separate generations; and what the arrays for other methods add to one generation.",
        columns=("what", "prompt tokens", "CPU ratio", "low", "high"),
        rows=[(what, length, *interval(found)) for what, all_ in kinds for length, found in all_.items()],
        bounds=[at_most(f"{together}, prompt of {length:,}", found, MOST) for length, found in samples.items()],
        notes=(f"{PAIRS} pairs each, one thread, a random model of 59 million parameters.",),
        finding=f"At a prompt of {longest:,} tokens, {SAMPLES} samples cost {samples[longest].median:.2f} of as many "
        "separate generations.",
    )


def _samples(lm: LanguageModel, length: int) -> Ratio:
    """Samples that share their prompt, over as many separate ones."""
    prompt = prompt_of(length)

    def separate() -> None:
        for seed in range(SAMPLES):
            lm.generate(prompt, do_sample=True, seed=seed, max_new_tokens=NEW_TOKENS, stop=())

    def shared() -> None:
        lm.sample(prompt, k=SAMPLES, max_new_tokens=NEW_TOKENS, stop=())

    separate()  # warms up
    base, own = in_turn(PAIRS, separate, shared)
    return ratio(own, base)


def _extras(lm: LanguageModel, length: int) -> Ratio:
    """A greedy generation with all extras, over one without."""
    prompt, idf = prompt_of(length), np.ones(lm.vocab_size)

    def without() -> None:
        lm.generate(prompt, max_new_tokens=NEW_TOKENS, stop=())

    def with_extras() -> None:
        lm.generate(prompt, max_new_tokens=NEW_TOKENS, stop=(), extras=lm.extras, idf=idf)

    without()  # warms up
    base, own = in_turn(PAIRS, without, with_extras)
    return ratio(own, base)
