"""Create a run: its request is checked and written with its examples, so that a job needs nothing else."""

import json
import math
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime
from functools import lru_cache
from itertools import accumulate, chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.datasets.example import DataSet, Example, fingerprint
from analysis.quality.facts import known_facts
from analysis.quality.measures import OWN, measure
from analysis.runs.job import LOCK, only_job
from analysis.runs.manifest import (
    FEWEST_OFFSETS,
    MANIFEST,
    MOST_EXAMPLES,
    MOST_IN_A_BATCH,
    MOST_SAMPLES,
    MOST_THREADS,
    Manifest,
    Request,
    StoredLayers,
    read_manifest,
    write_manifest,
    write_whole,
)
from analysis.runs.own import changed, check_unseen, needs_of, row_of
from analysis.runs.shard import ALIGNMENTS, LIGHT, OFFSETS
from analysis.typed_json import parsed
from rauq.checkpoints.kinds import AUTO
from rauq.errors import InvalidInput, RunError
from rauq.layout import ANALYSIS_COMMAND
from rauq.methods.method import Need
from rauq.methods.table import METHODS
from rauq.scoring.settings import Settings, window
from rauq.trace.extras import BY_LAYER, EXTRAS
from rauq.trace.file import LENS_TOKENS, MOST_ANSWER_TOKENS, MOST_BANDS

EXAMPLES = "examples.parquet"
OF_EXAMPLES = ("id", "group", "stratum", "error_label", "prompt", "references")
"""What the table of a run says of the examples themselves."""

ROWS = 4096  # of the examples that are read at once to find one of them

_TEXT, _TEXTS = pa.string(), pa.list_(pa.string())
_SCHEMA = pa.schema(
    [
        *[(name, _TEXT) for name in "id prompt conversation source question answer group stratum error_label".split()],
        *[(name, _TEXTS) for name in ("references", "facts", "wrong")],
        ("quality", pa.float64()),
    ]
)


def write_examples(folder: Path, examples: tuple[Example, ...]) -> None:
    """Write the examples of a run, whole or not at all.

    Raises:
        InvalidInput: a text that is not valid Unicode.
        RunError: they cannot be written.
    """
    try:
        table = pa.Table.from_pylist([asdict(example) for example in examples], schema=_SCHEMA)
    except UnicodeEncodeError as error:
        message = f"An example is not valid Unicode ({error.reason}). Remove its row."
        raise InvalidInput(message) from error
    options: Any = {"compression": "zstd", "row_group_size": ROWS, "write_page_checksum": True}
    write_whole(folder / EXAMPLES, lambda path: pq.write_table(table, path, **options))


def read_examples(folder: Path) -> tuple[Example, ...]:
    """Read the examples of a run.

    Raises:
        RunError: they are missing or damaged.
    """
    file = ExamplesFile(folder)
    return file.read(range(len(file)))


