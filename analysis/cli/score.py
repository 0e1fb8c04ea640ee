"""`rauq score`: prepare a run or resume one, show its progress, and print what came out.

`--methods my_module:my_method` names a method of the user's own, which is imported.
"""

import argparse
import math
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, get_args

import pandas as pd
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from analysis.answer_sets.outcomes import outcomes, outcomes_in_words
from analysis.answer_sets.sides import groups_note
from analysis.answer_sets.tables import strata_table, summary_table
from analysis.cli.own_methods import is_own, load_own, words_of
from analysis.datasets.columns import columns_of
from analysis.datasets.example import DataSet, spread
from analysis.datasets.names import FACT_SETS, PER_GROUP, load
from analysis.datasets.own_files import read_file
from analysis.datasets.public.twelve import PAPER_SETS
from analysis.datasets.rows import correct_and_incorrect
from analysis.datasets.understood import UnclearColumns, for_two_files, known_columns
from analysis.methods.comparison import WITHIN, Metric, groups_of
from analysis.methods.tables import ranking_table
from analysis.methods.unclear import comparison_bounds, comparison_bounds_sentences
from analysis.quality.judgement import Thresholds
from analysis.quality.measures import measure
from analysis.quality.unclear import about_unclear
from analysis.questions import about_joined
from analysis.runs import answering
from analysis.runs.create import prepare, request_for
from analysis.runs.files.corrections import treat_apart
from analysis.runs.files.shards import bytes_per_answer
from analysis.runs.job import Status
from analysis.runs.manifest import FEWEST_OFFSETS, Request
from analysis.runs.methods import about_unknown_methods, named
from analysis.runs.opened import Run, about_machines, open_run
from analysis.runs.own import DetectorFile, Own, detector_files
from analysis.runs.verdicts import about_corrections
from analysis.runs.work import Source, answered_here, work
from analysis.stores import Workspace, is_store, workspace
from rauq.checkpoints.names import whole_name
from rauq.cli.commands import model_options, stop_texts
from rauq.errors import InvalidInput
from rauq.labels import VLLM, number, running, size
from rauq.layout import is_hosted
from rauq.trace.trace import Kind

if TYPE_CHECKING:
    from rauq.model.served import ServedModel


@contextmanager
def shown(console: Console) -> Iterator[Callable[[Status], None]]:
    """A function to call with every status; it draws a progress bar, or writes a line for each saved shard."""
    if not console.is_terminal:
        yield _lines(console)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rest]}"))
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("Loading", total=None, rest="")

        def tell(status: Status) -> None:
            description = status.state.capitalize()
            progress.update(
                task, total=status.total, completed=status.done, description=description, rest=_rest(status)
            )
            if status.message:
                progress.console.print(Text(running(status.message)))

        yield tell


def _lines(console: Console) -> Callable[[Status], None]:
    last: Status | None = None

    def tell(status: Status) -> None:
        nonlocal last
        if last is None or (status.state, status.saved, status.message) != (last.state, last.saved, last.message):
            last = status
            said = (f"{status.state}: {status.done} of {status.total}", _rest(status), running(status.message))
            console.print(Text(", ".join(filter(None, said))), soft_wrap=True)

    return tell


def _rest(status: Status) -> str:
    """Speed, failures and the time left, as far as they are known."""
    speed, left = status.tokens_per_second, status.seconds_left
    said = (
        f"{speed:,.0f} tokens/s" if speed else "",
        f"{status.failed} failed" if status.failed else "",
        f"{_duration(left)} left" if left is not None else "",
    )
    return ", ".join(filter(None, said))


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


_LEFT = ("method", "stratum")


def print_summary(console: Console, run: Run) -> None:
    """Print how many answers of each group are correct and how well each method ranks them, with 95 % intervals."""
    thresholds = measure(run.manifest.request.quality).thresholds
    failed = [run.examples[place].group for place in run.failures["number"]]
    counted = outcomes(run.answers, thresholds)
    console.print(Text(running(f"{outcomes_in_words(counted)}.")), soft_wrap=True)
    console.print(_answers(summary_table(run.answers, failed, thresholds), thresholds))
    if len(strata := strata_table(run.answers, thresholds)):
        console.print(_strata(strata, thresholds))
    if run.answers["quality"].notna().any():
        ranked = ranking_table(run.answers, run.methods, thresholds, clusters=run.clusters)
        if len(ranked):
            console.print(_ranking(ranked))
    if unknown := about_unknown_methods(run.manifest.request):
        console.print(unknown, soft_wrap=True)
    if more := groups_note(run.answers["group"]):
        console.print(more)
    unread = (about_unclear(counted.unclear), *_bounds(run, thresholds))
    for said in filter(None, (*unread, _about_questions(run), about_corrections(run), about_machines(run))):
        console.print(said, soft_wrap=True)
    for fault in run.faults:
        console.print(Text(running(fault)), soft_wrap=True)


