"""A run whose answers are made up, written and read as a real one is."""

from dataclasses import replace

import numpy as np

from analysis.datasets.example import Example
from analysis.runs.files.examples import write_examples
from analysis.runs.files.shards import write_shard
from analysis.runs.files.tables import Answered, Failed
from analysis.runs.manifest import Answerer, Manifest, Request, read_manifest, write_manifest
from analysis.runs.opened import open_run
from analysis.runs.own import OwnMethod
from rauq.methods.method import Uncertainty
from tests.answers import VOCAB_SIZE, random_trace

LAYERS, HEADS = 6, 4


def made_run(
    folder,
    *,
    quality,
    lengths=None,
    groups=("one", "two"),
    text="a",
    name="made",
    failures=1,
    facts=True,
    references=(),
    question="What is {}?",
    shard_size=None,
    unclear=(),
):
    """A run with an answer for each of `quality` (A,), of `lengths` (A,) tokens, and `failures` examples more.

    With `facts`, the last token of each answer carries the fact. A {} in `question` is the number of the example. All
    are in one shard, or in shards of `shard_size`. The answers to the examples `unclear` have no quality, since a
    rule did not decide.
    """
    folder.mkdir()
    quality = list(quality)
    lengths = [3 + number % 5 for number in range(len(quality))] if lengths is None else lengths
    count = len(quality) + failures
    examples = tuple(
        Example(
            id=f"id {number}",
            prompt=f"{text}?",
            question=question.format(number),
            group=groups[number % len(groups)],
            references=references,
        )
        for number in range(count)
    )
    outcomes = [
        _answered(number, length, np.nan if number in unclear else value, text, facts=facts)
        for number, (length, value) in enumerate(zip(lengths, quality, strict=True))
    ]
    for number in unclear:
        outcomes[number] = replace(outcomes[number], quality_reason=f"unclear: it also names {text!r}", unclear=True)
    outcomes += [Failed(number=number, error="out of memory") for number in range(len(quality), count)]
    request = Request(
        model="made-up", data=text, data_sha256="0", count=count, quality="given", shard_size=shard_size or count
    )
    answerer = Answerer(
        name=text,
        revision="0",
        kind="base",
        dtype="float32",
        layers=tuple(range(LAYERS)),
        num_layers=LAYERS,
        num_heads=HEADS,
        vocab_size=VOCAB_SIZE,
    )
    write_examples(folder, examples)
    manifest = Manifest(name=name, created="2030-01-01", request=request, answerer=answerer)
    write_manifest(folder, manifest)
    for shard in range(manifest.num_shards):
        numbers = manifest.numbers(shard)
        write_shard(folder, shard, outcomes[numbers.start : numbers.stop], stored=(2, 3, 4))
    return open_run(folder)


def _answered(number, length, quality, text, *, facts):
    trace = random_trace(length, seed=number, num_layers=LAYERS, num_heads=HEADS, answer_tokens=(text,) * length)
    fact = (np.arange(length) == length - 1) & facts
    scores = np.random.default_rng(number).uniform(0, 2, 4) - (0 if np.isnan(quality) else quality)
    reason = "no reference" if np.isnan(quality) else ""
    return Answered(
        number=number,
        trace=trace,
        fact=fact,
        quality=quality,
        quality_reason=reason,
        uncertainties=tuple(map(Uncertainty, scores)),
    )


def rename_methods(folder, **names):
    """Let a run have been asked for methods by other ids, such as those of another version; the run, opened."""
    manifest = read_manifest(folder)
    methods = tuple(names.get(method, method) for method in manifest.request.methods)
    write_manifest(folder, replace(manifest, request=replace(manifest.request, methods=methods)))
    return open_run(folder)


def with_own_method(folder, method, **note):
    """Let the values of a method be those of one of the user's own; the run, opened."""
    own = OwnMethod(source="own", cost="not stated", **note)
    rename_methods(folder, **{method: own.id})
    manifest = read_manifest(folder)
    write_manifest(folder, replace(manifest, request=replace(manifest.request, own_methods=(own,))))
    return open_run(folder)
