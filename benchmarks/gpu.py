"""What capture and score cost on a GPU, as a share of decoding, at the shapes of Llama-3.1.

Random weights in bfloat16, batch 1, 256 new tokens: the 8B model, and 4 layers of the 70B one. Timed between events of
the GPU: recorder, statistics, band and score, over the decoding steps; whole generations, ours and those of
`transformers` alone in turn; peak memory above the loaded model. Fails where a bound is missed for sure:

- on the 8B model, what is added: at most 0.3 % of decoding.

Without a GPU it says so, and ends with 2.

    python -m benchmarks.gpu [--lengths 512 4096] [--rounds 7] [--record]
"""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedModel

from analysis.evidence.record import Cell, Record
from benchmarks.capture import ours, plain, wrapped
from benchmarks.paired import Ratio, ratio
from benchmarks.parts import Parts, parts, recorder, timed
from benchmarks.recording import at_most, finish, interval, measured, parser, tell
from rauq import LanguageModel

NEW_TOKENS, STEP_PAIRS = 256, 200
MOST_PERCENT = 0.3


class Shape(NamedTuple):
    """A model of Llama's kind, with 8 key heads."""

    name: str
    hidden: int
    inner: int
    layers: int
    heads: int
    vocabulary: int = 128_256


SHAPES = (
    Shape("8B", hidden=4096, inner=14_336, layers=32, heads=32),
    Shape("70B, 4 of 80 layers", hidden=8192, inner=28_672, layers=4, heads=64),
)


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


def build(shape: Shape, device: str) -> PreTrainedModel:
    """Random weights in bfloat16, made on the device."""
    config = LlamaConfig(
        hidden_size=shape.hidden,
        intermediate_size=shape.inner,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=8,
        vocab_size=shape.vocabulary,
        max_position_embeddings=16_384,
        eos_token_id=None,
    )
    torch.manual_seed(0)
    with torch.device(device):
        model: PreTrainedModel = AutoModelForCausalLM.from_config(
            config, attn_implementation="sdpa", dtype=torch.bfloat16
        )
    model.train(mode=False)
    return model


def share(
    lm: LanguageModel, name: str, length: int, *, new_tokens: int, rounds: int, step_pairs: int = STEP_PAIRS
) -> Share:
    """Everything about one shape at one length."""
    prompt: list[int] = np.random.default_rng(length).integers(lm.vocab_size, size=length).tolist()
    runs = [partial(way, lm, prompt, new_tokens=new_tokens) for way in (plain, ours)]
    peaks = [peak_mib(run, device=lm.device) for run in runs]  # these warm up, too
    found = [parts(lm, prompt, new_tokens=new_tokens) for _ in range(rounds)]
    whole = [[timed(run, device=lm.device)[1] for run in runs] for _ in range(rounds)]
    base, own = np.array(whole).T
    added = percent(recorder(lm, prompt, pairs=step_pairs), found)
    steps = float(np.median([made.steps for made in found]))
    return Share(name, length, steps, added, ratio(own, base), *peaks)


def percent(recorded: Ratio, found: Sequence[Parts]) -> Ratio:
    """What recorder and parts add to the steps, in percent of them."""
    rest = ratio([made.added for made in found], [made.steps for made in found])
    median, low, high = 100 * (np.array(interval(recorded)) - 1 + interval(rest))
    return Ratio(float(median), float(low), float(high), rest.pairs)


def peak_mib(run: Callable[[], object], *, device: torch.device) -> float:
    """Peak memory of the GPU above what was taken before; nan without one."""
    if device.type != "cuda":
        run()
        return float("nan")
    before = torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    run()
    return (torch.cuda.max_memory_allocated(device) - before) / 2**20


def recorded(shares: Sequence[Share], gpu: str) -> Record:
    """The table of all shapes and lengths."""
    most = max(found.added.median for found in shares)
    return measured(
        "gpu",
        title="Capture and score on a GPU",
        about="Batch 1, 256 new tokens, random weights in bfloat16. Added: recorder, statistics of the logits, band of "
        "attention, and trace with score, in percent of the decoding steps; whole: generated and scored, beside "
        "transformers alone, in turn. Memory is the peak above the loaded model.",
        command="python -m benchmarks.gpu",
        columns=(
            *("shape of Llama-3.1", "prompt tokens", "decoding steps s", "added %", "low", "high"),
            *("whole ratio", "whole low", "whole high", "plain peak MiB", "ours peak MiB"),
        ),
        rows=[found.cells for found in shares],
        bounds=[
            at_most(f"{found.length} tokens, added in percent of decoding", found.added, MOST_PERCENT)
            for found in shares
            if found.shape == SHAPES[0].name
        ],
        notes=(f"Measured on one {gpu}.",),
        finding=f"On a GPU, capture and score add at most {most:.2f} % to decoding.",
    )


def main() -> int:
    """Print the table; 1 if a bound is missed for sure, 2 without a GPU."""
    options = parser(__doc__)
    options.add_argument("--lengths", type=int, nargs="+", default=[512, 4096])
    options.add_argument("--rounds", type=int, default=7)
    given = options.parse_args()
    if not torch.cuda.is_available():
        tell("There is no GPU here, so nothing was measured; run this on a machine with CUDA.")
        return 2
    shares = []
    for shape in SHAPES:
        lm = wrapped(build(shape, "cuda"))
        for length in given.lengths:
            tell(f"{shape.name}, prompt of {length} tokens")
            shares.append(share(lm, shape.name, length, new_tokens=NEW_TOKENS, rounds=given.rounds))
    return finish(recorded(shares, torch.cuda.get_device_name()), keep=given.record)


if __name__ == "__main__":
    sys.exit(main())
