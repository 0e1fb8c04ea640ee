"""The command `survive`: what is left of a signal of answers or tokens, of a run or of a column of a file."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from analysis.cli.own_methods import is_own, load_own, words_of
from analysis.datasets.columns import columns_of
from analysis.datasets.own_files import read_file
from analysis.runs.manifest import MANIFEST
from analysis.runs.opened import Run, open_run
from analysis.stores import local_copy
from analysis.survival.asked import labelled_signals, signals_of_table
from analysis.survival.export import write_ladders
from analysis.survival.labelled import LabelledUnits, LevelName, Signal
from analysis.survival.ladder import Ladder, ladders_of, prepared_for
from analysis.survival.planted import self_test
from analysis.survival.sentences import in_lines, self_test_sentences
from rauq.cli.commands import DONE
from rauq.errors import InvalidInput


def survive(options: argparse.Namespace) -> int:
    """Run the command, and return its exit code."""
    labelled, signals = _labelled(options.source, options.signal, options.columns, options.level)
    ladders: list[Ladder] = []
    for ladder in ladders_of(labelled, signals, seed=options.seed):
        ladders.append(ladder)
        _say([ladder.signal, *in_lines(ladder)])
    planted = None
    if options.planted:
        planted = self_test(prepared_for(labelled, signals[0], seed=options.seed))
        _say(["Planted in the same answers", *self_test_sentences(planted)])
    if options.out:
        page, missing = write_ladders(ladders, planted, options.out)
        _say([f"Written: {page}", *filter(None, [missing])])
    return DONE


def _labelled(
    source: Path | str, words: Sequence[str], columns: str | None, level: LevelName
) -> tuple[LabelledUnits, list[Signal]]:
    """The labelled answers or tokens of a run or a file, and the signals that are named."""
    path = source if isinstance(source, Path) else local_copy(source)
    if not path.is_dir():
        chosen = columns_of(columns) if columns else None
        return signals_of_table(read_file(path), words, level=level, columns=chosen)
    names = words_of(words)
    run, own = _run(path, columns), iter(load_own(names).methods)
    return labelled_signals(run, [next(own) if is_own(name) else name for name in names], level=level)


def _run(path: Path, columns: str | None) -> Run:
    if not (path / MANIFEST).exists():
        message = f"{path} is the folder of no run. Give that of a run, or a file of labelled answers."
        raise InvalidInput(message)
    if columns is not None:
        message = "--columns is for files: a run has its own columns. Leave it out."
        raise InvalidInput(message)
    return open_run(path)


def _say(lines: Sequence[str]) -> None:
    sys.stdout.write("\n".join(lines) + "\n\n")
