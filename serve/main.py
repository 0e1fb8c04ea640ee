"""`rauq serve`: a model behind an OpenAI-compatible endpoint, with RAUQ's numbers for clients that ask for them."""

import argparse
import logging
import math
import os
import time
from collections.abc import Sequence
from functools import partial
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
from rauq.layout import RAUQ_COMMAND
from serve import LOG

if TYPE_CHECKING:
    from rauq.model.language_model import LanguageModel
    from rauq.scoring.settings import Settings
    from serve.reference import Reference

KEY_VARIABLE = "RAUQ_API_KEY"  # not an option, which other users of the machine could read
_LOCAL = ("127.0.0.1", "::1", "localhost")
# Threads of torch that wait sleep soon: the event loop runs beside them.
_ENVIRONMENT = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "1000"}


def main(arguments: Sequence[str]) -> int:
    """Serve until the process is asked to end."""
    options = _parser().parse_args(arguments[1:])
    return exit_code(partial(_serve, options), name="rauq")


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog=f"{RAUQ_COMMAND} serve",
        description="Serve a model to clients of OpenAI's API, with RAUQ's numbers for those that ask for them.",
        epilog=f"{KEY_VARIABLE}: the key that clients have to send; without one, the server listens on this machine "
        "alone.",
    )
    parser.add_argument("--model", default="smollm2", help="as of inspect; default smollm2")
    add_model_options(parser)
    parser.add_argument("--host", default=_LOCAL[0], metavar="ADDRESS", help="address to listen on; default 127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, metavar="N", help="default 8000; 0: one that is free")
    parser.add_argument("--run", type=Path, metavar="FOLDER", help="rank answers among those of this run")
    parser.add_argument(
        "--threshold", type=float, metavar="NATS", help="end an answer where it is more uncertain; default: never"
    )
    parser.add_argument("--max-tokens", type=int, default=1024, metavar="N", help="most of an answer; default 1024")
    parser.add_argument("--max-waiting", type=int, default=64, metavar="N", help="answers that wait; default 64")
    parser.add_argument("--batch-size", type=int, default=8, metavar="N", help="answers at once; default 8")
    parser.add_argument(
        "--max-seconds", type=float, default=600.0, metavar="S", help="from request to end; default 600"
    )
    parser.add_argument("--stop-seconds", type=float, default=30.0, metavar="S", help="for running answers; default 30")
    add_settings(parser)
    return parser


def _serve(options: argparse.Namespace) -> int:
    settings, key = settings_of(options), os.environ.get(KEY_VARIABLE, "")
    _check(options, key)
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    model_name = named_model(options.model)
    import uvicorn

    from rauq.model.loading import load_model
    from rauq.model.monitor import Monitor
    from serve.endpoint import application
    from serve.server import Server
    from serve.service import Service
    from serve.worker import Limits, Worker

    _log_to_stderr()
    say(f"Loading {model_name.source} ...")
    lm = load_model(model_name.source, revision=model_name.revision, **model_options(options))
    if options.threshold is not None:
        Monitor(lm, settings, threshold=options.threshold)  # refuses settings that need a whole answer
    reference = _reference(options.run, lm, settings) if options.run else None
    limits = Limits(
        waiting=options.max_waiting, batch=options.batch_size, tokens=options.max_tokens, seconds=options.max_seconds
    )
    worker = Worker(lm, limits, last_row=settings.alignment == "own")
    service = Service(
        lm=lm, worker=worker, settings=settings, reference=reference, threshold=options.threshold, key=key
    )
    config = uvicorn.Config(
        application(service),
        host=options.host,
        port=options.port,
        access_log=False,
        log_config=None,
        proxy_headers=False,
        ws="none",
        lifespan="off",
        timeout_graceful_shutdown=5,
    )
    server = Server(config, service, stop_seconds=options.stop_seconds)
    server.run()
    return DONE if server.started else KNOWN_ERROR


def _check(options: argparse.Namespace, key: str) -> None:
    """Check the options before the model loads.

    Raises:
        InvalidInput: one is not allowed.
    """
    if options.host not in _LOCAL and not key:
        message = (
            f"--host {options.host} is open to others, and {KEY_VARIABLE} is not set. Set it, or leave out --host."
        )
        raise InvalidInput(message)
    if not 0 <= options.port < 65536:
        message = f"--port is {options.port}; give a number from 0 to 65535."
        raise InvalidInput(message)
    for name in ("max_tokens", "max_waiting", "batch_size"):
        if getattr(options, name) < 1:
            message = f"--{name.replace('_', '-')} is {getattr(options, name)}; give 1 or more."
            raise InvalidInput(message)
    for name in ("max_seconds", "stop_seconds"):
        if not 0 < getattr(options, name) < math.inf:
            message = f"--{name.replace('_', '-')} is {getattr(options, name)}; give a number of seconds above 0."
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
