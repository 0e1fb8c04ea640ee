"""What is said of a run, in words and numbers."""

from collections.abc import Mapping
from types import MappingProxyType

from analysis.quality.measures import MEASURES
from analysis.runs.create import about_unknown_methods
from analysis.runs.job import WORKING, State, Status
from analysis.runs.library import Listed
from analysis.runs.manifest import Answerer, Manifest, Request, StoredLayers
from rauq.labels import about_weights, lines, running, size
from rauq.methods.table import METHODS

WRONG: tuple[State, ...] = ("interrupted", "failed")
_MINUTE, _HOUR = 60, 3600
_LAYERS: Mapping[StoredLayers, str] = MappingProxyType({"middle": "the middle layers", "all": "all layers"})


def facts(run: Listed) -> str:
    """The model, the data set and the room that a run takes, on one line."""
    if run.manifest is None:
        return size(run.num_bytes)
    request = run.manifest.request
    return f"model {running(request.model)}, data {running(request.data)}, {size(run.num_bytes)}"


def what_is_wrong(run: Listed) -> str:
    """Why a run cannot be read, or why its job ended early; empty where neither is so."""
    if run.status is None:
        return lines(run.fault)
    return lines(run.status.message) if run.status.state in WRONG else ""


def counted(status: Status) -> str:
    """How many answers there are, and how many examples failed."""
    answers = status.done - status.failed
    whole = status.done == status.total
    of_all = "" if whole else f" of {status.total:,}"
    failed = f", {status.failed:,} failed" if status.failed else ""
    return f"{answers:,}{of_all} answer{'' if (answers if whole else status.total) == 1 else 's'}{failed}"


def progress_in_words(status: Status) -> str:
    """How far a run is, how fast it goes, and how long it still takes."""
    parts = [counted(status)]
    if status.state in WORKING and (speed := status.tokens_per_second) is not None:
        parts.append(f"{speed:,.0f} tokens/s")
    if (left := status.seconds_left) is not None:
        parts.append(f"about {duration(left)} left")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """A time as one says it: 40 s, 12 min, 3 h 20 min."""
    if round(seconds) < _MINUTE:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / _MINUTE), _HOUR // _MINUTE)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def asked(manifest: Manifest) -> str:
    """What was asked of which model, and what is kept, a line each."""
    request = manifest.request
    begun = running(manifest.created[:16].replace("T", " "))
    said = [
        f"{request.count:,} examples of {running(request.data)}, asked on {begun} UTC",
        f"Quality: {_quality(manifest)}",
        f"At most {request.max_new_tokens} new tokens, batches of {request.batch_size}",
        *_methods(request),
        *([f"Revision asked for: {running(request.revision)}"] if request.revision else []),
        f"Kept token by token: the attention of {_LAYERS[request.stored_layers]}",
        _answerer(manifest.answerer) if manifest.answerer else "Its model was never loaded yet",
    ]
    return lines("\n".join(said))


def _quality(manifest: Manifest) -> str:
    """The measure, and why it was chosen where the data set says so."""
    measure = manifest.request.quality
    name = MEASURES[measure].name if measure in MEASURES else running(measure)
    return f"{name}. {running(manifest.quality_reason)}" if manifest.quality_reason else name


def _methods(request: Request) -> list[str]:
    """Which methods, and what they were given besides the model."""
    names = ", ".join(METHODS[method].name for method in request.known_methods)
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