def _bounds(run: Run, thresholds: Thresholds) -> Iterator[str]:
    """What unclear answers could change in the ranking by RAUQ, or by the first method; nothing without any."""
    groups = groups_of(run.answers["group"].tolist())
    for metric in get_args(Metric) if run.methods else ():
        bounds = comparison_bounds(run.answers, run.methods, groups, metric=metric, thresholds=thresholds)
        yield from comparison_bounds_sentences(bounds)


def _about_questions(run: Run) -> str:
    """How many near-duplicate questions count as one, and how to change that; empty where there are none."""
    said, other = about_joined(run.joined, apart=run.apart), "joined" if run.apart else "apart"
    return f"{said} To change that: --resume --questions {other}." if said else ""


def _answers(found: pd.DataFrame, thresholds: Thresholds) -> Table:
    table = _table("Answers", "group", "answers", "failed", "unjudged", "correct", "share", "tokens each")
    for row in found.to_dict("records"):
        unjudged = row["without quality"]
        judged = row["answers"] - unjudged
        counts = (str(count) for count in (row["answers"], row["failed"], unjudged, row["correct"]))
        share = row["correct"] / judged if judged else float("nan")
        table.add_row(_text(row["group"]), *counts, number(share), number(row["mean tokens"], places=1))
    table.caption = f"Correct: quality above {thresholds.correct:g}. Share: of all judged answers."
    return table


def _strata(found: pd.DataFrame, thresholds: Thresholds) -> Table:
    table = _table("By stratum", *found.columns)
    for group, stratum, answers, *cells in found.itertuples(index=False):
        table.add_row(_text(group), _text(stratum), str(answers), *(number(cell, places=2) for cell in cells))
    table.caption = f"Correct: quality above {thresholds.roc:g}. MSP in nats."
    return table


def _ranking(found: pd.DataFrame) -> Table:
    table = _table("Ranking by each method", "group", "method", "PRR", "ROC-AUC")
    for row in found.to_dict("records"):
        cells = (_estimate(row, name) for name in ("prr", "roc_auc"))
        table.add_row(_text(row["group"]), _text(row["method"]), *cells)
    left_out = found.loc[found["group"] != WITHIN, "excluded"]  # a mean leaves out groups, whose reasons are given
    excluded = f" Left out because undefined: {left_out.max()}." if left_out.any() else ""
    reasons = "; ".join(dict.fromkeys(filter(None, found["undefined"])))
    undefined = f" Undefined (–): {reasons}." if reasons else ""
    few = "; ".join(dict.fromkeys(filter(None, found["no interval"])))
    without = f" No interval: {few}." if few else ""
    table.caption = _text(f"Brackets: 95 % interval by question.{excluded}{undefined}{without}")
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(
        title=title, title_justify="left", title_style="bold", caption_justify="left", caption_style="", box=box.SIMPLE
    )
    for place, name in enumerate(columns):
        table.add_column(name, justify="left" if place == 0 or name in _LEFT else "right", no_wrap=True)
    return table


def _estimate(row: dict[str, float], name: str) -> Text:
    value, low, high = (number(row[f"{name}{end}"], places=2) for end in ("", "_low", "_high"))
    return Text(value if math.isnan(row[f"{name}_low"]) else f"{value} [{low}, {high}]")


def _text(value: str) -> Text:
    return Text(running(str(value)))


_ASKED = (
    *("model", "revision", "device", "device_map", "dtype", "engine", "kind"),
    *("columns", "limit", "per_group", "batch_size", "max_new_tokens", "stop", "no_stop"),
)
_JUDGES = ("nli", "similarity", "tagger")
_HOW = ("methods", "samples", *_JUDGES, "idf", "quality", "weights", "layers", "offsets", "keep", "threads")
_ELSEWHERE = ("on", "revision", "device", "device_map", "dtype", "engine", "threads")  # what does not go with a server
_MOST_REJECTED = 5


class Signals:
    """The signal that asked the job to end; 0 if none did. The first is obeyed after a token, the second at once.

    The end of `parent`, the process that started the job, asks it too.
    """

    def __init__(self, parent: int | None) -> None:
        self.number, self.parent = 0, parent

    def is_set(self) -> bool:
        """Whether the job was asked to end."""
        return self.number != 0 or (self.parent is not None and self.parent != os.getppid())

    def receive(self, number: int, _frame: FrameType | None) -> None:
        """Take note of a signal, and let another one of its kind end the process."""
        self.number = number
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def score(options: argparse.Namespace) -> int:
    """Run the command, and return its exit code."""
    console = Console(stderr=True, highlight=False)
    if options.dry_run:
        return _dry_run(options, Console(highlight=False))
    own = load_own(words_of(options.methods), seconds=options.method_seconds)
    source = _source(options, own)
    with _workspace(options.out) as space, _signals(options.parent) as asked, shown(console) as tell:
        _prepare(options, space, own, console)
        if options.questions:
            treat_apart(space.folder, apart=options.questions == "apart")
        how: Any = {"own": own, "source": source, "mixed": options.mixed}
        status = work(space.folder, on_progress=space.reporting(tell), cancel=asked, **how)
    if status.state == "stopped":
        return 128 + (asked.number or signal.SIGINT)
    print_summary(Console(highlight=False), open_run(space.folder))
    return 0


