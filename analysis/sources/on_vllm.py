"""Answer the shards of a run by a vLLM server with the plugin rauq-vllm; this process asks, scores, judges and writes.

A batch is asked at once. The numbers of an answer then depend in their last bits on which others the server computes at
the same time: with a batch of one, and no other clients, a resumed run has the bytes of one that was never stopped. A
server does not say what its weights are: that a run is resumed with the same rests on the model's name.
"""

from collections.abc import Generator
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING

from analysis.runs.answering import Evaluation
from analysis.runs.manifest import Request, Started
from analysis.runs.work import Made, Ready, Source, Undone, answered_by, answerer_of, other_judges, quality_judge
from rauq.errors import EngineStopped, InvalidInput, RunError
from rauq.labels import VLLM
from rauq.scoring.settings import Settings, window
from rauq.trace.trace import NUM_BANDS

if TYPE_CHECKING:
    from rauq.model.served import ServedModel

_PACKAGES = ("numpy",)  # the server computes with others, of which it names vLLM


def vllm_source(address: str) -> Source:
    """Where the shards of a run are answered: by the vLLM server at this address."""
    return partial(_answered, address)


def check_served(lm: "ServedModel", request: Request) -> None:
    """See that a server returns the attention that a run keeps.

    Raises:
        InvalidInput: of other layers, or of fewer keys back.
    """
    every = range(lm.num_layers)
    layers = window(Settings(layers=request.stored_layers), captured=every, num_layers=lm.num_layers)
    offsets = max(request.offsets, NUM_BANDS)
    if set(layers) <= set(lm.layers) and offsets <= lm.offsets:
        return
    wanted = "all" if request.stored_layers == "all" else "middle"
    there, needed = ", ".join(map(str, lm.layers)), f'{{"layers": "{wanted}", "offsets": {offsets}}}'
    message = (
        f"The server returns the attention of layers {there}, {lm.offsets} keys back, and this run needs more. Start "
        f'it with "kv_connector_extra_config": {needed}.'
    )
    raise InvalidInput(message)


def _answered(address: str, undone: Undone) -> Generator[Made | None, None, None]:
    """See `Source`.

    Raises:
        RunError: the server ended, or cannot be reached; or the run is not for a server.
        InvalidInput: the server returns too little.
    """
    from rauq.model.served import served_model

    request = undone.manifest.request
    if request.engine != VLLM:
        message = (
            "This run was not prepared for a vLLM server. Resume it without --endpoint, or score into a new folder."
        )
        raise RunError(message)
    judge = quality_judge(request, undone.own)
    try:
        lm = served_model(address, name=request.model, kind=request.kind)
        check_served(lm, request)
        evaluation = Evaluation(lm=lm, request=request, judges=other_judges(request), own=undone.own)
        loaded = Ready(manifest=undone.manifest, evaluation=evaluation, judge=judge, started=_started(lm))
        yield from answered_by(loaded, undone)
    except EngineStopped as error:
        message = f"{str(error).rstrip('.')}. Everything saved is intact: resume the run."
        raise RunError(message) from error


def _started(lm: "ServedModel") -> Started:
    """The model as a manifest has it; on what machine its server computes is not known."""
    packages = tuple((name, version(name)) for name in _PACKAGES)
    return Started(answerer=answerer_of(lm, engine=lm.engine), packages=packages, machine=None)
