"""What capture and score cost on a GPU, as a share of decoding, at the shapes of Llama-3.1.

Random weights in bfloat16, batch 1, 256 new tokens: the 8B model, and 4 layers of the 70B one. Timed between events of
the GPU: recorder, statistics, band and score, over the decoding steps; whole generations, ours and those of
`transformers` alone in turn; peak memory above the loaded model. Bound, on the 8B model: what is added is at most 0.3 %
of decoding.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch

from analysis.evidence.record import Cell, Record
from benchmarks.parts import Parts, parts, recorder, timed
from benchmarks.support.paired import Ratio, ratio
from benchmarks.support.random_model import Shape, build, ours, plain, prompt_of, wrapped
from benchmarks.support.recording import at_most, interval, measured, tell
from rauq import LanguageModel
from rauq.errors import InvalidInput

LENGTHS = (512, 4096)
NEW_TOKENS, ROUNDS, STEP_PAIRS = 256, 7, 200
MOST_PERCENT = 0.3
WHOLE = "8B"
SHAPES = {
    WHOLE: Shape(hidden=4096, inner=14_336, layers=32, heads=32, key_heads=8, vocabulary=128_256),
    "70B, 4 of 80 layers": Shape(hidden=8192, inner=28_672, layers=4, heads=64, key_heads=8, vocabulary=128_256),
}


class Share(NamedTuple):
    """One shape at one length: what is added, in percent of the steps, whole generations, and peak MiB of both."""

    shape: str
    length: int
    steps: float
    added: Ratio
    whole: Ratio
    plain_mib: float
    ours_mib: float

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Its row of the table."""
        return (
            *(self.shape, self.length, self.steps, *interval(self.added), *interval(self.whole)),
            *(self.plain_mib, self.ours_mib),
        )


def measure() -> Record:
    """Every shape at every prompt length.

    Raises:
        InvalidInput: there is no GPU.
    """
    if not torch.cuda.is_available():
        message = "There is no GPU here, so nothing was measured; run this on a machine with CUDA."
        raise InvalidInput(message)
    shares = []
    for name, shape in SHAPES.items():
        lm = wrapped(build(shape, device="cuda", dtype=torch.bfloat16))
        for length in LENGTHS:
            tell(f"{name}, prompt of {length:,} tokens")
            shares.append(_share(lm, name, length))
    return _record(shares, torch.cuda.get_device_name())


def _share(lm: LanguageModel, name: str, length: int) -> Share:
    prompt = prompt_of(length, vocabulary=lm.vocab_size)
    runs = [partial(way, lm, prompt, new_tokens=NEW_TOKENS) for way in (plain, ours)]
    peaks = [_peak_mib(run, device=lm.device) for run in runs]  # these warm up, too
    found = [parts(lm, prompt, new_tokens=NEW_TOKENS) for _ in range(ROUNDS)]
    whole = [[timed(run, device=lm.device)[1] for run in runs] for _ in range(ROUNDS)]
    base, own = np.array(whole).T
    added = _percent(recorder(lm, prompt, pairs=STEP_PAIRS), found)
    steps = float(np.median([made.steps for made in found]))
    return Share(name, length, steps, added, ratio(own, base), *peaks)


def _percent(recorded: Ratio, found: Sequence[Parts]) -> Ratio:
    """What recorder and parts add to the steps, in percent of them."""
    rest = ratio([made.added for made in found], [made.steps for made in found])
    median, low, high = 100 * (np.array(interval(recorded)) - 1 + interval(rest))
    return Ratio(float(median), float(low), float(high), rest.pairs)


def _peak_mib(run: Callable[[], object], *, device: torch.device) -> float:
    """Peak memory of the GPU above what was taken before; nan without one."""
    if device.type != "cuda":
        run()
        return float("nan")
    before = torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    run()
    return (torch.cuda.max_memory_allocated(device) - before) / 2**20


def _record(shares: Sequence[Share], gpu: str) -> Record:
    most = max(found.added.median for found in shares)
    return measured(
        "gpu",
        title="Capture and score on a GPU",
        about="Batch 1, 256 new tokens, random weights in bfloat16. Added: recorder, statistics of the logits, band of "
        "attention, and trace with score, in percent of the decoding steps; whole: generated and scored, beside "
        "transformers alone, in turn. Memory is the peak above the loaded model.",
        columns=(
            *("shape of Llama-3.1", "prompt tokens", "decoding steps s", "added %", "low", "high"),
            *("whole ratio", "whole low", "whole high", "plain peak MiB", "ours peak MiB"),
        ),
        rows=[found.cells for found in shares],
        bounds=[
            at_most(f"{found.length} tokens, added in percent of decoding", found.added, MOST_PERCENT)
            for found in shares
            if found.shape == WHOLE
        ],
        notes=(f"Measured on one {gpu}.",),
        finding=f"On a GPU, capture and score add at most {most:.2f} % to decoding.",
    )
