"""A run in which every text is hostile, as an untrusted archive, model or data set could contain it."""

import json
import math
from dataclasses import replace

import numpy as np

from analysis.datasets.example import Example
from analysis.runs.files.examples import write_examples
from analysis.runs.files.shards import write_shard
from analysis.runs.files.tables import Answered, Failed
from analysis.runs.job import LOG, Status, write_status
from analysis.runs.manifest import MANIFEST, Answerer, Manifest, Request, write_manifest
from rauq.methods.method import Uncertainty
from rauq.trace.trace import Alternative
from tests.analysis.report.made_run import HEADS, LAYERS, made_run
from tests.answers import VOCAB_SIZE, random_trace
from tests.hostile import ATTACK

UNDEFINED = 30  # the number of the answer whose quality and score are undefined
_COUNT, _TOKENS = UNDEFINED + 2, 3


def hostile_run(folder):
    """Two groups of answers, an answer with undefined quality and score, a failed example, and a failed job."""
    folder.mkdir(parents=True)
    answerer = Answerer(
        name=ATTACK,
        revision=ATTACK,
        kind="base",
        dtype=ATTACK,
        layers=tuple(range(LAYERS)),
        num_layers=LAYERS,
        num_heads=HEADS,
        vocab_size=VOCAB_SIZE,
    )
    asked = {"quality": "given", "weights": ATTACK, "nli": ATTACK, "shard_size": _COUNT}
    request = Request(model=ATTACK, data=ATTACK, data_sha256="0", count=_COUNT, **asked)
    write_examples(folder, tuple(map(_example, range(_COUNT))))
    write_manifest(folder, Manifest(name=ATTACK, created=ATTACK, request=request, answerer=answerer))
    outcomes = [*map(_answered, range(_COUNT - 1)), Failed(number=_COUNT - 1, error=ATTACK)]
    write_shard(folder, 0, outcomes, stored=(2, 3, 4))
    write_status(folder, Status(state="failed", total=_COUNT, saved=_COUNT, failed=1, message=ATTACK))
    (folder / LOG).write_text(ATTACK)
    return folder


def broken_run(folder):
    """A run with an invalid manifest; the error quotes a hostile text."""
    made_run(folder, quality=[1.0, 0.0])
    found = json.loads((folder / MANIFEST).read_text())
    found["request"]["methods"] = [ATTACK]
    (folder / MANIFEST).write_text(json.dumps(found))
    return folder


def _example(number):
    texts = dict.fromkeys(("prompt", "source", "question", "stratum", "error_label"), ATTACK)
    group = ATTACK if number % 2 else f"{ATTACK} 2"
    return Example(id=f"{ATTACK} {number}", group=group, references=(ATTACK,), facts=(ATTACK,), **texts)


def _answered(number):
    undefined = number == UNDEFINED
    texts = {
        "pieces": (ATTACK.encode(),) * _TOKENS,
        "answer_tokens": (ATTACK,) * _TOKENS,
        "alternatives": ((Alternative(0, ATTACK, -1.0),),) * _TOKENS,
    }
    trace = replace(random_trace(_TOKENS, seed=number, num_layers=LAYERS, num_heads=HEADS), **texts)
    scores = np.random.default_rng(number).uniform(0, 2, 4)
    first = Uncertainty(math.nan, ATTACK) if undefined else Uncertainty(scores[0])
    return Answered(
        number=number,
        trace=trace,
        fact=np.arange(_TOKENS) == _TOKENS - 1,
        quality=math.nan if undefined else float(number % 3 > 0),
        quality_reason=ATTACK if undefined else "",
        uncertainties=(first, *map(Uncertainty, scores[1:])),
    )
