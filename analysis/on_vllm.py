"""Answer the shards of a run by a vLLM server with the plugin rauq-vllm; this process asks, scores, judges and writes.

A batch is asked at once. The numbers of an answer then depend in their last bits on which others the server computes at
the same time: with a batch of one, and no other clients, a resumed run has the bytes of one that was never stopped.
"""

from collections.abc import Generator
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING

from analysis.runs.answering import Evaluation
from analysis.runs.manifest import Answerer, Started
from analysis.runs.work import Made, Ready, Source, Undone, answered_by, other_judges, quality_judge
from rauq.errors import EngineStopped, RunError

if TYPE_CHECKING:
    from rauq.model.served import ServedModel

_PACKAGES = ("numpy",)  # the server computes with others, of which it names vLLM


def vllm_source(address: str) -> Source:
    """Where the shards of a run are answered: by the vLLM server at this address."""
    return partial(_answered, address)


def _answered(address: str, undone: Undone) -> Generator[Made | None, None, None]:
    """See `Source`.

    Raises:
        RunError: the server ended, or cannot be reached.
    """
    from rauq.model.served import served_model

    request = undone.manifest.request
    judge = quality_judge(request, undone.own)
    try:
        lm = served_model(address, name=request.model, kind=request.kind)
        evaluation = Evaluation(lm=lm, request=request, judges=other_judges(request), own=undone.own)
        loaded = Ready(manifest=undone.manifest, evaluation=evaluation, judge=judge, started=_started(lm))
        yield from answered_by(loaded, undone)
    except EngineStopped as error:
        message = f"{error} Everything saved is intact: resume the run."
        raise RunError(message) from error


def _started(lm: "ServedModel") -> Started:
    """The model as a manifest has it; on what machine its server computes is not known."""
    answerer = Answerer(
        name=lm.name,
        revision=lm.revision,
        kind=lm.kind,
        dtype=lm.dtype,
        quantisation=lm.quantisation,
        engine=lm.engine,
        layers=lm.layers,
        num_layers=lm.num_layers,
        num_heads=lm.num_heads,
        vocab_size=lm.vocab_size,
    )
    return Started(answerer=answerer, packages=tuple((name, version(name)) for name in _PACKAGES), machine=None)
