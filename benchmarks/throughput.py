"""How fast answers are scored into a run: in batches and one by one, beside plain batched generation.

Scored: generated with capture and the last row, judged, scored and saved, as `python -m analysis score` does it.
Plain: `transformers` alone, in the same batches, with as many steps. CPU times of one thread, the ways in turn. Fails
where a bound is missed for sure:

- on the embedded model: batches of 8 at least 2 times as fast as one by one, and at least 0.8 of plain generation;
- on a random model of Llama's shape (`benchmarks.capture`): at least 0.95 of plain generation.

    python -m benchmarks.throughput [--pairs 15] [--record]
"""

import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, cast

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from transformers import logging as transformers_logging

import rauq
from analysis.datasets.example import DataSet, Example
from analysis.datasets.names import embedded_set
from analysis.evidence.record import Record
from analysis.quality.measures import load_judge
from analysis.runs.create import request_for
from analysis.runs.manifest import Request
from analysis.runs.shard import Answered, write_shard
from analysis.runs.work import Evaluation, answer_shard, batches_of
from benchmarks.capture import build, prompt_of
from benchmarks.paired import Ratio, cpu_seconds, ratio
from benchmarks.recording import at_least, finish, interval, measured, parser, tell
from rauq import Judges, LanguageModel
from rauq.model.loading import wrap

SHARD = 32
NEW_TOKENS, PROMPT_TOKENS = 64, 256
LEAST_TIMES, LEAST_ON_ATLAS, LEAST_ON_SHAPE = 2, 0.8, 0.95


def random_model() -> LanguageModel:
    """The benchmark shape, with a tokenizer that splits text at spaces."""
    words = Tokenizer(models.WordLevel({f"w{token}": token for token in range(32_000)}, "w0"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return wrap(build(), PreTrainedTokenizerFast(tokenizer_object=words), name="random-llama")


def random_set() -> DataSet:
    """A batch of random prompts, whose answers are as long as they may be."""
    prompts = [
        " ".join(f"w{token}" for token in prompt_of(PROMPT_TOKENS + place)[:PROMPT_TOKENS]) for place in range(8)
    ]
    examples = tuple(Example(id=str(place), prompt=prompt) for place, prompt in enumerate(prompts))
    return DataSet(name="random", examples=examples, max_new_tokens=NEW_TOKENS, stop=())


def scored(lm: LanguageModel, examples: Sequence[Example], request: Request, folder: Path) -> list[Answered]:
    """Answer, judge, score and save a shard."""
    outcomes = answer_shard(
        Evaluation(lm=lm, request=request, judges=Judges()),
        range(len(examples)),
        examples,
        judge=load_judge(request.quality),
        cancel=Event(),
        on_done=lambda _examples, _tokens: None,
    )
    rows = outcomes.rows if outcomes else ()
    write_shard(folder, 0, rows, stored=lm.layers)
    return [row for row in rows if isinstance(row, Answered)]


def plain(lm: LanguageModel, examples: Sequence[Example], lengths: Sequence[int], size: int) -> None:
    """Answer the same batches with `transformers` alone; each goes on as long as its longest answer."""
    for places in batches_of(examples, size):
        prompts = [list(lm.encode(examples[place].prompt).ids) for place in places]
        longest = max(map(len, prompts))
        ids = torch.tensor([[0] * (longest - len(prompt)) + prompt for prompt in prompts])
        mask = torch.tensor([[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts])
        steps = max(lengths[place] for place in places)
        cast("Any", lm.model).generate(
            ids, attention_mask=mask, max_new_tokens=steps, min_new_tokens=steps, do_sample=False, pad_token_id=0
        )


def beside(lm: LanguageModel, shards: Sequence[Sequence[Example]], request: Request) -> tuple[Ratio, Ratio]:
    """Speed beside plain generation, which is told how long answers get; in every third turn also beside one by one."""
    ours, theirs, single, both = [], [], [], []
    one_by_one = replace(request, batch_size=1)
    with tempfile.TemporaryDirectory() as folder:
        for turn, examples in enumerate(shards):
            if not turn or examples is not shards[turn - 1]:
                answered = scored(lm, examples, request, Path(folder))
                lengths = [len(outcome.trace.answer_ids) for outcome in answered]
            run = partial(scored, lm, examples, request, Path(folder))
            base = partial(plain, lm, examples, lengths, request.batch_size)
            first, second = (run, base) if turn % 2 else (base, run)
            times = cpu_seconds(first), cpu_seconds(second)
            ours.append(times[0] if turn % 2 else times[1])
            theirs.append(times[1] if turn % 2 else times[0])
            if turn % 3 == 0:
                single.append(cpu_seconds(partial(scored, lm, examples, one_by_one, Path(folder))))
                both.append(ours[-1])
    return ratio(theirs, ours), ratio(single, both)


def on_atlas(pairs: int) -> tuple[Ratio, Ratio]:
    """The embedded model on its own evaluation set."""
    examples = embedded_set("atlas", limit=SHARD * pairs).examples
    data = DataSet(name="atlas", examples=examples, quality="exact_truth", max_new_tokens=64)
    shards = [examples[turn::pairs] for turn in range(pairs)]  # every family in each
    return beside(rauq.load_model("atlas"), shards, request_for(data, model="atlas"))


def on_shape(pairs: int) -> tuple[Ratio, Ratio]:
    """The benchmark shape on random prompts."""
    data = random_set()
    return beside(random_model(), [data.examples] * pairs, request_for(data, model="random"))


def table(atlas: tuple[Ratio, Ratio], shape: tuple[Ratio, Ratio]) -> Record:
    """The record of what was measured."""
    found = (
        ("embedded model", "plain generation", atlas[0]),
        ("embedded model", "one by one", atlas[1]),
        ("benchmark shape", "plain generation", shape[0]),
        ("benchmark shape", "one by one", shape[1]),
    )
    return measured(
        "throughput",
        title="Answers scored into a run, beside plain generation",
        about="How fast answers are generated in batches of 8 with their attention, judged, scored and saved: beside "
        "transformers alone in the same batches with as many steps, and beside the same one by one.",
        command="python -m benchmarks.throughput --record",
        columns=("model", "beside", "speed in batches, times", "low", "high", "pairs"),
        rows=[(model, other, *interval(speed), speed.pairs) for model, other, speed in found],
        bounds=(
            at_least("embedded model, beside plain generation", atlas[0], LEAST_ON_ATLAS),
            at_least("embedded model, beside one by one", atlas[1], LEAST_TIMES),
            at_least("benchmark shape, beside plain generation", shape[0], LEAST_ON_SHAPE),
        ),
        notes=(f"CPU times of one thread. Benchmark shape: {PROMPT_TOKENS} prompt tokens, {NEW_TOKENS} new ones.",),
        finding=f"Scoring into a run reaches {shape[0].median:.2f} of the speed of plain generation on the benchmark "
        f"shape, and {atlas[0].median:.2f} on the embedded model.",
    )


def main() -> int:
    """Measure, and return 1 if a bound is missed for sure."""
    options = parser(__doc__)
    options.add_argument("--pairs", type=int, default=15)
    given = options.parse_args()
    torch.set_num_threads(1)
    transformers_logging.set_verbosity_error()
    tell("embedded model")
    atlas = on_atlas(given.pairs)
    tell("benchmark shape")
    return finish(table(atlas, on_shape(given.pairs)), keep=given.record)


if __name__ == "__main__":
    sys.exit(main())
