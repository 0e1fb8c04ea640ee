"""Descriptions of a run, in words and numbers."""

from collections.abc import Mapping
from types import MappingProxyType

from analysis.quality.measures import MEASURES
from analysis.runs.create import about_unknown_methods
from analysis.runs.job import State
from analysis.runs.library import Listed
from analysis.runs.manifest import Answerer, Manifest, Request, StoredLayers
from pages.ui.shared.errors import message_text
from rauq.labels import about_weights, lines, running, size
from rauq.methods.table import METHODS

WRONG: tuple[State, ...] = ("interrupted", "failed")
_LAYERS: Mapping[StoredLayers, str] = MappingProxyType({"middle": "the middle layers", "all": "all layers"})


def facts(run: Listed) -> str:
    """Return a run's model, data set and size on disk, on one line."""
    if run.manifest is None:
        return size(run.num_bytes)
    request = run.manifest.request
    return f"model {running(request.model)}, data {running(request.data)}, {size(run.num_bytes)}"


def what_is_wrong(run: Listed) -> str:
    """Return why a run cannot be read or why its job ended early; empty if neither."""
    if run.status is None:
        return message_text(run.fault)
    return message_text(run.status.message) if run.status.state in WRONG else ""


def asked(manifest: Manifest) -> str:
    """Return what the run computes, with which model, and what it stores, a line each."""
    request = manifest.request
    begun = running(manifest.created[:16].replace("T", " "))
    said = [
        f"{request.count:,} examples of {running(request.data)}, created on {begun} UTC",
        f"Quality: {_quality(manifest)}",
        f"At most {request.max_new_tokens} new tokens, batches of {request.batch_size}",
        *_methods(request),
        *([f"Methods added later: {_names(manifest.added_methods)}"] if manifest.added_methods else []),
        *([f"Revision requested: {running(request.revision)}"] if request.revision else []),
        f"Stored per token: {_stored(request)}",
        _answerer(manifest.answerer) if manifest.answerer else "Its model has not been loaded yet",
    ]
    return lines("\n".join(said))


def _stored(request: Request) -> str:
    """Return what the run stores of each token, and of its extras."""
    extras = f", and the extras {', '.join(map(running, request.keep))}" if request.keep else ""
    return f"the attention of {_LAYERS[request.stored_layers]}, {request.offsets} keys back{extras}"


def _quality(manifest: Manifest) -> str:
    """Return the measure of quality, and why it was chosen if the data set says so."""
    measure = manifest.request.quality
    name = MEASURES[measure].name if measure in MEASURES else running(measure)
    return f"{name}. {running(manifest.quality_reason)}" if manifest.quality_reason else name


def _names(methods: tuple[str, ...]) -> str:
    return ", ".join(METHODS[method].name if method in METHODS else running(method) for method in methods)


def _methods(request: Request) -> list[str]:
    """Return the methods and what they use besides the model."""
    names = _names(request.known_methods)
    judges = [running(name) for name in (request.nli, request.similarity, request.tagger, request.idf) if name]
    sampled = any("samples" in METHODS[method].needs for method in request.known_methods)
    with_samples = f", {request.samples} samples, seed {request.seed}" if sampled else ""
    return [
        *([f"Methods: {names}{with_samples}"] if names else []),
        *filter(None, [about_unknown_methods(request)]),
        *([f"Judges: {', '.join(judges)}"] if judges else []),
    ]


def _answerer(answerer: Answerer) -> str:
    heads = f"{answerer.num_layers} layers of {answerer.num_heads} heads"
    facts = f"{running(answerer.name)}: {answerer.kind}, {answerer.dtype}, {heads}, revision {answerer.revision[:12]}"
    weights = about_weights(answerer.quantisation, answerer.dtype)
    return f"{facts}. {weights}" if weights else facts