class ExamplesFile:
    """The examples of a run in their file, of which some thousands are read when one of them is asked for.

    Each method raises a RunError where the file is missing or damaged.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / EXAMPLES
        try:
            with pq.ParquetFile(self._path) as file:
                sizes = [file.metadata.row_group(place).num_rows for place in range(file.num_row_groups)]
        except (OSError, pa.ArrowException, ValueError) as error:
            raise self._damaged(error) from error
        self._ends = list(accumulate(sizes))
        self._part = lru_cache(maxsize=1)(self._read_part)

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[Example]:
        starts = [0, *self._ends]
        return chain.from_iterable(map(self.read, map(range, starts, self._ends)))

    def __getitem__(self, number: int) -> Example:
        place = range(len(self))[number]
        return self.read(range(place, place + 1))[0]

    def read(self, numbers: range) -> tuple[Example, ...]:
        """The examples of these successive numbers."""
        rows = self.table(numbers).to_pylist()
        # older runs have no such columns
        rows = [row | {"wrong": row["wrong"] or [], "conversation": row["conversation"] or ""} for row in rows]
        try:
            return parsed(tuple[Example, ...], json.dumps(rows))
        except ValueError as error:
            raise self._damaged(error) from error

    def asked(self, numbers: Sequence[int]) -> list[str]:
        """What the examples of these ascending numbers ask, as `Example.asked`."""
        first = min(numbers, default=0)
        found = self.table(range(first, max(numbers, default=-1) + 1)).select(["question", "prompt"]).to_pydict()
        return [found["question"][number - first] or found["prompt"][number - first] for number in numbers]

    def table(self, numbers: range) -> pa.Table:
        """The same as they are stored."""
        first, last = (bisect_right(self._ends, number) for number in (numbers.start, numbers.stop - 1))
        parts = pa.concat_tables([_SCHEMA.empty_table(), *map(self._part, range(first, last + 1) if numbers else ())])
        return parts.slice(numbers.start - (self._ends[first - 1] if first else 0), len(numbers))

    def _read_part(self, place: int) -> pa.Table:
        try:
            with pq.ParquetFile(self._path, page_checksum_verification=True) as file:
                found = pa.concat_tables([_SCHEMA.empty_table(), file.read_row_group(place)], promote_options="default")
            part = found.select(_SCHEMA.names)
        except (OSError, pa.ArrowException, ValueError) as error:
            raise self._damaged(error) from error
        if any(part[name].null_count for name in OF_EXAMPLES):
            message = "an example lacks a text"
            raise self._damaged(message)
        return part

    def _damaged(self, reason: object) -> RunError:
        return RunError(f"{self._path} cannot be read ({reason}). Restore it from a copy of the run.")


def check_examples(folder: Path, manifest: Manifest, examples: Iterable[Example]) -> None:
    """Check that the examples in the folder of a run match its request.

    Raises:
        RunError: they are not.
    """
    if fingerprint(examples) != manifest.request.data_sha256:
        message = f"The examples in {folder} do not match its manifest. Restore them from a copy of the run."
        raise RunError(message)


DEFAULT = ("rauq", "msp", "perplexity", "mean_token_entropy")
ASKABLE = tuple(method for method, row in METHODS.items() if row.family not in ("ablation", "supervised"))
"""Ablations are other settings of RAUQ, and any run can be scored with them later; supervised ones need a detector."""

EMBEDDED = "atlas"
_WORDS = ("default", "no-download")
_FROM_ELSEWHERE: Mapping[Need, tuple[str, str]] = MappingProxyType(
    {
        "nli": ("a model for natural-language inference", "--nli microsoft/deberta-large-mnli"),
        "similarity": ("a model of sentence similarity", "--similarity cross-encoder/stsb-roberta-large"),
        "keywords": ("a spaCy model that finds keywords", "--tagger en_core_web_sm"),
        "idf": ("document frequencies of the model's tokens", f"--idf FILE, made with {ANALYSIS_COMMAND} idf"),
    }
)
"""What has to be named, in words, and how to name it on the command line."""


COLUMNS = frozenset({*LIGHT.names, *(field.name for field in fields(Example)), "measured_quality", "corrected"})
"""The columns of a run's table besides those of its methods."""


def named(words: Sequence[str], *, model: str, data: DataSet, own: Collection[str] = ()) -> tuple[str, ...]:
    """The methods that ids, those that the user gives (`own`), and the words `default` and `no-download` mean.

    Raises:
        InvalidInput: a word that is neither.
    """
    meant = {"default": default_methods(data), "no-download": without_download(model, data)}
    chosen = tuple(dict.fromkeys(method for word in words for method in meant.get(word, (word,))))
    check_methods(chosen, own)
    return chosen


def default_methods(data: DataSet) -> tuple[str, ...]:
    """The methods of a run that names none: DEFAULT, and for given answers the one that finds errors there."""
    return (*DEFAULT, "surprisal") if data.is_written else DEFAULT


