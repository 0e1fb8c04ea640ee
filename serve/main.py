"""`rauq serve`: a model behind an OpenAI-compatible endpoint, with RAUQ's numbers for clients that ask for them."""

import argparse
import logging
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rauq.cli.commands import (
    DONE,
    KNOWN_ERROR,
    Parser,
    add_model_options,
    add_settings,
    exit_code,
    model_options,
    named_model,
    say,
    settings_of,
)
from rauq.errors import InvalidInput, MissingPackage
from rauq.layout import APP_SETTINGS, RAUQ_COMMAND, SERVED, command, environment
from serve import LOG

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import uvicorn
    from starlette.types import ASGIApp

    from rauq.model.language_model import LanguageModel
    from rauq.scoring.settings import Settings
    from serve.reference import Reference
    from serve.service import Keep, Service

KEY_VARIABLE = "RAUQ_API_KEY"  # not an option, which other users of the machine could read
_LOCAL = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, kw_only=True)
class WithApp:
    """What an app in the same process adds to the endpoint.

    `open`: gets the endpoint and the loaded model, and returns the server of both. `keep`: as of `Service`. `turn`:
    holds the model while clients are answered.
    """

    open: "Callable[[ASGIApp, LanguageModel], ASGIApp]"
    keep: "Keep"
    turn: "Callable[[LanguageModel], AbstractContextManager[object]]"


def main(arguments: Sequence[str]) -> int:
    """Serve until the process is asked to end."""
    options = parser().parse_args(arguments[1:])
    run = partial(_replace_process, arguments[1:]) if options.app else partial(serve, options)
    return exit_code(run, name="rauq")


def _replace_process(arguments: Sequence[str]) -> int:
    """Replace this process with one that serves the app as well.

    Raises:
        MissingPackage: Streamlit is not installed.
    """
    if find_spec("streamlit") is None:
        message = "--app needs the package streamlit, which is not installed. Install it: pip install 'rauq[app]'"
        raise MissingPackage(message)
    server = command(SERVED, *arguments)
    os.execve(server[0], server, {**APP_SETTINGS, **environment()})  # noqa: S606 - no shell


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    found = Parser(
        prog=f"{RAUQ_COMMAND} serve",
        description="Serve a model to clients of OpenAI's API, with RAUQ's numbers for those that ask for them.",
        epilog=f"{KEY_VARIABLE}: the key that clients have to send; without one, the server listens on this machine "
        "alone.",
    )
    found.add_argument("--model", default="smollm2", help="as of inspect; default smollm2")
    add_model_options(found)
    found.add_argument("--host", default=_LOCAL[0], metavar="ADDRESS", help="address to listen on; default 127.0.0.1")
    found.add_argument("--port", type=int, default=8000, metavar="N", help="default 8000; 0: one that is free")
    found.add_argument("--run", type=Path, metavar="FOLDER", help="rank answers among those of this run")
    found.add_argument(
        "--threshold", type=float, metavar="NATS", help="end an answer where it is more uncertain; default: never"
    )
    found.add_argument("--max-tokens", type=int, default=1024, metavar="N", help="most of an answer; default 1024")
    found.add_argument("--max-waiting", type=int, default=64, metavar="N", help="answers that wait; default 64")
    found.add_argument("--batch-size", type=int, default=8, metavar="N", help="answers at once; default 8")
    found.add_argument("--max-seconds", type=float, default=600.0, metavar="S", help="from request to end; default 600")
    found.add_argument("--stop-seconds", type=float, default=30.0, metavar="S", help="for running answers; default 30")
    found.add_argument("--app", action="store_true", help="serve the app as well; it keeps and shows clients' answers")
    found.add_argument("--keep-answers", type=int, default=200, metavar="N", help="with --app, of clients; default 200")
    found.add_argument(
        "--keep-hours", type=float, default=24.0, metavar="H", help="with --app, for how long; default 24"
    )
    add_settings(found)
    return found


def serve(options: argparse.Namespace, app: WithApp | None = None) -> int:
    """Load the model, and serve it until the process is asked to end: the exit code.

    Raises:
        RauqError: an option is not allowed, or the model cannot be loaded.
    """
    settings, key = settings_of(options), os.environ.get(KEY_VARIABLE, "")
    _check(options, key)
    for name, value in APP_SETTINGS.items():  # the event loop runs beside the threads of torch, as pages do
        os.environ.setdefault(name, value)
    from serve.endpoint import application
    from serve.server import Server

    _log_to_stderr()
    service = _service(options, settings, key=key, app=app)
    endpoint = application(service)
    config = _listening(options, app.open(endpoint, service.lm) if app else endpoint, with_app=app is not None)
    server = Server(config, service, stop_seconds=options.stop_seconds)
    server.run()
    return DONE if server.started else KNOWN_ERROR


