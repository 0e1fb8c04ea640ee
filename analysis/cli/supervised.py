"""`rauq train` and `supervised`: fit supervised methods on the answers of runs.

`train` saves one detector; `supervised` judges methods on unseen answers, and writes the tables.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from analysis.detectors.evaluation.answers import SupervisedMethod
from analysis.detectors.evaluation.evaluate import evaluate
from analysis.detectors.evaluation.results import Evaluation, write_evaluation
from analysis.detectors.supervised.training import SUPERVISED as METHODS
from analysis.detectors.supervised.training import Answers, Trained, settings_in_words
from analysis.detectors.supervised.training import train as train_on
from analysis.quality.measures import measure
from analysis.report.writing import in_lines, write_supervised
from analysis.runs.library import bundled_folder
from analysis.runs.manifest import SUPERVISED
from analysis.runs.opened import Run, open_run
from analysis.runs.traces import traces_of
from rauq.cli.commands import DONE, say
from rauq.detectors.checks import OfModel
from rauq.errors import InvalidInput, RunError
from rauq.labels import running


def train(options: argparse.Namespace) -> int:
    """Run the command, and return its exit code."""
    if not options.out.expanduser().absolute().parent.is_dir():
        message = f"{options.out} cannot be written: there is no such folder. Give a file in a folder that exists."
        raise InvalidInput(message)
    runs = _runs(options.run_folders)
    found = train_on(options.method, [answers_of(run) for run in runs], full=options.full_search, seed=options.seed)
    found.detector.save(options.out)
    sys.stdout.write("".join(f"{running(line)}\n" for line in (*_lines(found), str(options.out))))
    return DONE


def answers_of(run: Run) -> Answers:
    """The answers of a run as training takes them; an answer is correct by the threshold of the run's measure."""
    return Answers(
        name=f"The run {run.folder.name}",
        data=run.manifest.request.data,
        model=OfModel(
            model=run.answerer.name,
            revision=run.answerer.revision,
            kind=run.answerer.kind,
            num_layers=run.answerer.num_layers,
            num_heads=run.answerer.num_heads,
        ),
        layers=run.stored_layers,
        traces=traces_of(run),
        questions=run.questions,
        quality=run.answers["quality"].to_numpy(dtype=float),
        threshold=measure(run.manifest.request.quality).thresholds.roc,
    )


def _runs(folders: Sequence[Path]) -> list[Run]:
    """Open finished runs.

    Raises:
        InvalidInput: a run is given twice, or is not finished.
    """
    if len({folder.resolve() for folder in folders}) < len(folders):
        message = "A run is given twice: its answers would count twice. Give each once."
        raise InvalidInput(message)
    runs = [open_run(folder) for folder in folders]
    for run in runs:
        done = len(run.answers) + len(run.failures)
        if done < (wanted := run.manifest.request.count):
            message = f"The run {run.folder.name} has {done:,} of {wanted:,} answers. Resume it first."
            raise InvalidInput(message)
    return runs


def _lines(trained: Trained) -> Iterator[str]:
    detector = trained.detector
    out = f"; {trained.left_out:,} without quality or features left out" if trained.left_out else ""
    yield (
        f"{detector.method} of {detector.model}, trained on {detector.answers:,} answers to "
        f"{', '.join(detector.data)}: {trained.correct:,} correct, {trained.incorrect:,} incorrect (quality above "
        f"{detector.threshold:g} is correct){out}."
    )
    yield f"Settings: {settings_in_words(trained.settings)}. {trained.seconds:.1f} s."


def supervised(options: argparse.Namespace) -> int:
    """Run the command, and return its exit code."""
    methods = _rows_of(options.methods)
    runs = [open_run(folder) for folder in options.runs]
    found = evaluate(runs, methods, threshold=options.threshold, full=options.full_search, seed=options.seed, tell=say)
    if missing := write_supervised(found, options.out):
        say(missing)
    _keep(found, options.runs)
    sys.stdout.write("".join(f"{running(line)}\n" for line in (*in_lines(found), str(options.out))))
    return DONE


def _rows_of(ids: Sequence[str] | None) -> list[SupervisedMethod]:
    """The rows of these ids, all where none are given.

    Raises:
        InvalidInput: an unknown one.
    """
    wanted = list(dict.fromkeys(ids or METHODS))
    if unknown := [name for name in wanted if name not in METHODS]:
        message = f"Unknown supervised method {unknown[0]!r}; choose among {', '.join(METHODS)}."
        raise InvalidInput(message)
    return [METHODS[name] for name in wanted]


def _keep(evaluation: Evaluation, folders: Sequence[Path]) -> None:
    """Put the record into the folder of each run, where the page Methods finds it; not into the run of the app."""
    for folder in folders:
        if folder.resolve() == bundled_folder().resolve():
            continue
        try:
            write_evaluation(folder / SUPERVISED, evaluation)
        except RunError as error:
            say(f"The page Methods will not show these tables for {folder.name}: {error}")