def _dry_run(options: argparse.Namespace, console: Console) -> int:
    """Print how the data set is read, without a model and without a run."""
    data = _data(options, whole_name(options.model or "atlas"), model_options(options)["kind"])
    _print_reading(data, console)
    console.print(f"{len(data.examples):,} rows accepted, {len(data.rejected):,} left out.")
    _print_quality(options.quality or data.quality, "" if options.quality else data.quality_reason, console)
    return 0


def add_methods(options: argparse.Namespace) -> int:
    """Add methods to a run, print how they rank its answers, and return the exit code."""
    from rauq.methods.pair_scorers.loading import load_judges

    judges = load_judges(**{name: getattr(options, name) or "" for name in _JUDGES})
    ids, files = _with_detectors(words_of(options.methods))
    with _workspace(options.folder) as space:
        run = answering.add_methods(space.folder, ids, judges=judges, detectors=files)
    print_summary(Console(highlight=False), run)
    return 0


def _workspace(place: Path | str) -> AbstractContextManager[Workspace]:
    """Where a job works on its run; a host has no store, whose credentials would be its own."""
    if is_store(place) and is_hosted():
        message = f"A host writes runs into folders only: give one in place of {place}."
        raise InvalidInput(message)
    return workspace(place)


def _source(options: argparse.Namespace, own: Own) -> Source:
    """Where the answers are computed: in this process, on Ray, or by a vLLM server."""
    if options.endpoint is not None:
        return _by_server(options)
    if options.on is None:
        return answered_here

    from analysis.sources.on_ray import ray_source

    if is_hosted():
        message = f"A host does not use Ray: leave --on {options.on} out."
        raise InvalidInput(message)
    if own.methods:
        message = f"Methods of your own are computed in this process only: leave out --on or {own.methods[0].id}."
        raise InvalidInput(message)
    return ray_source(options.on, models_per_gpu=options.models_per_gpu)


def _by_server(options: argparse.Namespace) -> Source:
    from analysis.sources.on_vllm import vllm_source

    if is_hosted():
        message = "A host answers runs itself: leave --endpoint out."
        raise InvalidInput(message)
    if given := [name for name in _ELSEWHERE if getattr(options, name) is not None]:
        message = f"--{given[0].replace('_', '-')} has no effect on a server: leave out that or --endpoint."
        raise InvalidInput(message)
    return vllm_source(options.endpoint)


def _prepare(options: argparse.Namespace, space: Workspace, own: Own, console: Console) -> None:
    again = ("methods",) if all(map(is_own, words_of(options.methods))) else ()  # a run cannot name these by itself
    if options.data or options.correct or options.incorrect:
        _prepare_new(options, space, own, console)
    elif not options.resume:
        message = "Give a data set with --data, or resume the run in --out with --resume."
        raise InvalidInput(message)
    elif given := [name for name in (*_ASKED, *_HOW) if getattr(options, name) is not None and name not in again]:
        message = (
            f"--resume uses the options of the run; leave out --{given[0].replace('_', '-')}, "
            "or score into a new folder."
        )
        raise InvalidInput(message)


def _prepare_new(options: argparse.Namespace, space: Workspace, own: Own, console: Console) -> None:
    served, how = _served(options, console), model_options(options)
    if served is not None:
        how |= {"kind": served.kind, "engine": VLLM}
    model = served.name if served is not None else whole_name(options.model or "atlas")
    ids = {note.module: note.id for note in own.notes}
    words, files = _with_detectors([ids.get(word, word) for word in words_of(options.methods)])
    given = (*ids.values(), *(file.method for file in files))
    data = _data(options, model, how["kind"])
    _print_reading(data, console)
    request = request_for(
        data,
        model=model,
        revision=options.revision,
        **how,
        quality=options.quality,
        weights=str(options.weights.resolve()) if options.weights else None,
        batch_size=options.batch_size,
        max_new_tokens=options.max_new_tokens,
        stored_layers=options.layers,
        offsets=options.offsets,
        keep=_names(options.keep),
        methods=named(words, model=model, data=data, own=given, served=served is not None) if words else None,
        own_methods=own.notes,
        detectors=files,
        samples=options.samples,
        seed=options.seed,
        threads=options.threads,
        **{name: whole_name(value) for name in _JUDGES if (value := getattr(options, name))},
        idf=str(options.idf.resolve()) if options.idf else None,
    )
    if served is not None:
        from analysis.sources.on_vllm import check_served

        check_served(served, request)
    manifest = prepare(space.folder, data, request, name=space.name)
    _print_quality(manifest.request.quality, manifest.quality_reason, console)
    _print_size(data, request, console)


