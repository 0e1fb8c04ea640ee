"""What capturing attention costs, beside plain generation and beside eager attention with `output_attentions`.

One thread, a random model of Llama's shape, 64 new tokens. Times are CPU times of one process, the ways in turn;
memory is the peak above the loaded model, the median of five processes. Fails where a bound is missed for sure:

- generation with capture, its finish and its statistics: at most 1.03 of plain generation (`transformers` alone);
- the recorder alone, toggled at random from step to step: at most 1.01;
- extra peak memory: at most 48 MiB above plain generation, at every length.

    python -m benchmarks.capture [--lengths 512 2048 4096] [--pairs 15] [--eager-pairs 3]
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported

import numpy as np
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedModel, PreTrainedTokenizerFast
from transformers import logging as transformers_logging

from benchmarks.paired import Ratio, cpu_seconds, ratio
from rauq import LanguageModel
from rauq.capture.feed import TappedFeed
from rauq.models import wrap_model

NEW_TOKENS = 64
STEP_PAIRS = 200
MEMORY_RUNS = 5
WAYS = ("plain", "capture", "eager")
MOST_CAPTURE, MOST_RECORDER, MOST_MEMORY_MIB = 1.03, 1.01, 48


def build(*, eager: bool = False) -> PreTrainedModel:
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
    model: PreTrainedModel = AutoModelForCausalLM.from_config(config, attn_implementation="eager" if eager else "sdpa")
    model.train(mode=False)
    return model


def plain(model: PreTrainedModel, prompt: list[int], *, attentions: bool = False) -> None:
    """Generation as transformers does it alone."""
    ids = torch.tensor([prompt])
    cast("Any", model).generate(
        ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=NEW_TOKENS,
        do_sample=False,
        pad_token_id=0,
        output_attentions=attentions,
        return_dict_in_generate=True,
    )


def ways(model: PreTrainedModel) -> dict[str, Callable[[list[int]], object]]:
    """The three ways to generate, over one set of weights."""
    lm = wrapped(model)
    eager = build(eager=True)
    eager.load_state_dict(model.state_dict(), assign=True)
    return {
        "plain": lambda prompt: plain(model, prompt),
        "capture": lambda prompt: lm.generate(prompt, max_new_tokens=NEW_TOKENS, stop=()),
        "eager": lambda prompt: plain(eager, prompt, attentions=True),
    }


def wrapped(model: PreTrainedModel) -> LanguageModel:
    """The model with a tokenizer of as many words as it has token ids."""
    from tokenizers import Tokenizer, models

    words = Tokenizer(models.WordLevel({f"w{token}": token for token in range(model.config.vocab_size)}, "w0"))
    return wrap_model(model, PreTrainedTokenizerFast(tokenizer_object=words), name="random-llama")


def prompt_of(length: int) -> list[int]:
    """A seeded random prompt."""
    ids: list[int] = np.random.default_rng(length).integers(32_000, size=length).tolist()
    return ids


def measure_generation(length: int, pairs: int, eager_pairs: int) -> dict[str, Ratio]:
    """Ratios to plain generation, all ways in turn; the slow eager way only in the first rounds."""
    runs, prompt = ways(build()), prompt_of(length)
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    for run in runs.values():
        run(prompt[:64])
    for turn in range(pairs):
        order = ["plain", "capture"] if turn % 2 else ["capture", "plain"]
        for way in [*order, *(["eager"] if turn < eager_pairs else [])]:
            times[way].append(cpu_seconds(partial(runs[way], prompt)))
    print(f"  plain generation: median {np.median(times['plain']):.2f} s of CPU time", flush=True)
    return {
        "capture": ratio(times["capture"], times["plain"]),
        "eager": ratio(times["eager"], times["plain"][:eager_pairs]),
    }


@torch.inference_mode()
def measure_recorder(length: int) -> Ratio:
    """Decoding steps of one generation in pairs, one of each pair with the recorder on, in random order."""
    model = build()
    wrapped(model)
    feed = TappedFeed(model, [0])
    feed.feed(torch.tensor([prompt_of(length)]), tail=1)
    token, random = torch.tensor([[7]]), np.random.default_rng(0)
    on, off = [], []
    for _ in range(STEP_PAIRS):
        for recorded in random.permutation([True, False]):
            if recorded:
                on.append(cpu_seconds(lambda: feed.feed(token, tail=1)))
            else:
                off.append(cpu_seconds(lambda: feed.cached.forward(token, tail=1)))
    return ratio(on, off)


def measure_memory(way: str, length: int) -> float:
    """Peak MiB above the loaded model, each run in a process of its own; the median, for the heap has its moods."""
    command = [sys.executable, "-m", "benchmarks.capture", "--memory-of", way, "--lengths", str(length)]
    root = Path(__file__).resolve().parents[1]
    runs = [subprocess.run(command, cwd=root, check=True, capture_output=True, text=True) for _ in range(MEMORY_RUNS)]
    return float(np.median([float(run.stdout) for run in runs]))


def report_memory(way: str, length: int) -> None:
    """Print the peak of one run, above what the loaded model takes."""
    model = build(eager=way == "eager")
    lm = wrapped(model) if way == "capture" else None
    plain(model, prompt_of(8))  # what every first call allocates
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak of building the model
    loaded = memory_mib("VmRSS")
    if lm is not None:
        lm.generate(prompt_of(length), max_new_tokens=NEW_TOKENS, stop=())
    else:
        plain(model, prompt_of(length), attentions=way == "eager")
    print(memory_mib("VmHWM") - loaded)


def memory_mib(name: str) -> float:
    """A line of the kernel's account of this process, such as VmHWM, the peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 1024


def main() -> int:
    """Print the table; 1 if a bound is missed for sure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", type=int, nargs="+", default=[512, 2048, 4096])
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--eager-pairs", type=int, default=3)
    parser.add_argument("--memory-of", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    transformers_logging.set_verbosity_error()
    if options.memory_of:
        report_memory(options.memory_of, options.lengths[0])
        return 0
    print(f"torch {torch.__version__}, one thread, {NEW_TOKENS} new tokens; ratios to plain generation, 95 % interval")
    return max(one_length(length, options.pairs, options.eager_pairs) for length in options.lengths)


def one_length(length: int, pairs: int, eager_pairs: int) -> int:
    """Measure and print one prompt length; 1 if a bound is missed for sure."""
    print(f"\nprompt of {length} tokens", flush=True)
    speed = measure_generation(length, pairs, eager_pairs)
    recorder = measure_recorder(length)
    memory = {way: measure_memory(way, length) for way in WAYS}
    extra = memory["capture"] - memory["plain"]
    print(f"  CPU time, capture / plain              {speed['capture']}  ({pairs} pairs, at most {MOST_CAPTURE})")
    print(f"  CPU time, output_attentions / plain    {speed['eager']}  ({eager_pairs} pairs)")
    print(f"  CPU time of a step, recorder on / off  {recorder}  ({recorder.pairs} pairs, at most {MOST_RECORDER})")
    print("  peak memory above the model, MiB       " + ", ".join(f"{way} {memory[way]:.0f}" for way in WAYS))
    print(f"  extra of capture over plain, MiB       {extra:.0f}  (at most {MOST_MEMORY_MIB})", flush=True)
    missed = speed["capture"].low > MOST_CAPTURE or recorder.low > MOST_RECORDER or extra > MOST_MEMORY_MIB
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
