"""What a run is: which examples are put to which model, and how. It is written before the first answer."""

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from rauq.errors import RunError
from rauq.methods.table import METHODS
from rauq.trace.file import MOST_ANSWER_TOKENS, MOST_HEADS, MOST_LAYERS, MOST_VOCABULARY
from rauq.trace.trace import Kind

Record = TypeVar("Record")


def typed(kind: type[Record], row: Mapping[str, Any]) -> Record:
    """A dataclass out of a JSON object; lists become tuples.

    Raises:
        ValueError: a field of another type.
        TypeError: a field that is missing, or none of its own.
    """
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
    kinds = get_type_hints(kind)
    for name, value in values.items():
        if name in kinds and not _fits(value, kinds[name]):
            message = f"{name} is {value!r}"
            raise ValueError(message)
    return kind(**values)


def _fits(value: object, kind: Any) -> bool:  # noqa: ANN401 - a type as it is annotated
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Literal:
        return value in parts
    if origin in (Union, UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(item, parts[0]) for item in value)
    return type(value) is kind  # True is no whole number here


SCHEMA = 2
MOST_EXAMPLES = 1_000_000
MOST_IN_A_BATCH = 1024
MOST_SAMPLES = 100
LONGEST_REASON = 1_000  # characters
MANIFEST = "manifest.json"
StoredLayers = Literal["middle", "all"]

_METHOD = re.compile(r"[a-z][a-z0-9_]{0,63}")


@dataclass(frozen=True, kw_only=True)
class Request:
    """What was asked for. Nothing in it needs the model, and all of it decides what the answers are.

    `model`: atlas, a hub id or a folder. `revision`: its branch, tag or commit on the hub, or a GGUF file's sha256;
    None is main, or the file as it is. `data`: name of the data set, `data_sha256` its fingerprint. `quality`: id of
    the measure, `weights`: the folder of its model, if it has one. `stored_layers`: whose attention is kept token by
    token. Shards hold `shard_size` examples each, by their number; batches do not cross shards. `methods`: ids of
    `rauq.METHODS`, or of one that another version has; those that compare samples are given `samples` of them, drawn
    by `seed`. `nli`, `similarity`, `tagger`, `idf`: the models and the file that others ask, by name or path; ""
    where there is none.
    """

    model: str
    data: str
    data_sha256: str
    count: int
    quality: str = "none"
    weights: str = ""
    revision: str | None = None
    kind: Kind | None = None
    device: str = "auto"
    dtype: str = "auto"
    max_new_tokens: int = 128
    stop: tuple[str, ...] | None = None
    chat: bool | None = None
    batch_size: int = 8
    shard_size: int = 32
    stored_layers: StoredLayers = "middle"
    methods: tuple[str, ...] = ("rauq", "msp", "perplexity", "mean_token_entropy")
    samples: int = 5
    seed: int = 0
    nli: str = ""
    similarity: str = ""
    tagger: str = ""
    idf: str = ""

    @property
    def known_methods(self) -> tuple[str, ...]:
        """The methods that this version has."""
        return tuple(method for method in self.methods if method in METHODS)

    @property
    def unknown_methods(self) -> tuple[str, ...]:
        """The methods that this version does not have: another version named them otherwise, or alone has them."""
        return tuple(method for method in self.methods if method not in METHODS)


@dataclass(frozen=True, kw_only=True)
class Answerer:
    """The model that answers, as it was loaded; `layers` are those that have attention, out of `num_layers`.

    `revision`: a commit of the hub, the sha256 of the embedded weights, or "local"; then `weights_sha256` says whose.
    """

    name: str
    revision: str
    kind: Kind
    dtype: str
    layers: tuple[int, ...]
    num_layers: int
    num_heads: int
    vocab_size: int
    weights_sha256: str = ""
    quantisation: str = field(default="", compare=False)  # follows from the revision; older runs have none


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """A run: its request, the model once it was loaded, and the packages that it was loaded with.

    `quality_reason`: why its measure of quality was chosen; "" where the user chose another one.
    """

    name: str
    created: str
    request: Request
    answerer: Answerer | None = None
    packages: tuple[tuple[str, str], ...] = ()
    quality_reason: str = ""

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
        RunError: it cannot be written.
    """
    text = json.dumps({"schema": SCHEMA} | asdict(manifest), indent=1)
    write_whole(folder / MANIFEST, lambda path: path.write_text(text + "\n", encoding="utf-8"))


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a run.

    Raises:
        RunError: there is none, it is damaged, or it is of another schema.
    """
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        schema = found.pop("schema")
    except FileNotFoundError as error:
        message = f"{folder} is not a run: it has no {MANIFEST}. Give a folder that `python -m analysis score` wrote."
        raise RunError(message) from error
    except (OSError, ValueError, AttributeError, TypeError, KeyError, RecursionError) as error:
        message = f"{folder / MANIFEST} cannot be read ({error}). Restore it from a copy of the run."
        raise RunError(message) from error
    if schema != SCHEMA:
        message = f"{folder} is a run of schema {schema!r}, but this version reads schema {SCHEMA}. Score it again."
        raise RunError(message)
    return _manifest(found, folder)


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file, and rename it to `path`: a killed process leaves no half-written file.

    Raises:
        RunError: it cannot be written, for example because the disk is full.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write(temporary)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def cannot_write(path: Path, error: OSError) -> RunError:
    """What to say where a file of a run cannot be written, for example because the disk is full."""
    return RunError(
        f"{path} cannot be written ({error.strerror or error}). Everything saved before is intact: "
        "free disk space or check the permissions of the folder, and resume the run."
    )


def _manifest(found: dict[str, Any], folder: Path) -> Manifest:
    try:
        manifest = Manifest(
            name=str(found["name"]),
            created=str(found["created"]),
            request=typed(Request, found["request"]),
            answerer=typed(Answerer, found["answerer"]) if found["answerer"] else None,
            packages=tuple((str(name), str(number)) for name, number in found["packages"]),
            quality_reason=str(found.get("quality_reason", "")),
        )
        _check(manifest)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        message = f"{folder / MANIFEST} is damaged ({error}). Restore it from a copy of the run."
        raise RunError(message) from error
    return manifest


def _check(manifest: Manifest) -> None:
    request, answerer = manifest.request, manifest.answerer
    _check_sizes(
        count=(request.count, MOST_EXAMPLES),
        batch_size=(request.batch_size, MOST_IN_A_BATCH),
        shard_size=(request.shard_size, MOST_EXAMPLES),
        max_new_tokens=(request.max_new_tokens, MOST_ANSWER_TOKENS),
        samples=(request.samples, MOST_SAMPLES),
    )
    methods = request.methods
    if not methods or len(set(methods)) < len(methods) or not all(map(_METHOD.fullmatch, methods)):
        message = f"methods is {methods}"  # each is a column of the answers
        raise ValueError(message)
    if answerer is not None:
        _check_sizes(
            num_layers=(answerer.num_layers, MOST_LAYERS),
            num_heads=(answerer.num_heads, MOST_HEADS),
            vocab_size=(answerer.vocab_size, MOST_VOCABULARY),
        )
        ascending = sorted(set(answerer.layers) & set(range(answerer.num_layers)))
        if not answerer.layers or list(answerer.layers) != ascending:
            message = f"layers is {answerer.layers} of {answerer.num_layers}"
            raise ValueError(message)


def _check_sizes(**sizes: tuple[int, int]) -> None:
    """Each a number and the most it may be."""
    for name, (value, most) in sizes.items():
        if not 1 <= value <= most:
            message = f"{name} is {value}, but must be 1 to {most:,}"
            raise ValueError(message)