def _served(options: argparse.Namespace, console: Console) -> "ServedModel | None":
    """The model of a server; None for one that is loaded here.

    Raises:
        RauqError: the server cannot be used.
    """
    if options.endpoint is None:
        return None

    from rauq.model.served import served_model

    found = served_model(options.endpoint, name=options.model, kind=model_options(options)["kind"])
    console.print(f"Kind of {found.name}: {found.kind} ({found.why}); --kind chooses.", markup=False, soft_wrap=True)
    return found


def _with_detectors(words: Sequence[str]) -> tuple[list[str], tuple[DetectorFile, ...]]:
    """The ids of methods, and the files of those that are given as ID=FILE."""
    files = detector_files([word for word in words if "=" in word])
    return [word.partition("=")[0] for word in words], files


def _print_quality(quality: str, reason: str, console: Console) -> None:
    if reason:
        chosen = f"Quality: {measure(quality).name} (--quality chooses another). "
        console.print(running(chosen + reason), soft_wrap=True, markup=False)


def _names(text: str | None) -> tuple[str, ...] | None:
    """Names separated by commas, each once."""
    return None if text is None else tuple(dict.fromkeys(filter(None, (name.strip() for name in text.split(",")))))


def _print_size(data: DataSet, request: Request, console: Console) -> None:
    """Say what the run takes on disk at most, where more is stored than by default."""
    if request.engine == VLLM or (not request.keep and request.offsets == FEWEST_OFFSETS):
        return

    from rauq.checkpoints.model_info import inspect_model

    model = inspect_model(
        request.model,
        revision=request.revision,
        device=request.device,
        dtype=request.dtype,
        engine=request.engine,
    )
    each = bytes_per_answer(
        request.max_new_tokens,
        num_layers=model.num_layers,
        num_heads=model.num_heads,
        stored_layers=request.stored_layers,
        offsets=request.offsets,
        keep=request.keep,
        hidden_size=model.hidden_size,
        prompt_tokens=max(len(example.prompt) for example in data.examples),  # a token has a character or more
    )
    whole = size(each * request.count)
    console.print(f"On disk: at most {whole}, {size(each)} for an answer of {request.max_new_tokens} tokens.")


def _data(options: argparse.Namespace, model: str, kind: Kind | None) -> DataSet:
    try:
        data, stop = _loaded(options, model, kind), stop_texts(options)
        return data if stop is None else replace(data, stop=stop)
    except UnclearColumns as unclear:
        raise InvalidInput(unclear.for_shell) from unclear


def _loaded(options: argparse.Namespace, model: str, kind: Kind | None) -> DataSet:
    columns = columns_of(options.columns) if options.columns else None
    if options.data and not (options.correct or options.incorrect):
        return load(
            options.data,
            kind=_kind(options, model, kind),
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
    columns = columns or known_columns(correct, as_understood=for_two_files)
    data = correct_and_incorrect(correct, incorrect, columns)
    return replace(data, examples=spread(data.examples, options.limit, seed=options.seed))


def _kind(options: argparse.Namespace, model: str, chosen: Kind | None) -> Kind:
    """The kind of the model, which only the prompts of facts and of the paper's sets depend on."""
    if chosen or options.data.partition("=")[0] not in {*FACT_SETS, *PAPER_SETS}:
        return chosen or "base"

    from rauq.checkpoints.model_info import inspect_model

    return inspect_model(model, revision=options.revision).kind


def _print_reading(data: DataSet, console: Console) -> None:
    """Say how the data set was read, and which rows were left out."""
    if data.understood:
        console.print(running(f"Read as: {data.understood}."), soft_wrap=True, markup=False)
    for note in data.notes:
        console.print(running(note), soft_wrap=True, markup=False)
    for row in data.rejected[:_MOST_REJECTED]:
        console.print(running(f"Row {row.row} is left out: {row.reason}"), soft_wrap=True, markup=False)
    if (more := len(data.rejected) - _MOST_REJECTED) > 0:
        console.print(f"{more} more rows are left out.", soft_wrap=True)


@contextmanager
def _signals(parent: int | None) -> Iterator[Signals]:
    """Turn Ctrl-C, SIGTERM and the end of a parent into a request that the job obeys after its current token."""
    asked = Signals(parent)
    before = {number: signal.signal(number, asked.receive) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
