"""The command `survive`: what is left of a signal of a run, or of a column of a file."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from analysis.cli.own_methods import is_own, load_own, words_of
from analysis.datasets.columns import columns_of
from analysis.datasets.own_files import read_file
from analysis.runs.manifest import MANIFEST
from analysis.runs.opened import Run, open_run
from analysis.stores import local_copy
from analysis.survival.asked import labelled_signal
from analysis.survival.export import write_ladders
from analysis.survival.labelled import LabelledAnswers, Signal, of_table
from analysis.survival.ladder import Ladder, ladder_of, prepared_for
from analysis.survival.planted import SelfTest, self_test
from analysis.survival.sentences import in_lines, self_test_sentences
from rauq.cli.commands import DONE
from rauq.errors import InvalidInput


def survive(options: argparse.Namespace) -> int:
    """Run the command, and return its exit code."""
    ladders: list[Ladder] = []
    planted: SelfTest | None = None
    for labelled, signal in _signals(options.source, options.signal, options.columns):
        ladders.append(ladder_of(labelled, signal, seed=options.seed))
        _say([ladders[-1].signal, *in_lines(ladders[-1])])
        if options.planted and planted is None:
            planted = self_test(prepared_for(labelled, signal, seed=options.seed))
    if planted is not None:
        _say(["Planted in the same answers", *self_test_sentences(planted)])
    if options.out:
        page, missing = write_ladders(ladders, planted, options.out)
        _say([f"Written: {page}", *filter(None, [missing])])
    return DONE


def _signals(source: Path | str, words: Sequence[str], columns: str | None) -> Iterator[tuple[LabelledAnswers, Signal]]:
    """Each signal, with the answers that it is about."""
    path = source if isinstance(source, Path) else local_copy(source)
    if path.is_dir():
        yield from _of_run(_run(path, columns), words_of(words))
        return
    table, chosen = read_file(path), columns_of(columns) if columns else None
    for word in words:
        yield of_table(table, word, chosen)


def _run(path: Path, columns: str | None) -> Run:
    if not (path / MANIFEST).exists():
        message = f"{path} is the folder of no run. Give that of a run, or a file of labelled answers."
        raise InvalidInput(message)
    if columns is not None:
        message = "--columns is for files: a run has its own columns. Leave it out."
        raise InvalidInput(message)
    return open_run(path)


def _of_run(run: Run, words: Sequence[str]) -> Iterator[tuple[LabelledAnswers, Signal]]:
    own = iter(load_own(words).methods)
    for word in words:
        yield labelled_signal(run, next(own) if is_own(word) else word)


def _say(lines: Sequence[str]) -> None:
    sys.stdout.write("\n".join(lines) + "\n\n")