def _service(options: argparse.Namespace, settings: "Settings", *, key: str, app: WithApp | None) -> "Service":
    """The loaded model, and how it is served.

    Raises:
        RauqError: the model cannot be loaded, or the run or the settings do not suit it.
    """
    from rauq.model.loading import load_model
    from rauq.model.monitor import Monitor
    from rauq.scoring.settings import window
    from serve.service import Service
    from serve.worker import Limits, Worker

    model_name = named_model(options.model)
    say(f"Loading {model_name.source} ...")
    lm = load_model(model_name.source, revision=model_name.revision, **model_options(options))
    window(settings, captured=lm.layers, num_layers=lm.num_layers)  # refuses layers that the model does not have
    if options.threshold is not None:
        Monitor(lm, settings, threshold=options.threshold)  # refuses settings that need a whole answer
    limits = Limits(
        waiting=options.max_waiting, batch=options.batch_size, tokens=options.max_tokens, seconds=options.max_seconds
    )
    return Service(
        lm=lm,
        worker=Worker(lm, limits, last_row=settings.alignment == "own", turn=partial(app.turn, lm) if app else None),
        settings=settings,
        reference=_reference(options.run, lm, settings) if options.run else None,
        threshold=options.threshold,
        key=key,
        keep=app.keep if app else None,
    )


def _listening(options: argparse.Namespace, served: "ASGIApp", *, with_app: bool) -> "uvicorn.Config":
    import uvicorn

    return uvicorn.Config(
        served,
        host=options.host,
        port=options.port,
        access_log=False,
        log_config=None,
        proxy_headers=False,
        ws="auto" if with_app else "none",
        ws_per_message_deflate=False,
        lifespan="on" if with_app else "off",
        timeout_graceful_shutdown=5,
    )


def _check(options: argparse.Namespace, key: str) -> None:
    """Check the options before the model loads.

    Raises:
        InvalidInput: one is not allowed.
    """
    if options.app and (key or options.host not in _LOCAL):
        message = (
            "--app shows the answers of all clients to whoever opens it, so it is for this machine alone. Leave out "
            f"--host and unset {KEY_VARIABLE}, or leave out --app."
        )
        raise InvalidInput(message)
    if options.host not in _LOCAL and not key:
        message = (
            f"--host {options.host} is open to others, and {KEY_VARIABLE} is not set. Set it, or leave out --host."
        )
        raise InvalidInput(message)
    if not 0 <= options.port < 65536:
        message = f"--port is {options.port}; give a number from 0 to 65535."
        raise InvalidInput(message)
    for name in ("max_tokens", "max_waiting", "batch_size", "keep_answers"):
        if getattr(options, name) < 1:
            message = f"--{name.replace('_', '-')} is {getattr(options, name)}; give 1 or more."
            raise InvalidInput(message)
    for name in ("max_seconds", "stop_seconds", "keep_hours"):
        if not 0 < getattr(options, name) < math.inf:
            message = f"--{name.replace('_', '-')} is {getattr(options, name)}; give a number above 0."
            raise InvalidInput(message)


def _reference(folder: Path, lm: "LanguageModel", settings: "Settings") -> "Reference":
    """The run that answers are ranked among.

    Raises:
        MissingPackage: the packages that read runs are not installed.
        RauqError: the run cannot be used.
    """
    try:
        from serve.reference import read_reference
    except ModuleNotFoundError as error:
        message = f"--run needs the package {error.name}, which is not installed. Install it: pip install 'rauq[data]'"
        raise MissingPackage(message) from error
    return read_reference(folder, lm, settings)


def _log_to_stderr() -> None:
    """One line for each request and batch, with its time (UTC); none has a text of a client."""
    line = logging.Formatter("%(asctime)sZ %(message)s", "%Y-%m-%dT%H:%M:%S")
    line.converter = time.gmtime
    handler = logging.StreamHandler()
    handler.setFormatter(line)
    for name, level in ((LOG, logging.INFO), ("uvicorn.error", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.addHandler(handler)
        logger.propagate = False