def check_methods(methods: Sequence[str], own: Collection[str] = ()) -> None:
    """Check that a run can have all of these methods; `own` are the user's own, and those with a fitted detector.

    Raises:
        InvalidInput: one that is unknown, an ablation, or supervised without a detector, one that is named twice, none
            at all, or an id of one's own that is a column of a run's table.
    """
    if lacking := [one for one in methods if one not in own and one in METHODS and "detector" in METHODS[one].needs]:
        message = f"{METHODS[lacking[0]].name} needs a fitted detector. Name its file: --methods {lacking[0]}=FILE."
        raise InvalidInput(message)
    if unknown := [method for method in methods if method not in ASKABLE and method not in own]:
        message = (
            f"Unknown method {unknown[0]!r}; choose from {', '.join((*_WORDS, *ASKABLE))}, or name one of your own as "
            "module:method."
        )
        raise InvalidInput(message)
    if taken := COLUMNS.intersection(own):
        message = f"Your method has the id {min(taken)!r}, which is a column of every run. Rename it."
        raise InvalidInput(message)
    if not methods or len(set(methods)) < len(methods):
        message = f"Got the methods {', '.join(methods) or '(none)'}; name at least one, each once."
        raise InvalidInput(message)


def without_download(model: str, data: DataSet) -> tuple[str, ...]:
    """The methods that need no further model or file, and whose inputs are known for some prompts.

    P(True) is one: the run's own model is its judge.
    """
    return tuple(method for method in ASKABLE if METHODS[method].needs <= available_needs(model, data))


def available_needs(model: str, data: DataSet) -> frozenset[Need]:
    """The needs of methods that are met: in any run, with the embedded model, for known facts, or for given answers."""
    known = any(known_facts(example) is not None for example in data.examples)
    there: dict[Need, bool] = {"samples": True, "p_true": True, "facts": known, "idf": model == EMBEDDED}
    there["written"] = data.is_written
    return frozenset(need for need, is_there in there.items() if is_there)


def own_idf(request: Request) -> str:
    """The document frequencies that come with the embedded model, where a method or an extra weighs its tokens."""
    weighed = "focus" in request.keep or any("idf" in needs_of(method) for method in request.known_methods)
    return EMBEDDED if weighed and request.model == EMBEDDED else ""


def named_in(request: Request) -> frozenset[Need]:
    """The judges that a request names."""
    given: dict[Need, str] = {
        "nli": request.nli,
        "similarity": request.similarity,
        "keywords": request.tagger,
        "idf": request.idf or own_idf(request),
    }
    return frozenset(need for need, name in given.items() if name)


def missing_needs(method: str, given: Collection[Need]) -> str:
    """The further models or files that a method needs and does not have, in words; empty if none."""
    return " and ".join(_FROM_ELSEWHERE[need][0] for need in _wanted(method, given))


def about_unknown_methods(request: Request) -> str:
    """A sentence about the methods of a run that this version does not have; empty if it has all."""
    if not request.unknown_methods:
        return ""
    names = ", ".join(request.unknown_methods)
    return f"Methods unknown to this version, kept in the run's table but not ranked: {names}."


def check_known_methods(request: Request) -> None:
    """Check that this version has all methods of a run that is to be resumed.

    Raises:
        RunError: it does not; the answers can still be opened.
    """
    if request.unknown_methods:
        message = (
            f"This run uses {', '.join(request.unknown_methods)}, unknown to this version. Its "
            "answers can be opened; resume it with the version that started it, or score into a new folder."
        )
        raise RunError(message)


def check_comparable(request: Request) -> None:
    """Check that this version has at least one method of the run.

    Raises:
        RunError: it has none.
    """
    if not request.known_methods:
        message = f"Nothing to compare. {about_unknown_methods(request)} Score the data set again."
        raise RunError(message)


def options_for(method: str, given: Collection[Need] = ()) -> str:
    """The command-line options that give what the method still needs; empty if nothing."""
    return " ".join(_FROM_ELSEWHERE[need][1] for need in _wanted(method, given))


def check_judges(request: Request) -> None:
    """Check that every method has the judges that it needs.

    Raises:
        InvalidInput: one is not named; it says how to.
    """
    given = named_in(request)
    for method in request.known_methods:
        if (words := missing_needs(method, given)) and (row := row_of(method)):
            add = options_for(method, given)
            message = f"{row.name} needs {words}. Add {add}, or leave {method} out."
            raise InvalidInput(message)


