"""The command line: `python -m rauq inspect "PROMPT"`.

Exit codes: 0 done, 1 a known error, 2 input that cannot be used, 130 stopped by the user. The answer goes to standard
output, progress and errors to standard error. Torch loads after the input was found good.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import get_args

from rich.console import Console

from rauq import report, terminal
from rauq.commands import DONE, exit_code, say
from rauq.errors import InvalidInput
from rauq.score import score
from rauq.settings import Settings, Signal
from rauq.trace import Alignment, Trace


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = _parser().parse_args(arguments)
    return exit_code(partial(_inspect, options), name="rauq")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m rauq", description="How sure was a model, and which head shows it?"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    inspect = commands.add_parser(
        "inspect",
        help="answer a prompt, and show where confidence collapsed and which heads were picked",
        description="Answer a prompt, score the answer with RAUQ, and show its tokens and the picked heads.",
    )
    inspect.add_argument("prompt", metavar="PROMPT", help="the text that the model continues or answers")
    inspect.add_argument(
        "--model", default="atlas", help="atlas (embedded), a hub id, or a local folder; default atlas"
    )
    inspect.add_argument("--answer", metavar="TEXT", help="score this answer instead of generating one")
    inspect.add_argument("--max-new-tokens", type=int, default=128, metavar="N", help="default 128")
    inspect.add_argument("--alpha", type=float, metavar="A", help="weight of the signal, 0 to 1; default the paper's")
    inspect.add_argument("--signal", choices=get_args(Signal), help="default the paper's for this kind of model")
    inspect.add_argument(
        "--alignment",
        choices=get_args(Alignment),
        default="predicting",
        help="whose attention: the query that predicts the token (default), or the token's own",
    )
    inspect.add_argument("--json", action="store_true", help="print one JSON object instead of a picture")
    inspect.add_argument("--save", type=Path, metavar="FILE", help="also save the trace, as .safetensors")
    return parser


def _inspect(options: argparse.Namespace) -> int:
    settings = Settings(alpha=options.alpha, signal=options.signal, alignment=options.alignment)
    _check(options)
    trace = _trace(options)
    if options.save:
        trace.save(options.save)
    result = score(trace, settings)
    if options.json:
        sys.stdout.write(json.dumps(report.as_json(trace, result), allow_nan=False) + "\n")
    else:
        terminal.draw(Console(highlight=False), trace, result)
    return DONE


def _check(options: argparse.Namespace) -> None:
    """Refuse before the model loads what would be refused after."""
    if not options.prompt or options.answer == "":
        message = "The prompt and the answer must not be empty; give some text."
        raise InvalidInput(message)
    if options.max_new_tokens < 1:
        message = f"--max-new-tokens is {options.max_new_tokens}; give 1 or more."
        raise InvalidInput(message)
    if options.save and (options.save.is_dir() or not options.save.parent.is_dir()):
        message = f"--save {options.save}: give a file in a folder that exists."
        raise InvalidInput(message)


def _trace(options: argparse.Namespace) -> Trace:
    progress = Console(stderr=True, highlight=False)
    say(f"Loading {options.model} ...")
    from rauq.models import load_model

    lm = load_model(options.model)
    say(f"Loaded a {lm.kind} model of {lm.num_layers} layers with {lm.num_heads} heads.")
    if options.answer is not None:
        return lm.read(options.prompt, options.answer)
    with progress.status("Generating") as status:

        def count(index: int, _id: int, _text: str) -> None:
            status.update(f"Generating: {index + 1} tokens")

        return lm.generate(options.prompt, max_new_tokens=options.max_new_tokens, last_row=True, on_token=count)
