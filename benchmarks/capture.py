"""What capturing attention and scoring with RAUQ cost, beside plain generation.

One thread, a random model of Llama's shape, 64 new tokens. Ours: generated with capture, and scored; plain:
`transformers` alone. CPU and wall times of both in turn, until a length had its seconds; what it takes of memory is
measured by `benchmarks.memory`. Fails where a bound is missed for sure, at any length:

- CPU time: at most 1.03 of plain generation;
- the recorder alone, toggled at random from step to step: at most 1.01.

    python -m benchmarks.capture [--lengths 32 512 2048 4096 8192] [--seconds 60] [--record]
"""

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple, cast

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported

import numpy as np
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedModel, PreTrainedTokenizerFast
from transformers import logging as transformers_logging

from analysis.evidence.record import Bound, Cell, Record
from benchmarks.paired import Ratio, cpu_seconds, ratio
from benchmarks.parts import recorder
from benchmarks.recording import at_most, finish, interval, measured, parser, tell
from rauq import LanguageModel, score
from rauq.model.loading import wrap

NEW_TOKENS = 64
LEAST_PAIRS, MOST_PAIRS, STEP_PAIRS = 7, 25, 200
MOST_CPU, MOST_RECORDER = 1.03, 1.01


class Cost(NamedTuple):
    """One prompt length: CPU seconds of plain generation, and ratios to it."""

    length: int
    plain: float
    cpu: Ratio
    wall: Ratio
    recorder: Ratio

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Its row of the table."""
        return self.length, self.plain, *interval(self.cpu), self.cpu.pairs, self.wall.median, self.recorder.median

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """What is promised at every length."""
        return (
            at_most(f"{self.length} tokens, CPU time beside plain generation", self.cpu, MOST_CPU),
            at_most(f"{self.length} tokens, a step with the recorder", self.recorder, MOST_RECORDER),
        )


def build() -> PreTrainedModel:
    """8 layers of 8 heads on 4 key heads, hidden size 512, 32,000 tokens: 59 million random parameters."""
    config = LlamaConfig(
        hidden_size=512,
        intermediate_size=1408,
        num_hidden_layers=8,
        num_attention_heads=8,
        num_key_value_heads=4,
        vocab_size=32_000,
        max_position_embeddings=16_384,
        eos_token_id=None,
    )
    torch.manual_seed(0)
    model: PreTrainedModel = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa")
    model.train(mode=False)
    return model


def wrapped(model: PreTrainedModel) -> LanguageModel:
    """The model with a tokenizer of as many words as it has token ids."""
    from tokenizers import Tokenizer, models

    words = Tokenizer(models.WordLevel({f"w{token}": token for token in range(model.config.vocab_size)}, "w0"))
    return wrap(model, PreTrainedTokenizerFast(tokenizer_object=words), name="random-llama")


def prompt_of(length: int) -> list[int]:
    """A seeded random prompt."""
    ids: list[int] = np.random.default_rng(length).integers(32_000, size=length).tolist()
    return ids


def plain(lm: LanguageModel, prompt: list[int], *, new_tokens: int = NEW_TOKENS) -> None:
    """Generation as `transformers` does it alone."""
    ids = torch.tensor([prompt], device=lm.device)
    cast("Any", lm.model).generate(
        ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=new_tokens,
        do_sample=False,
        pad_token_id=0,
        return_dict_in_generate=True,
    )


def ours(lm: LanguageModel, prompt: list[int], *, new_tokens: int = NEW_TOKENS) -> None:
    """Generation with capture, and the score of the answer."""
    score(lm.generate(prompt, max_new_tokens=new_tokens, stop=()))


def in_turn(base: Callable[[], object], own: Callable[[], object], *, seconds: float) -> tuple[float, Ratio, Ratio]:
    """CPU seconds of the base, and the ratios of CPU and wall time to it, in pairs until the seconds are over."""
    runs: tuple[Callable[[], object], ...] = (base, own)
    times: tuple[list[tuple[float, float]], ...] = ([], [])
    for run in runs:
        run()
    begin = perf_counter()
    while (done := len(times[0])) < LEAST_PAIRS or (perf_counter() - begin < seconds and done < MOST_PAIRS):
        for way in (0, 1) if done % 2 else (1, 0):
            times[way].append(spent(runs[way]))
    first, second = np.array(times)
    return float(np.median(first[:, 0])), ratio(second[:, 0], first[:, 0]), ratio(second[:, 1], first[:, 1])


def spent(run: Callable[[], object]) -> tuple[float, float]:
    """CPU and wall seconds of one call."""
    begin = perf_counter()
    cpu = cpu_seconds(run)
    return cpu, perf_counter() - begin


def cost(lm: LanguageModel, length: int, *, seconds: float) -> Cost:
    """Everything about one prompt length."""
    tell(f"prompt of {length} tokens")
    prompt = prompt_of(length)
    base, cpu, wall = in_turn(partial(plain, lm, prompt), partial(ours, lm, prompt), seconds=seconds)
    return Cost(length, base, cpu, wall, recorder(lm, prompt, pairs=STEP_PAIRS))


def finding(costs: Sequence[Cost]) -> str:
    """The largest of what it costs, over all lengths."""
    cpu, lengths = max(found.cpu.median for found in costs), f"{costs[0].length:,} to {costs[-1].length:,}"
    return (
        f"To generate and to score takes at most {cpu:.3f} times the CPU time of plain generation, at {lengths} prompt "
        "tokens."
    )


def recorded(costs: Sequence[Cost]) -> Record:
    """The table of all lengths."""
    return measured(
        "capture",
        title="Generated and scored, beside plain generation",
        about="Batch 1, 64 new tokens, one thread, a random model of Llama's shape (8 layers, hidden size 512): "
        "generated with the attention captured and scored with RAUQ, beside transformers alone. Medians of pairs in "
        "turn.",
        command="python -m benchmarks.capture",
        columns=("prompt tokens", "plain CPU s", "CPU ratio", "low", "high", "pairs", "wall ratio", "recorder ratio"),
        rows=[found.cells for found in costs],
        bounds=[bound for found in costs for bound in found.bounds],
        finding=finding(costs),
        notes=("Recorder ratio: CPU time of a decoding step with the recorder on, beside one with it off.",),
    )


def main() -> int:
    """Print the table; 1 if a bound is missed for sure."""
    options = parser(__doc__)
    options.add_argument("--lengths", type=int, nargs="+", default=[32, 512, 2048, 4096, 8192])
    options.add_argument("--seconds", type=float, default=60, help="how long pairs are timed at a length")
    given = options.parse_args()
    torch.set_num_threads(1)
    transformers_logging.set_verbosity_error()
    lm = wrapped(build())
    return finish(recorded([cost(lm, length, seconds=given.seconds) for length in given.lengths]), keep=given.record)


if __name__ == "__main__":
    sys.exit(main())
