"""`python -m analysis supervised`: fit supervised methods on runs, judge them on unseen answers, write the tables."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from analysis.detectors.evaluation.answers import SupervisedMethod
from analysis.detectors.evaluation.evaluate import evaluate
from analysis.detectors.evaluation.results import Evaluation, write_evaluation
from analysis.detectors.supervised.training import SUPERVISED as METHODS
from analysis.report.writing import in_lines, write_supervised
from analysis.runs.files import SUPERVISED
from analysis.runs.library import bundled_folder
from analysis.runs.opened import open_run
from rauq.cli.commands import DONE, say
from rauq.errors import InvalidInput, RunError
from rauq.labels import running


def supervised(options: argparse.Namespace) -> int:
    """Run the command, and return its exit code."""
    methods = _methods(options.methods)
    runs = [open_run(folder) for folder in options.runs]
    found = evaluate(runs, methods, threshold=options.threshold, full=options.full_search, seed=options.seed, tell=say)
    if missing := write_supervised(found, options.out):
        say(missing)
    _keep(found, options.runs)
    sys.stdout.write("".join(f"{running(line)}\n" for line in (*in_lines(found), str(options.out))))
    return DONE


def _methods(ids: Sequence[str] | None) -> list[SupervisedMethod]:
    """The rows of these ids, all where none are given.

    Raises:
        InvalidInput: an unknown one.
    """
    wanted = list(dict.fromkeys(ids or METHODS))
    if unknown := [name for name in wanted if name not in METHODS]:
        message = f"Unknown supervised method {unknown[0]!r}; choose among {', '.join(METHODS)}."
        raise InvalidInput(message)
    return [METHODS[name] for name in wanted]


def _keep(found: Evaluation, folders: Sequence[Path]) -> None:
    """Put the record into the folder of each run, where the page Methods finds it; not into the run of the app."""
    for folder in folders:
        if folder.resolve() == bundled_folder().resolve():
            continue
        try:
            write_evaluation(folder / SUPERVISED, found)
        except RunError as error:
            say(f"The page Methods will not show these tables for {folder.name}: {error}")
