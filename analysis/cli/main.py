"""The command line of answer sets: `rauq score`, and what is made of its runs.

Exit codes: 0 done, 1 known error, 2 invalid input, 130 stopped by the user, 143 terminated. Results go
to standard output, progress and errors to standard error.
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pkgutil import resolve_name

from rauq.cli.commands import Parser, exit_code
from rauq.cli.main import COMMANDS
from rauq.layout import ANALYSIS_COMMAND


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    return exit_code(partial(_run, sys.argv[1:] if arguments is None else arguments), name="analysis")


def _run(arguments: Sequence[str]) -> int:
    options = _parser(arguments[:1]).parse_args(arguments)  # here, since a run in a store is fetched meanwhile
    code: int = options.run(options)
    return code


def _parser(asked: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of all commands; only the one that is asked for is imported."""
    parser = Parser(
        prog=ANALYSIS_COMMAND, description="Score a data set with RAUQ, and compare correct with incorrect answers."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in filter(lambda one: one.function, COMMANDS):
        added = commands.add_parser(command.name, help=command.about)
        if command.name in asked:
            added.set_defaults(run=resolve_name(command.function)(added))
    return parser
