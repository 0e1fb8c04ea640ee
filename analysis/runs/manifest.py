"""What a run is: which examples are put to which model, and how, and by which names its files are known.

The manifest is written before the first answer.
"""

import hashlib
import json
import os
import re
import reprlib
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from analysis.runs.own import DetectorFile, MethodId, OwnId, OwnMethod, OwnQuality, row_of
from analysis.typed_json import parsed
from rauq.errors import InvalidInput, ModelNotFound, RunError
from rauq.labels import EngineName
from rauq.layout import ANALYSIS_COMMAND
from rauq.trace.file import MOST_ANSWER_TOKENS, MOST_BANDS, MOST_EXTRAS, MOST_HEADS, MOST_LAYERS, MOST_VOCABULARY
from rauq.trace.trace import Kind

SCHEMA = 2
MOST_EXAMPLES = 10_000_000
MOST_IN_A_BATCH = 1024
MOST_SAMPLES = 100
MOST_THREADS = 1024
LONGEST_REASON = 1_000  # characters
FEWEST_OFFSETS = 2  # one for each alignment of RAUQ
MANIFEST = "manifest.json"
LARGEST_MANIFEST = 256 * 2**10  # bytes: a real one has about 3,000
StoredLayers = Literal["middle", "all"]

_Extra = MethodId
_Word = Annotated[str, Field(max_length=200)]
_Examples = Annotated[int, Field(ge=1, le=MOST_EXAMPLES)]


@dataclass(frozen=True, kw_only=True)
class Request:
    """What was asked for. Nothing in it needs the model, and all of it decides what the answers are.

    `model`: atlas, a hub id or a folder. `revision`: its branch, tag or commit on the hub, or a GGUF file's sha256;
    None is main, or the file as it is. `device_map`: auto for a model larger than a device. `engine`: what runs the
    model, vllm for that of a server; None: as `load_model` chooses, which the run then keeps to. `data`: name of the
    data set, `data_sha256` its fingerprint. `quality`: id of the measure, `weights`: the folder of its model, if any.
    `stored_layers`: whose attention is kept token by token. Shards hold `shard_size` examples each, by their number;
    batches do not cross shards. `methods`: ids of `rauq.METHODS`, or of one that another version has; those that
    compare samples are given `samples` of them, drawn by `seed`. `own_methods`: those of them that are the user's own;
    `own_quality`: the user's function of quality, where that is the measure. `detectors`: the files of those that are
    supervised. `offsets`: how many keys back attention is kept token by token; `keep`: extras of a trace
    (`rauq.trace.extras`) that are kept on disk. `nli`, `similarity`, `tagger`, `idf`: the models and the file that
    others ask, by name or path; "" where there is none. `threads`: those that torch computes with, which decide how
    sums round; None: those of the process that starts it.
    """

    model: str
    data: str
    data_sha256: str
    count: _Examples
    quality: str = "none"
    weights: str = ""
    revision: str | None = None
    kind: Kind | None = None
    device: str = "auto"
    device_map: Literal["auto"] | None = None
    dtype: str = "auto"
    engine: EngineName | Literal["vllm"] | None = None
    max_new_tokens: Annotated[int, Field(ge=1, le=MOST_ANSWER_TOKENS)] = 128
    stop: tuple[str, ...] | None = None
    chat: bool | None = None
    batch_size: Annotated[int, Field(ge=1, le=MOST_IN_A_BATCH)] = 8
    shard_size: _Examples = 32
    stored_layers: StoredLayers = "middle"
    methods: Annotated[tuple[MethodId, ...], Field(min_length=1)] = ("rauq", "msp", "perplexity", "mean_token_entropy")
    samples: Annotated[int, Field(ge=1, le=MOST_SAMPLES)] = 5
    seed: int = 0
    nli: str = ""
    similarity: str = ""
    tagger: str = ""
    idf: str = ""
    own_methods: tuple[OwnMethod, ...] = ()
    own_quality: OwnQuality | None = None
    detectors: tuple[DetectorFile, ...] = ()
    offsets: Annotated[int, Field(ge=FEWEST_OFFSETS, le=MOST_BANDS)] = FEWEST_OFFSETS
    keep: Annotated[tuple[_Extra, ...], Field(max_length=MOST_EXTRAS)] = ()
    threads: Annotated[int, Field(ge=1, le=MOST_THREADS)] | None = None

    @property
    def known_methods(self) -> tuple[str, ...]:
        """The methods that this version has, and the user's own."""
        own = {note.id: OwnId(note) for note in self.own_methods}
        ids = (own.get(method, method) for method in self.methods)
        return tuple(method for method in ids if row_of(method) is not None)

    @property
    def unknown_methods(self) -> tuple[str, ...]:
        """The methods that this version does not have: another version named them otherwise, or alone has them."""
        return tuple(method for method in self.methods if method not in self.known_methods)