def _wanted(method: str, given: Collection[Need]) -> list[Need]:
    return [need for need in _FROM_ELSEWHERE if need in needs_of(method) and need not in given]


def request_for(data: DataSet, *, model: str, **changes: Any) -> Request:  # noqa: ANN401 - the fields of a request
    """The request for answers to a data set, with its defaults; a change that is None changes nothing.

    Shards hold whole batches.

    Raises:
        InvalidInput: no example at all, or an option that no run can have.
    """
    meant = Request(
        model=model,
        data=data.name,
        data_sha256=data.fingerprint,
        count=len(data.examples),
        quality=data.quality,
        max_new_tokens=data.max_new_tokens,
        stop=data.stop,
        chat=data.chat,
        methods=default_methods(data),
    )
    request = replace(meant, **{name: value for name, value in changes.items() if value is not None})
    _check(request)
    check_unseen(request.detectors, [example.asked for example in data.examples])
    request = replace(request, idf=request.idf or own_idf(request))
    batches = max(1, round(request.shard_size / request.batch_size))
    return replace(request, shard_size=batches * request.batch_size)


def prepare(folder: Path, data: DataSet, request: Request, *, name: str = "") -> Manifest:
    """Write a run into a new or empty folder, or over one that was never started; the same run stays as it is.

    `name`: for people; the folder's if none is given.

    Raises:
        InvalidInput: a request for another data set.
        RunError: the folder holds something else, or cannot be written to.
    """
    if request.data_sha256 != data.fingerprint:
        message = (
            f"The request is for {request.data}, which does not match the given examples. Create the request from them."
        )
        raise InvalidInput(message)
    if (folder / MANIFEST).exists():
        found = read_manifest(folder)
        if found.request == request:
            return found
        _refuse_begun(folder, found, request)
    else:
        _make_room(folder)
    with only_job(folder):
        return _write(folder, data, request, name or folder.resolve().name)


def _write(folder: Path, data: DataSet, request: Request, name: str) -> Manifest:
    created = datetime.now(UTC).isoformat(timespec="seconds")
    reason = data.quality_reason if request.quality == data.quality else ""
    manifest = Manifest(name=name, created=created, request=request, answerer=None, quality_reason=reason)
    write_examples(folder, data.examples)
    write_manifest(folder, manifest)
    return manifest


def _check(request: Request) -> None:
    measure(request.quality)  # says which there are
    if (request.quality == OWN.id) != (request.own_quality is not None):
        message = f"The measure {OWN.id!r} is a function of yours: analysis.score_run(..., quality=my_quality)."
        raise InvalidInput(message)
    given = [*(note.id for note in request.own_methods), *(file.method for file in request.detectors)]
    check_methods(request.methods, given)
    check_judges(request)
    _check_revision(request)
    _check_kept(request)
    if request.stored_layers not in get_args(StoredLayers):
        message = f"Unknown layers {request.stored_layers!r}; choose from {', '.join(get_args(StoredLayers))}."
        raise InvalidInput(message)
    if request.device_map not in (None, AUTO) or (request.device_map and request.device != AUTO):
        message = (
            f"Got the device map {request.device_map!r} and the device {request.device!r}. A run's device map is auto "
            "or None, and chooses the devices itself: leave the device at auto."
        )
        raise InvalidInput(message)
    sizes = (
        ("examples", request.count, MOST_EXAMPLES),
        ("examples in a batch", request.batch_size, MOST_IN_A_BATCH),
        ("examples in a shard", request.shard_size, MOST_EXAMPLES),
        ("new tokens", request.max_new_tokens, MOST_ANSWER_TOKENS),
        ("samples of an answer", request.samples, MOST_SAMPLES),
        ("threads", 1 if request.threads is None else request.threads, MOST_THREADS),
    )
    for what, number, most in sizes:
        if not 1 <= number <= most:
            message = f"Got {number:,} {what}; a run may have 1 to {most:,}."
            raise InvalidInput(message)


