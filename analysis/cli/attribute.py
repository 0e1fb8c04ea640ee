"""`rauq attribute`: RAUQ (LIG) on answers of a run, an estimate before, and a line for each answer."""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.attribution import (
    COLUMNS,
    LIG,
    LigAnswer,
    LigResult,
    Request,
    add_answer,
    agreement,
    attribute_answers,
    begin,
    compare_answers,
    read_folder,
    request_for,
    traces_of,
    write_result,
)
from analysis.runs.opened import Run, open_run
from analysis.runs.work import as_started, load_for
from analysis.stats import Estimate, in_words
from rauq.cli.commands import DONE, say
from rauq.errors import InvalidInput
from rauq.labels import number, running
from rauq.scoring.settings import attributed_layers
from rauq.trace.attribution import LARGEST_ERROR, Attribution

if TYPE_CHECKING:
    from rauq.model.language_model import LanguageModel


def attribute(options: argparse.Namespace) -> int:
    """Run the command, and return its exit code."""
    how = Attribution(steps=options.steps, side=options.side, positive=options.positive)
    run = open_run(options.folder)
    layers = attributed_layers(
        _layers(options.layers), captured=run.answerer.layers, num_layers=run.answerer.num_layers
    )
    request = request_for(run, layers, steps=how.steps, side=how.side, positive=how.positive, limit=options.limit)
    compared = None if options.compare is None else _other(options.compare, request)
    done = begin(options.out, request)
    if still_open := sorted(set(request.rows) - {one.row for one in done}):
        _attribute_all(run, request, options, still_open, done)
    answers = begin(options.out, request)
    result = compare_answers(run, request, answers)
    write_result(options.out, result, answers)
    console = Console(highlight=False)
    print_result(console, result)
    if compared is not None:
        console.print(_agreement_in_words(options.compare.name, run, *compared, answers), soft_wrap=True)
    return DONE


def _other(folder: Path, request: Request) -> tuple[Request, tuple[LigAnswer, ...]]:
    """The attributions to compare with, which have to be of the same run."""
    other, answers = read_folder(folder)
    if (other.run, other.created) != (request.run, request.created):
        message = (
            f"--compare {folder} has attributions of {other.run}, made {other.created}. Give a folder of "
            f"{request.run}, made {request.created}."
        )
        raise InvalidInput(message)
    return other, answers


def _agreement_in_words(
    name: str, run: Run, other: Request, others: Sequence[LigAnswer], answers: Sequence[LigAnswer]
) -> Text:
    found = agreement(run, answers, others)
    here, there = (_cell(one) for one in found.prr)
    layers = ", ".join(map(str, other.layers))
    return Text(
        f"Compared with {name} (layers {layers}, {other.steps} steps) on {found.answers} shared answers: RAUQ (LIG) "
        f"differs by {number(found.median, places=4)} (median) and by up to {number(found.largest, places=4)}, "
        f"Spearman correlation {number(found.rank_correlation)}; PRR {here} here and {there} there, there minus here "
        f"{_cell(found.difference)}."
    )


