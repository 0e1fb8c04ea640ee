"""Runs of a collection whose numbers are made up: in memory, or on disk as a real run is."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from analysis.collections.collection import Cell
from analysis.quality.judgement import Thresholds
from analysis.runs.manifest import Answerer, read_manifest, write_manifest
from rauq.checkpoints.kinds import PRESETS
from tests.analysis.report.made_run import made_run

METHODS = ("rauq", "msp", "perplexity", "semantic_entropy")
PAPERS = (
    *("TruthfulQA", "SciQ", "MMLU", "TriviaQA", "CoQA", "MedQUAD", "GSM8k", "CNN/DailyMail", "SamSum", "XSum"),
    *("WMT14 Fr-En", "WMT19 De-En"),
)


def answerer(name="org/model", *, kind="base", revision="0"):
    return Answerer(
        name=name,
        revision=revision,
        kind=kind,
        dtype="float32",
        layers=(0, 1, 2),
        num_layers=3,
        num_heads=2,
        vocab_size=100,
    )


def make_cell(model="model", data="SciQ", *, kind="base", size=40, seed=0, methods=METHODS, **changes):
    """A run of `size` answers whose quality and uncertainties are drawn at random, the former of several values."""
    rng = np.random.default_rng([seed, len(data), len(model), sum(map(ord, data + model))])
    quality = rng.choice([0.0, 0.25, 0.5, 0.75, 1.0], size)
    fields = {
        "folder": Path(f"{model}-{data}"),
        "run": f"{model}-{data}",
        "model": model,
        "answerer": answerer(f"org/{model}", kind=kind),
        "data": data,
        "measure": "Accuracy",
        "thresholds": Thresholds(),
        "quality": quality,
        "clusters": np.arange(len(changes.get("quality", quality))),
        "uncertainties": {method: rng.normal(size=size) - place * quality for place, method in enumerate(methods)},
        "asked": size,
        "failed": 0,
        "corrected": 0,
        "data_sha256": data,
    }
    return Cell(**(fields | changes))


def papers_cells():
    """Nine models on twelve data sets; the small ones without three of them, as in the paper's Table 15."""
    left_out = {"MMLU", "GSM8k", "MedQUAD"}
    return [
        make_cell(one.name, data, answerer=answerer(one.hub_id, kind=one.kind))
        for one in PRESETS
        for data in PAPERS
        if not (one.parameters < 2e9 and data in left_out)
    ]


def make_run(root, model, data, *, name="", quality=(1.0, 0.0, 1.0, 0.5, 0.0) * 6, kind="base", **changes):
    """A run on disk of this model on this data set; the folder."""
    folder = root / (name or f"{model}-{data}".replace("/", "-").replace(" ", "-"))
    made_run(folder, quality=quality, name=folder.name, **changes)
    found = read_manifest(folder)
    write_manifest(
        folder,
        replace(
            found,
            request=replace(found.request, data=data),
            answerer=replace(found.answerer, name=model, kind=kind),
        ),
    )
    return folder
