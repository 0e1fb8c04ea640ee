"""The command line: `python -m rauq inspect "PROMPT"`, and `python -m rauq cache`.

Exit codes: 0 done, 1 a known error, 2 input that cannot be used, 130 stopped by the user. The answer goes to standard
output, progress and errors to standard error. Torch loads after the input was found good.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, get_args

from rich.console import Console

from rauq import report, terminal
from rauq.checkpoints.store import BOUND_VARIABLE, PLACE_VARIABLE, clear, usual_store
from rauq.commands import DONE, add_model_options, exit_code, model_options, say
from rauq.errors import InvalidInput
from rauq.labels import about_weights, running, size
from rauq.messages import Message, TemplateOption, checked_options, option_value
from rauq.sampling import Sampling
from rauq.score import score
from rauq.settings import Settings, Signal
from rauq.trace import Alignment, Part, Trace


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = _parser().parse_args(arguments)
    return exit_code(partial(options.command, options), name="rauq")


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
    inspect.set_defaults(command=_inspect)
    inspect.add_argument("prompt", metavar="PROMPT", help="the text that the model continues or answers")
    inspect.add_argument("--system", metavar="TEXT", help="a system prompt, for a model with a chat template")
    inspect.add_argument(
        "--template-option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a variable of the chat template, such as enable_thinking=false; may be repeated",
    )
    inspect.add_argument(
        "--model",
        default="atlas",
        help="atlas (embedded), a folder, a GGUF file, a hub id, or organisation/model/file.gguf; default atlas",
    )
    add_model_options(inspect)
    inspect.add_argument("--answer", metavar="TEXT", help="score this answer instead of generating one")
    inspect.add_argument("--end", action="store_true", help="with --answer: append the model's end token")
    inspect.add_argument("--max-new-tokens", type=int, default=128, metavar="N", help="default 128")
    _add_sampling(inspect)
    inspect.add_argument("--alpha", type=float, metavar="A", help="weight of the signal, 0 to 1; default the paper's")
    inspect.add_argument("--signal", choices=get_args(Signal), help="default the paper's for this kind of model")
    inspect.add_argument(
        "--alignment",
        choices=get_args(Alignment),
        default="predicting",
        help="whose attention: the query that predicts the token (default), or the token's own",
    )
    inspect.add_argument(
        "--part",
        choices=get_args(Part),
        default="answer",
        help="what to score where the model thinks first: the answer without its thinking (default), or the thinking",
    )
    inspect.add_argument("--json", action="store_true", help="print one JSON object instead of a picture")
    inspect.add_argument("--save", type=Path, metavar="FILE", help="also save the trace, as .safetensors")
    cache = commands.add_parser(
        "cache",
        help="show or clear the dequantised weights of GGUF files",
        description="Weights of GGUF files are dequantised once and kept. Environment variables: "
        f"{PLACE_VARIABLE} says where, {BOUND_VARIABLE} how many gigabytes at most.",
    )
    cache.set_defaults(command=_cache)
    cache.add_argument("--clear", action="store_true", help="remove them")
    return parser


def _add_sampling(inspect: argparse.ArgumentParser) -> None:
    group = inspect.add_argument_group(
        "sampling",
        "Without any of these, each token is the most probable one. The same seed gives the same answer.",
    )
    group.add_argument("--temperature", type=float, metavar="T", help="above 0; default 1")
    group.add_argument(
        "--top-p", type=float, metavar="P", help="only the most probable tokens, up to this total; default 1"
    )
    group.add_argument("--top-k", type=int, metavar="K", help="only the K most probable tokens, 0: all; default 50")
    group.add_argument("--seed", type=int, metavar="S", help="default: a different answer each time")


def _cache(options: argparse.Namespace) -> int:
    store = usual_store()
    if options.clear:
        count, num_bytes = clear(store)
        sys.stdout.write(f"Removed {count} models, {size(num_bytes)}, from {running(str(store.place))}\n")
    entries = store.entries()
    total = size(sum(entry.num_bytes for entry in entries))
    allowed = size(store.bound)
    sys.stdout.write(f"{len(entries)} models, {total} of at most {allowed}, in {running(str(store.place))}\n")
    return DONE


def _inspect(options: argparse.Namespace) -> int:
    settings = Settings(alpha=options.alpha, signal=options.signal, alignment=options.alignment, part=options.part)
    _check(options)
    trace = _trace(options)
    if trace.prompt_form == "templated":
        say("The prompt already contains this model's chat template, so none was applied.")
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
    _prompt(options)
    checked_options(_template_options(options))
    if _sampling(options) and options.answer is not None:
        message = "An answer given with --answer is not sampled; leave out --temperature, --top-p, --top-k and --seed."
        raise InvalidInput(message)
    if options.end and options.answer is None:
        message = "--end is only for an answer given with --answer. Leave it out; a generated answer ends by itself."
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

    with progress.status("Reading the model") as status:

        def show(done: int, total: int) -> None:
            status.update(f"Dequantising the weights, once for this file: {size(done)} of {size(total)}")

        lm = load_model(options.model, **model_options(options), on_progress=show)
    article = "an" if lm.kind == "instruct" else "a"
    facts = f"Loaded {article} {lm.kind} model of {lm.num_layers} layers with {lm.num_heads} heads."
    say(f"{facts} {about_weights(lm.quantisation, lm.dtype)}".rstrip())
    prompt, given = _prompt(options), _template_options(options)
    if options.answer is not None:
        return lm.read(prompt, options.answer, template_options=given, end=options.end)
    with progress.status("Generating") as status:

        def count(index: int, _id: int, _text: str) -> None:
            status.update(f"Generating: {index + 1} tokens")

        return lm.generate(
            prompt,
            max_new_tokens=options.max_new_tokens,
            template_options=given,
            last_row=True,
            on_token=count,
            **_sampling(options),
        )


def _prompt(options: argparse.Namespace) -> str | list[Message]:
    if options.system is None:
        return str(options.prompt)
    return [Message(role="system", content=options.system), Message(role="user", content=options.prompt)]


def _template_options(options: argparse.Namespace) -> dict[str, TemplateOption]:
    pairs = (option.partition("=")[::2] for option in options.template_option)
    return {name: option_value(text) for name, text in pairs}


def _sampling(options: argparse.Namespace) -> dict[str, Any]:
    """Arguments of `generate` for sampling; empty for greedy."""
    names = [field.name for field in fields(Sampling)]
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    return {"do_sample": True} | vars(Sampling(**given)) if given else {}
