"""The command `rauq`: a subcommand is looked up by name, and imported when it runs."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

from rauq.cli.commands import KNOWN_ERROR, say
from rauq.layout import ANALYSIS, RAUQ_COMMAND, SERVE
from rauq.version import __version__

_ABOUT = "A microscope for RAUQ. Exit codes: 0 done, 1 known error, 2 invalid input."
_PACKAGES = {"rauq", "analysis", "pages", "serve"}


@dataclass(frozen=True, kw_only=True)
class Command:
    """A subcommand: the function `main` of a module takes its name and its arguments, and returns the exit code.

    `function`: of a command of answer sets, whose `main` is the same for all, what adds its options to a parser.
    """

    name: str
    about: str
    module: str
    function: str = ""
    extra: str = ""  # what pip has to install with rauq

    def run(self, arguments: Sequence[str]) -> int:
        """Import the module, and run the command: its exit code."""
        code: int = import_module(self.module).main([self.name, *arguments])
        return code


def _of_sets(name: str, about: str, function: str) -> Command:
    module, added = f"{ANALYSIS}.cli.main", f"{ANALYSIS}.cli.{function}"
    return Command(name=name, about=about, module=module, function=added, extra="data")


COMMANDS = (
    Command(name="app", about="open the app for the user of this machine", module="rauq.cli.app", extra="app"),
    Command(name="host", about="open the app to others, behind a guard", module="rauq.cli.app", extra="app"),
    Command(name="serve", about="serve a model to clients of OpenAI's API", module=f"{SERVE}.main", extra="serve"),
    Command(name="inspect", about="answer a prompt, and show its uncertainty", module="rauq.cli.inspect"),
    _of_sets("score", "generate and score answers to a data set", "commands:score"),
    _of_sets("report", "write the tables and figures of runs", "commands:report"),
    _of_sets("add-methods", "compute further methods on the answers of a run", "commands:add_methods"),
    _of_sets("attribute", "compute RAUQ (LIG) of a run's answers", "commands:attribute"),
    _of_sets("tokens", "compare how well signals find the wrong tokens", "commands:tokens"),
    _of_sets("survive", "judge what is left of a signal beyond simpler explanations", "commands:survive"),
    _of_sets("train", "fit a supervised method on the answers of runs", "commands:train"),
    _of_sets("supervised", "fit supervised methods on runs, and judge them", "commands:supervised"),
    _of_sets("check", "compare the files of a run with their checksums", "commands:check"),
    _of_sets("export", "write the results of a run in other formats", "commands:export"),
    _of_sets("import", "unpack a run that was exported as a zip archive", "commands:import_run"),
    _of_sets("convert", "convert the checkpoint of AlignScore or COMET", "commands:convert"),
    _of_sets("idf", "count document frequencies of a model's tokens", "commands:idf"),
    Command(name="models", about="list the models with a short name, or get one", module="rauq.cli.inspect"),
    Command(name="cache", about="list or clear the dequantised weights", module="rauq.cli.inspect"),
    Command(name="completion", about="print the completion for a shell", module="rauq.cli.completion"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 1 known error, 2 invalid input, 130 stopped by the user."""
    asked = _parser().parse_args(arguments)
    command = next(command for command in COMMANDS if command.name == asked.command)
    try:
        return command.run(asked.arguments)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if not command.extra or missing in _PACKAGES:
            raise
        say(
            f"rauq: {command.name} needs the package {missing}, which is not installed. "
            f"Install it: pip install 'rauq[{command.extra}]'"
        )
        return KNOWN_ERROR


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=RAUQ_COMMAND,
        usage="%(prog)s COMMAND ... | COMMAND --help | --version",
        description="\n".join((_ABOUT, *(f"  {one.name:<13}{one.about}" for one in COMMANDS))),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
    )
    parser.add_argument("-h", "--help", action="help", help=argparse.SUPPRESS)
    parser.add_argument("--version", action="version", version=f"rauq {__version__}", help=argparse.SUPPRESS)
    parser.add_argument("command", choices=[one.name for one in COMMANDS], metavar="COMMAND", help=argparse.SUPPRESS)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser
