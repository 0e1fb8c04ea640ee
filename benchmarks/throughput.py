"""How fast answers are scored into a run: in batches and one by one, relative to plain batched generation.

Scored: generated with capture and the last row, judged, scored and saved, as `python -m analysis score` does it.
Plain: `transformers` alone, in the same batches, with as many steps. CPU times, in turn. Bounds:

- on the embedded model: batches of 8 at least 2 times as fast as one by one, and at least 0.8 of plain generation;
- on the random model: at least 0.95 of plain generation.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, cast

import torch

import rauq
from analysis.datasets.example import DataSet, Example
from analysis.datasets.names import embedded_set
from analysis.evidence.record import Record
from analysis.quality.measures import load_judge
from analysis.runs.answering import Evaluation, answer_shard, batches_of
from analysis.runs.create import request_for
from analysis.runs.files.shards import write_shard
from analysis.runs.files.tables import Answered
from analysis.runs.manifest import Request
from benchmarks.support.paired import Ratio, cpu_seconds, one_turn, ratio
from benchmarks.support.random_model import NEW_TOKENS, build, prompt_of, text_of, wrapped
from benchmarks.support.recording import at_least, interval, measured, tell
from rauq import Judges, LanguageModel

PAIRS, SHARD, PROMPT_TOKENS = 15, 32, 256
LEAST_TIMES, LEAST_ON_ATLAS, LEAST_ON_SHAPE = 2, 0.8, 0.95


def measure() -> Record:
    """The embedded model, then the random one."""
    tell("embedded model")
    atlas = _on_atlas()
    tell("benchmark shape")
    return _record(atlas, _on_shape())


def _on_atlas() -> tuple[Ratio, Ratio]:
    """The embedded model on its own evaluation set."""
    examples = embedded_set("atlas", limit=SHARD * PAIRS).examples
    data = DataSet(name="atlas", examples=examples, quality="exact_truth", max_new_tokens=64)
    shards = [examples[turn::PAIRS] for turn in range(PAIRS)]  # every family in each
    return _speeds(rauq.load_model("atlas"), shards, request_for(data, model="atlas"))


def _on_shape() -> tuple[Ratio, Ratio]:
    """The random model on a batch of random prompts, whose answers are as long as they may be."""
    examples = tuple(
        Example(id=str(place), prompt=text_of(prompt_of(PROMPT_TOKENS + place)[:PROMPT_TOKENS])) for place in range(8)
    )
    data = DataSet(name="random", examples=examples, max_new_tokens=NEW_TOKENS, stop=())
    return _speeds(wrapped(build()), [examples] * PAIRS, request_for(data, model="random"))


def _speeds(lm: LanguageModel, shards: Sequence[Sequence[Example]], request: Request) -> tuple[Ratio, Ratio]:
    """Speed relative to plain generation, which is told how long answers get; every third turn also to one by one."""
    pairs, single = [], []
    with tempfile.TemporaryDirectory() as name:
        score = partial(_scored, lm, folder=Path(name))
        for turn, examples in enumerate(shards):
            if not turn or examples is not shards[turn - 1]:
                lengths = [len(outcome.trace.answer_ids) for outcome in score(examples, request)]
            ours = partial(score, examples, request)
            plain = partial(_plain, lm, examples, lengths, request.batch_size)
            pairs.append([each.cpu for each in one_turn(turn, plain, ours)])
            if turn % 3 == 0:
                alone = cpu_seconds(partial(score, examples, replace(request, batch_size=1)))
                single.append((alone, pairs[-1][1]))
    return ratio(*zip(*pairs, strict=True)), ratio(*zip(*single, strict=True))


def _scored(lm: LanguageModel, examples: Sequence[Example], request: Request, *, folder: Path) -> list[Answered]:
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


def _plain(lm: LanguageModel, examples: Sequence[Example], lengths: Sequence[int], size: int) -> None:
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


def _record(atlas: tuple[Ratio, Ratio], shape: tuple[Ratio, Ratio]) -> Record:
    found = (
        ("embedded model", "plain generation", atlas[0]),
        ("embedded model", "one by one", atlas[1]),
        ("benchmark shape", "plain generation", shape[0]),
        ("benchmark shape", "one by one", shape[1]),
    )
    return measured(
        "throughput",
        title="Speed of scoring a run, relative to plain generation",
        about="How fast answers are generated in batches of 8 with their attention, judged, scored and saved: beside "
        "transformers alone in the same batches with as many steps, and beside the same one by one.",
        columns=("model", "beside", "speed in batches, times", "low", "high", "pairs"),
        rows=[(model, other, *interval(speed), speed.pairs) for model, other, speed in found],
        bounds=(
            at_least("embedded model, relative to plain generation", atlas[0], LEAST_ON_ATLAS),
            at_least("embedded model, relative to one by one", atlas[1], LEAST_TIMES),
            at_least("benchmark shape, relative to plain generation", shape[0], LEAST_ON_SHAPE),
        ),
        notes=(f"CPU times of one thread. Benchmark shape: {PROMPT_TOKENS} prompt tokens, {NEW_TOKENS} new ones.",),
        finding=f"Scoring a run reaches {shape[0].median:.2f} of the speed of plain generation on the benchmark "
        f"shape, and {atlas[0].median:.2f} on the embedded model.",
    )