@dataclass(frozen=True, kw_only=True)
class Answerer:
    """The model that answers, as it was loaded; `layers` are those that have attention, out of `num_layers`.

    `revision`: a commit of the hub, the sha256 of the embedded weights, or "local"; then `weights_sha256` says whose.
    `engine`: what ran it, with its version; "" for transformers, whose version is among the packages.
    """

    name: str
    revision: str
    kind: Kind
    dtype: str
    layers: Annotated[tuple[int, ...], Field(min_length=1)]
    num_layers: Annotated[int, Field(ge=1, le=MOST_LAYERS)]
    num_heads: Annotated[int, Field(ge=1, le=MOST_HEADS)]
    vocab_size: Annotated[int, Field(ge=1, le=MOST_VOCABULARY)]
    weights_sha256: str = ""
    quantisation: str = field(default="", compare=False)  # follows from the revision; older runs have none
    adapter: str = ""
    engine: str = ""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What decides how sums round: where all of it agrees, the same batches give the same bytes.

    `device`: cpu, or the name of the GPU. `threads`: those of torch. `cpu`: the vector instructions that torch uses.
    """

    device: _Word
    dtype: _Word
    torch: _Word
    threads: Annotated[int, Field(ge=1, le=MOST_THREADS)]
    cpu: _Word


@dataclass(frozen=True, kw_only=True)
class Started:
    """A model as it was loaded, the packages that it was loaded with, and the machine that it computes on, if known."""

    answerer: Answerer
    packages: tuple[tuple[str, str], ...]
    machine: Machine | None


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """A run: its request, the model once it was loaded, and the packages that it was loaded with.

    `quality_reason`: why its measure of quality was chosen; "" where the user chose another one. `added_methods`: those
    that were computed later, in files of their own (`analysis.runs.answering`). `machine`: the one that the run was
    started on; older runs have none. `mixed`: whether shards may be of other machines; the table of each such shard
    says of which.
    """

    name: str
    created: str
    request: Request
    answerer: Answerer | None
    packages: tuple[tuple[str, str], ...] = ()
    quality_reason: str = ""
    added_methods: tuple[MethodId, ...] = ()
    added_detectors: tuple[DetectorFile, ...] = ()
    machine: Machine | None = None
    mixed: bool = False

    @property
    def threads(self) -> int | None:
        """The threads that torch has to compute with; None where neither the request nor the start of the run says."""
        return self.request.threads or (self.machine.threads if self.machine else None)

    @property
    def num_shards(self) -> int:
        """How many shards the finished run has."""
        return -(-self.request.count // self.request.shard_size)

    def numbers(self, shard: int) -> range:
        """The examples of a shard."""
        start = shard * self.request.shard_size
        return range(start, min(start + self.request.shard_size, self.request.count))


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest of a run, whole or not at all.

    Raises:
        InvalidInput: a name that is not valid Unicode, which JSON cannot hold.
        RunError: it cannot be written.
    """
    try:
        text = json.dumps({"schema": SCHEMA} | asdict(manifest), indent=1, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        message = f"A name in the run {folder} is not valid Unicode ({error.reason}). Rename its file or folder."
        raise InvalidInput(message) from error
    write_whole(folder / MANIFEST, lambda path: path.write_bytes(text + b"\n"))


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a run.

    Raises:
        RunError: there is none, it is damaged, or it is of another schema.
    """
    try:
        found = json.loads(content_of(folder / MANIFEST, largest=LARGEST_MANIFEST))
        schema = found.pop("schema")
    except FileNotFoundError as error:
        message = f"{folder} is not a run: it has no {MANIFEST}. Give a folder that `{ANALYSIS_COMMAND} score` wrote."
        raise RunError(message) from error
    except (OSError, ValueError, AttributeError, TypeError, KeyError, RecursionError) as error:
        message = f"{folder / MANIFEST} cannot be read ({error}). Restore it from a copy of the run."
        raise RunError(message) from error
    if schema != SCHEMA:
        found_schema = reprlib.repr(schema)
        message = f"{folder} is a run of schema {found_schema}, but this version reads schema {SCHEMA}. Score it again."
        raise RunError(message)
    return _manifest(found, folder)


def with_started(folder: Path, manifest: Manifest, started: Started, *, mixed: bool) -> Manifest:
    """The manifest of a run whose model was loaded: written at the first time, compared at every other.

    `mixed`: whether another machine may continue the run, which the manifest then records.

    Raises:
        RunError: the run was started with another model, with other packages or, unless `mixed`, on another machine, or
            the manifest cannot be written.
    """
    found = replace(manifest, answerer=started.answerer, packages=started.packages)
    if manifest.answerer is None:
        found = replace(found, machine=started.machine)
    elif found != manifest:
        message = (
            f"{folder} was started with {_differences(_loaded(manifest), _loaded(found))}. "
            "Resume it with the same, or score into a new folder."
        )
        raise RunError(message)
    elif manifest.machine is not None and started.machine not in (None, manifest.machine):
        if not mixed:
            differences = _differences(vars(manifest.machine), vars(started.machine))
            message = (
                f"{folder} was started on another machine, with {differences}: "
                "sums round differently here, and near ties may give other tokens. Resume it on a machine like the "
                "first, add --mixed to allow this one, or score into a new folder."
            )
            raise RunError(message)
        found = replace(found, mixed=True)
    if found != manifest:
        write_manifest(folder, found)
    return found


def _loaded(manifest: Manifest) -> dict[str, Any]:
    return {**vars(manifest.answerer), **dict(manifest.packages)}


def _differences(before: dict[str, Any], now: dict[str, Any]) -> str:
    return ", ".join(
        f"{name.replace('_', ' ')} {value}, not {now.get(name)}"
        for name, value in before.items()
        if value != now.get(name)
    )


def content_of(path: Path, *, largest: int) -> bytes:
    """The bytes of a file whose text is parsed as a whole: small texts may make large values.

    Raises:
        ValueError: it has more than `largest` bytes.
        OSError: it cannot be read.
    """
    if path.stat().st_size > largest:
        message = f"it has more than {largest:,} bytes"
        raise ValueError(message)
    return path.read_bytes()


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file, and rename it to `path`: a killed process leaves no half-written file.

    Raises:
        RunError: it cannot be written, for example because the disk is full.
    """
    # Written here, because no pinned package does it.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.tmp")
    try:
        write(temporary)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_files(folder: Path, files: Iterable[tuple[str, bytes]]) -> None:
    """Write files by their names, in this order, each whole or not at all.

    Raises:
        RunError: one cannot be written.
    """
    for name, content in files:
        write_whole(folder / name, partial(_write, content))


def _write(content: bytes, path: Path) -> None:
    path.write_bytes(content)


def cannot_write(path: Path, error: OSError) -> RunError:
    """What to say where a file of a run cannot be written, for example because the disk is full."""
    return RunError(
        f"{path} cannot be written ({error.strerror or error}). Everything saved before is intact: "
        "free disk space or check the permissions of the folder, and resume the run."
    )


def _manifest(found: dict[str, Any], folder: Path) -> Manifest:
    try:
        manifest = parsed(Manifest, json.dumps(found))
        _check(manifest)
    except (ValueError, RecursionError) as error:
        message = f"{folder / MANIFEST} is damaged ({error}). Restore it from a copy of the run."
        raise RunError(message) from error
    return manifest


def _check(manifest: Manifest) -> None:
    """What no single field tells."""
    methods, answerer = (*manifest.request.methods, *manifest.added_methods), manifest.answerer
    if len(set(methods)) < len(methods):
        message = f"methods is {methods}, but each is a column of the answers"
        raise ValueError(message)
    own = [note.id for note in manifest.request.own_methods]
    if len(set(own)) < len(own) or not set(own) <= set(methods):
        message = f"own_methods is {own}, but each must be one of the methods"
        raise ValueError(message)
    detected = [file.method for file in manifest.request.detectors]
    if len(set(detected)) < len(detected) or not set(detected) <= set(methods):
        message = f"detectors are of {detected}, but each must be one of the methods"
        raise ValueError(message)
    if len(set(manifest.request.keep)) < len(manifest.request.keep):
        message = f"keep is {manifest.request.keep}, but each is an array of the answers"
        raise ValueError(message)
    if answerer and list(answerer.layers) != sorted(set(answerer.layers) & set(range(answerer.num_layers))):
        message = f"layers is {answerer.layers}, but must be ascending and of {answerer.num_layers}"
        raise ValueError(message)


TIMINGS = "timings.jsonl"
CORRECTIONS, CORRECTIONS_LOCK = "corrections.json", "corrections.lock"
QUESTIONS_APART = "questions.apart"  # an empty file: near-duplicate questions are treated as different ones
SUPERVISED = "supervised.json"  # how detectors rank its answers: made from the run, and no part of it

INDEX = "index.arrow"  # made from the shards, and no part of the run

_NUMBER = r"(?:\d{5}|[1-9]\d{5,6})"  # of a shard: five digits, and more where it needs more
_OF_A_RUN = re.compile(
    rf"manifest\.json|examples\.parquet|answers-{_NUMBER}\.parquet|(?:traces|extras)-{_NUMBER}\.safetensors"
    r"|corrections\.json|questions\.apart|methods-[a-z][a-z0-9_]{0,63}\.parquet",
    re.ASCII,
)
_JOB_FILES = re.compile(
    r"(?:status|supervised)\.json|timings\.jsonl|index\.arrow|(?:run|corrections)\.lock|log\.txt|stop|report|\..+\.tmp"
)


def is_of_run(name: str) -> bool:
    """Whether a file of this name is a part of what a run is."""
    return _OF_A_RUN.fullmatch(name) is not None


def is_exported(name: str) -> bool:
    """Whether a file of this name is exported with a run: its own files, and the timings."""
    return is_of_run(name) or name == TIMINGS


def foreign(folder: Path) -> list[str]:
    """Names of files that do not belong to a run, its jobs or its reports, sorted.

    Raises:
        OSError: the folder cannot be read.
    """
    names = (path.name for path in folder.iterdir())
    return sorted(name for name in names if not (is_of_run(name) or _JOB_FILES.fullmatch(name)))


def size_of(folder: Path) -> int:
    """Bytes of all files in a folder; unreadable or deleted files count 0."""
    return sum(stat.st_size for _, stat in stats_of(folder, follow_links=False))


def stats_of(folder: Path, *, follow_links: bool = True) -> Iterator[tuple[str, os.stat_result]]:
    """The name of each file in a folder, and what the file system says of it; those deleted meanwhile are left out."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):  # renamed since it was listed
                yield entry.name, entry.stat(follow_symlinks=follow_links)


def state_of(folder: Path) -> tuple[int, int, int]:
    """How many files a run is made of, when the latest was written, and a checksum of its corrected verdicts.

    Zeros where there is no run. The checksum is there since two corrections may have the same time of modification.
    """
    written = [stat.st_mtime_ns for name, stat in stats_of(folder) if _DECIDES.fullmatch(name)]
    return len(written), max(written, default=0), _checksum(folder / CORRECTIONS)


_DECIDES = re.compile(
    r"manifest\.json|questions\.apart|examples\.parquet|answers-.*\.parquet|(?:traces|extras)-.*\..*", re.DOTALL
)


def _checksum(path: Path) -> int:
    try:
        return zlib.crc32(path.read_bytes())
    except OSError:
        return 0


_DECISIVE = ("*.safetensors", "*.json")  # of a model's folder: weights, shape and tokenizer


def sha256_of(folder: Path) -> str:
    """The sha256 of the files of a model.

    Raises:
        ModelNotFound: they were deleted after loading.
    """
    digest = hashlib.sha256()
    paths = sorted(path for pattern in _DECISIVE for path in folder.glob(pattern))
    try:
        for path in paths:
            with path.open("rb") as file:
                digest.update(f"{path.name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    except FileNotFoundError:
        paths = []
    if not paths:
        message = f"{folder} was deleted or moved after its model was loaded. Restore it, and resume the run."
        raise ModelNotFound(message)
    return digest.hexdigest()


def answers_path(folder: Path, shard: int) -> Path:
    """Where the table of a shard is."""
    return folder / f"answers-{shard:05}.parquet"


def traces_path(folder: Path, shard: int) -> Path:
    """Where the arrays of a shard are."""
    return folder / f"traces-{shard:05}.safetensors"


def extras_path(folder: Path, shard: int) -> Path:
    """Where the kept extras of a shard are."""
    return folder / f"extras-{shard:05}.safetensors"


def added_path(folder: Path, method: str) -> Path:
    """Where the uncertainties of a method are that was computed later."""
    return folder / f"methods-{method}.parquet"