def _layers(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        message = f"--layers {text}: give numbers of layers, separated by commas, for example 10,12,15."
        raise InvalidInput(message) from error


def _attribute_all(
    run: Run, request: Request, options: argparse.Namespace, rows: Sequence[int], done: Sequence[LigAnswer]
) -> None:
    """Attribute the rows that are missing, and keep each at once."""
    say(f"Loading {run.manifest.request.model} ...")
    lm = load_for(as_started(run.manifest))
    estimate = seconds_expected(lm, run, request, rows)
    kept = f" ({len(done)} are there already)" if done else ""
    say(f"Answers to attribute: {len(rows)}{kept}. This takes about {_duration(estimate)}, judging by one pass.")
    begun = time.monotonic()
    for count, answer in enumerate(attribute_answers(lm, run, request, rows), start=1):
        add_answer(options.out, answer)
        left = (time.monotonic() - begun) / count * (len(rows) - count)
        say(f"{count} of {len(rows)}: {_about(answer)}; about {_duration(left)} left")


def _about(answer: LigAnswer) -> str:
    if answer.reason:
        return f"row {answer.row}, undefined ({answer.reason})"
    warning = f", above {LARGEST_ERROR:g}" if answer.max_error > LARGEST_ERROR else ""
    return (
        f"row {answer.row}, RAUQ {number(answer.rauq_same_layers)}, RAUQ (LIG) {number(answer.rauq_lig)}, largest "
        f"completeness error {number(answer.max_error, places=4)}{warning}, {answer.seconds:.1f} s"
    )


def seconds_expected(lm: "LanguageModel", run: Run, request: Request, rows: Sequence[int]) -> float:
    """How long these rows will take: a backward pass takes about as long as a forward pass through the same blocks.

    The forward pass is measured on the first answer, a second time, since the first one warms up.
    """
    num_layers = run.answerer.num_layers
    blocks = sum(num_layers - layer for layer in request.layers) / num_layers
    sizes = [(len(trace.prompt_ids), len(trace.answer_ids)) for _, trace in traces_of(run, rows)]
    _, first = next(traces_of(run, rows))
    prompt, answer = first.prompt_ids.tolist(), first.answer_ids.tolist()
    for _ in range(2):
        begun = time.perf_counter()
        lm.read(prompt, answer)
        per_token = (time.perf_counter() - begun) / (len(prompt) + len(answer))
    return (
        per_token
        * blocks
        * request.steps
        * sum((num_answer - 1) * (num_prompt + num_answer - 1) for num_prompt, num_answer in sizes)
    )


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    return f"{seconds:.0f} s" if seconds < 90 else f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"


def print_result(console: Console, result: LigResult) -> None:
    """Print the table in the paper's layout, the paired differences, completeness and cost."""
    title = Text(running(f"PRR on {result.answers} answers of {result.request.run}, {result.data}"))
    table = Table(title=title, title_justify="left", title_style="bold", caption_justify="left", box=box.SIMPLE)
    for name in ("method", "PRR", "RAUQ (LIG) minus it"):
        table.add_column(name, justify="left" if name == "method" else "right", no_wrap=True)
    for name, found in result.prr.items():
        table.add_row(COLUMNS[name], _cell(found), "" if name == LIG else _cell(result.differences[name]))
    reasons = dict.fromkeys(found.reason for found in (*result.prr.values(), *result.differences.values()))
    undefined = f" Undefined (–): {'; '.join(filter(None, reasons))}." if any(reasons) else ""
    table.caption = f"Brackets: 95 % interval by question, paired for the differences.{undefined}"
    console.print(table)
    for line in _facts(result):
        console.print(line, soft_wrap=True)


def _cell(estimate: Estimate) -> Text:
    return Text("–" if estimate.reason else in_words(estimate))


def _facts(result: LigResult) -> tuple[str, ...]:
    complete, cost, request = result.completeness, result.cost, result.request
    above = f"; {complete.above_bound} of {result.answers} answers have one above {LARGEST_ERROR:g}"
    kept = ", positive part" if request.positive else ""
    layers, errors = ", ".join(map(str, request.layers)), [complete.median, complete.largest]
    median, largest = (number(error, places=4) for error in errors)
    seconds = (("attribution", cost.attribution), ("RAUQ", cost.rauq), ("generation", cost.generation))
    return (
        f"Layers {layers}, {request.steps} steps, {request.side} of the output projection{kept}.",
        f"Spearman correlation of RAUQ (LIG) with RAUQ on the same layers: {number(result.rank_correlation)}.",
        f"Completeness error in nats: median {median}, largest {largest}{above}.",
        f"Seconds an answer: {', '.join(f'{name} {number(value, places=4)}' for name, value in seconds)}.",
        result.note,
    )
