"""`python -m analysis score`: prepare a run or go on with one, work on it, and print what came out."""

import argparse
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from types import FrameType

from rich.console import Console

from analysis.commands.progress import shown
from analysis.commands.summary import print_summary
from analysis.datasets.example import DataSet
from analysis.datasets.names import PER_GROUP, load
from analysis.datasets.own_files import Columns, correct_and_incorrect, guess_columns
from analysis.datasets.paper.twelve import PAPER_SETS
from analysis.datasets.reading import read_file
from analysis.datasets.sampling import spread
from analysis.pipeline import work
from analysis.quality.measures import measure
from analysis.runs.choosing import EMBEDDED, named
from analysis.runs.manifest import Manifest
from analysis.runs.opened import open_run
from analysis.runs.preparing import prepare, request_for
from rauq.commands import model_options
from rauq.errors import InvalidInput
from rauq.labels import running
from rauq.model_folders import looks_like_path
from rauq.trace import Kind

_ASKED = (
    *("model", "revision", "device", "dtype", "kind"),
    *("columns", "limit", "per_group", "batch_size", "max_new_tokens"),
)
_JUDGES = ("nli", "similarity", "tagger")
_HOW = ("methods", "samples", *_JUDGES, "idf", "quality", "weights", "layers")
_MOST_REJECTED = 5


class Signals:
    """Which signal asked the job to end; 0 while none did. The first is obeyed in time, the second at once."""

    def __init__(self) -> None:
        self.number = 0

    def is_set(self) -> bool:
        """Whether one did."""
        return self.number != 0

    def heard(self, number: int, _frame: FrameType | None) -> None:
        """Take note of a signal, and let another one of its kind end the process."""
        self.number = number
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def score(options: argparse.Namespace) -> int:
    """Run the command, and return its exit code."""
    console = Console(stderr=True, highlight=False)
    _prepare(options, console)
    with _signals() as asked, shown(console) as tell:
        status = work(options.out, on_progress=tell, cancel=asked)
    if status.state == "stopped":
        return 128 + (asked.number or signal.SIGINT)
    print_summary(Console(highlight=False), open_run(options.out))
    return 0


def _prepare(options: argparse.Namespace, console: Console) -> None:
    if options.data or options.correct or options.incorrect:
        _prepare_new(options, console)
    elif not options.resume:
        message = "Name the data set with --data, or go on with the run in --out with --resume."
        raise InvalidInput(message)
    elif given := [name for name in (*_ASKED, *_HOW) if getattr(options, name) is not None]:
        message = (
            f"--resume goes on with what the run was asked for; leave out --{given[0].replace('_', '-')}, "
            "or score into a new folder."
        )
        raise InvalidInput(message)


def _prepare_new(options: argparse.Namespace, console: Console) -> None:
    model = _whole_path(options.model or "atlas")
    data = _data(options, model)
    _tell_rejected(data, console)
    request = request_for(
        data,
        model=model,
        revision=options.revision,
        **model_options(options),
        quality=options.quality,
        weights=str(options.weights.resolve()) if options.weights else None,
        batch_size=options.batch_size,
        max_new_tokens=options.max_new_tokens,
        stored_layers=options.layers,
        methods=named(options.methods, model=model, data=data) if options.methods else None,
        samples=options.samples,
        seed=options.seed,
        **{name: _whole_path(value) for name in _JUDGES if (value := getattr(options, name))},
        idf=str(options.idf.resolve()) if options.idf else None,
    )
    _tell_quality(prepare(options.out, data, request), console)


def _tell_quality(manifest: Manifest, console: Console) -> None:
    if manifest.quality_reason:
        chosen = f"Quality: {measure(manifest.request.quality).name} (--quality chooses another). "
        console.print(running(chosen + manifest.quality_reason), soft_wrap=True, markup=False)


def _whole_path(model: str) -> str:
    """The full path of a folder or a file, so that the run can be gone on with from anywhere."""
    path = os.path.expanduser(model)  # noqa: PTH111 - a Path raises where a name is no possible path
    is_here = model != EMBEDDED and os.path.exists(path)  # noqa: PTH110 - the same
    return os.path.abspath(path) if is_here or looks_like_path(model) else model  # noqa: PTH100 - links stay: they have the names


def _data(options: argparse.Namespace, model: str) -> DataSet:
    columns = _columns(options.columns) if options.columns else None
    if options.data and not (options.correct or options.incorrect):
        kind = _kind(options, model)
        return load(
            options.data,
            kind=kind,
            limit=options.limit,
            per_group=options.per_group,
            columns=columns,
            seed=options.seed,
        )
    if options.data or not (options.correct and options.incorrect):
        message = "Give either --data, or both --correct and --incorrect."
        raise InvalidInput(message)
    if options.per_group is not None:
        raise InvalidInput(PER_GROUP)
    correct, incorrect = read_file(options.correct), read_file(options.incorrect)
    data = correct_and_incorrect(correct, incorrect, columns or _with_answer(guess_columns(correct)))
    return replace(data, examples=spread(data.examples, options.limit, seed=options.seed))


def _with_answer(guessed: Columns) -> Columns:
    """A column that was taken for the reference holds the answer, where nothing else does."""
    if guessed.answer or not guessed.references:
        return guessed
    return replace(guessed, answer=guessed.references[0], references=guessed.references[1:])


def _kind(options: argparse.Namespace, model: str) -> Kind:
    """The kind of the model, which only the prompts of the paper's sets depend on."""
    chosen: Kind | None = model_options(options)["kind"]
    if chosen or options.data.partition("=")[0] not in PAPER_SETS:
        return chosen or "base"
    from rauq.candidate import examine

    return examine(model, revision=options.revision).kind


def _columns(text: str) -> Columns:
    known = [field.name for field in fields(Columns)]
    pairs = [part.partition("=")[::2] for part in text.split(",")]
    found = {name.strip(): column.strip() for name, column in pairs if name.strip() != "references"}
    references = tuple(column.strip() for name, column in pairs if name.strip() == "references")
    unknown = [name for name in found if name not in known]
    if unknown or "prompt" not in found or not all((*found.values(), *references)):
        message = (
            f"--columns {text}: give NAME=COLUMN, separated by commas, prompt among them; the names are "
            f"{', '.join(known)}, and references may be given several times."
        )
        raise InvalidInput(message)
    return Columns(references=references, **found)


def _tell_rejected(data: DataSet, console: Console) -> None:
    for row in data.rejected[:_MOST_REJECTED]:
        console.print(running(f"Row {row.row} is left out: {row.reason}"), soft_wrap=True, markup=False)
    if (more := len(data.rejected) - _MOST_REJECTED) > 0:
        console.print(f"{more} more rows are left out.", soft_wrap=True)


@contextmanager
def _signals() -> Iterator[Signals]:
    """Turn Ctrl-C and a request to end into a wish that the job obeys after its token."""
    asked = Signals()
    before = {number: signal.signal(number, asked.heard) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