def _check_kept(request: Request) -> None:
    if not FEWEST_OFFSETS <= request.offsets <= MOST_BANDS:
        message = f"Got {request.offsets} offsets; a run may store {FEWEST_OFFSETS} to {MOST_BANDS}, in keys back."
        raise InvalidInput(message)
    unknown = [name for name in request.keep if name not in EXTRAS]
    if unknown or len(set(request.keep)) < len(request.keep):
        message = f"Got {', '.join(request.keep)} to keep; give some of {', '.join(EXTRAS)}, each once."
        raise InvalidInput(message)
    if "focus" in request.keep and "idf" not in named_in(request):
        message = (
            f"The extra focus needs {_FROM_ELSEWHERE['idf'][0]}. Add {_FROM_ELSEWHERE['idf'][1]}, or leave it out."
        )
        raise InvalidInput(message)


def _check_revision(request: Request) -> None:
    if request.revision is not None and (request.model == EMBEDDED or Path(request.model).expanduser().is_dir()):
        message = (
            f"Got the revision {request.revision!r} of {request.model}, which is on this machine and has none: a "
            "revision is a branch, tag or commit of a model on the hub. Leave it out."
        )
        raise InvalidInput(message)


def _refuse_begun(folder: Path, found: Manifest, request: Request) -> None:
    if found.answerer is not None:
        names = [name for name, value in vars(request).items() if getattr(found.request, name) != value]
        if set(names) <= {"own_methods", "own_quality"}:
            raise RunError(changed("A method or the function of quality of yours"))
        message = (
            f"{folder} holds another run ({found.request.data} on {found.request.model}; they differ in "
            f"{', '.join(names)}). Resume that one, or give a new folder."
        )
        raise RunError(message)


def _make_room(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        found = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        message = f"{folder} cannot be used for a run ({error.strerror or error}). Give a new folder."
        raise RunError(message) from error
    # A process that was killed before it wrote the manifest left the examples and its lock at most.
    if others := [name for name in found if name not in (EXAMPLES, LOCK) and not name.endswith(".tmp")]:
        message = f"{folder} contains other files, such as {others[0]}. Give a new or empty folder."
        raise RunError(message)


_HALF, _SINGLE = 2, 4  # bytes of a number
_TABLE = 160  # bytes a token, packed: its text, ids and alternatives; measured on the embedded model


def bytes_per_answer(
    num_tokens: int,
    *,
    num_layers: int,
    num_heads: int,
    stored_layers: StoredLayers,
    offsets: int = FEWEST_OFFSETS,
    keep: Sequence[str] = (),
    hidden_size: int = 0,
    prompt_tokens: int = 0,
) -> int:
    """About how many bytes an answer takes on disk, if all layers have attention and some token carries a fact.

    `hidden_size` and `prompt_tokens` matter for extras alone that depend on them.
    """
    stored = window(Settings(layers=stored_layers), captured=tuple(range(num_layers)), num_layers=num_layers)
    bands = offsets * len(stored) * num_heads * (num_tokens + 1) * _HALF
    shapes = {
        "max_attention": (num_tokens, num_tokens),
        "diagonal": (num_heads, prompt_tokens + num_tokens),
        "hidden": (hidden_size,),
        "hidden_mean": (hidden_size,),
        "hidden_layers": (num_layers + 1, num_tokens, hidden_size),
        "logit_lens": (num_layers, num_tokens, 1 + 2 * LENS_TOKENS),
        "focus": (num_tokens, 2),
        "mean_logprob": (num_tokens,),
        **dict.fromkeys(BY_LAYER, (len(stored), num_heads, num_tokens, 2)),
    }
    extras = sum(math.prod(shapes[name]) for name in keep if name in shapes) * _HALF
    means = 2 * len(ALIGNMENTS) * len(OFFSETS) * num_layers * num_heads * _HALF  # of all tokens, and of the fact's
    picks = len(ALIGNMENTS) * num_layers * _HALF
    return bands + extras + means + picks + num_tokens * (2 * _SINGLE + _TABLE)
