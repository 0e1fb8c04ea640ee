"""`rauq inspect`: a scored answer drawn in a terminal, models, and their cache."""

import argparse
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rauq.arguments import Sampling
from rauq.checkpoints.store import BOUND_VARIABLE, PLACE_VARIABLE, clear, default_store
from rauq.cli.commands import (
    DONE,
    Parser,
    add_model_options,
    add_settings,
    add_stop_options,
    exit_code,
    model_options,
    named_model,
    option_of,
    say,
    settings_of,
    stop_texts,
)
from rauq.cli.models import add_models_command
from rauq.errors import InvalidInput
from rauq.labels import about_weights, number, running, size, token_labels
from rauq.layout import RAUQ_COMMAND
from rauq.scoring import report
from rauq.scoring.declaration import declared
from rauq.scoring.empty import EmptyAnswer, Remedy, as_question, empty_answer
from rauq.scoring.report import why_empty
from rauq.scoring.score import Measure, Score, score
from rauq.scoring.settings import Settings, changed, is_paper_setting
from rauq.scoring.surprisal import score_surprisal
from rauq.trace.attribution import Attribution, about_attribution, weight_name
from rauq.trace.messages import Message, TemplateOption, checked_options, option_value
from rauq.trace.trace import Trace

if TYPE_CHECKING:
    from rauq.model.language_model import LanguageModel

MARK = "*"
_PROMPT_CHARACTERS = 300
# One warm hue from strong to pale, black text readable on each. At 1 nat, confidence is 37 % of the reference's.
_SHADES = (
    (1.0, "black on #f2701d"),
    (0.5, "black on #fd9a4d"),
    (0.25, "black on #fdc086"),
    (0.1, "black on #fee6ce"),
)


class _Cell(NamedTuple):
    """One token with its number beneath, both padded to the same width."""

    token: str
    number: str
    style: str
    width: int


def draw(console: Console, trace: Trace, score: Score) -> None:
    """Print one answer with its tokens, selected heads and score."""
    if why_empty(trace, score.settings.part):
        for line in (_heading(trace), Text(), Text(report.sentence(trace, score))):
            console.print(line, soft_wrap=True)
        return
    collapse_point = report.collapse(trace, score)
    marked = collapse_point.token if collapse_point else None
    blocks = (
        _heading(trace),
        Text(),
        *token_strip(trace.pieces, score.collapse.tolist(), marked=marked, width=console.width),
        _legend("Surprisal" if score.by == "surprisal" else "Collapse of confidence"),
        Text(),
        heads_table(score, weight=weight_name(trace.attribution)),
        Text(),
        *map(Text, (*sentences(trace, score), *report.cautions(trace, score))),
    )
    for block in blocks:
        console.print(block, soft_wrap=isinstance(block, Text))


def token_strip(pieces: Sequence[bytes], values: Sequence[float], *, marked: int | None, width: int) -> Iterator[Text]:
    """Lines of tokens with their numbers beneath; colour encodes the number, and one token has a mark."""
    cells = [
        _cell(token, value, mark=index == marked)
        for index, (token, value) in enumerate(zip(token_labels(pieces), values, strict=True))
    ]
    for line in _lines(cells, width):
        yield Text(" ").join(Text(_padded(cell.token, cell.width), cell.style) for cell in line)
        yield Text(" ".join(_padded(cell.number, cell.width) for cell in line))


def heads_table(score: Score, *, weight: str = "attention") -> Table:
    """The selected head in each layer of the window, and the layer that gives the score; `weight` is what is meant."""
    table = Table(title="Selected heads", title_justify="left", title_style="bold", box=box.SIMPLE)
    for name in ("layer", "head", f"mean {weight}", "margin", "u_l"):
        table.add_column(name, justify="right")
    table.add_column("")
    for row in report.selected_heads(score):
        gives_score = row.layer == score.layer
        head = "none" if row.head is None else str(row.head)
        numbers = (_number(value) for value in (row.mean_attention, row.margin, row.layer_score))
        cells = (str(row.layer), head, *numbers, "gives the score" if gives_score else "")
        table.add_row(*cells, style="bold" if gives_score else "")
    return table


def sentences(trace: Trace, score: Score) -> Iterator[str]:
    """The score, its settings, and where confidence collapsed."""
    yield f"Uncertainty {_number(score.uncertainty)} (higher is more uncertain; for ranking, not a probability)."
    yield _settings(trace, score)
    yield report.sentence(trace, score)


def _settings(trace: Trace, score: Score) -> str:
    if score.by == "surprisal":
        return "Scored by the largest surprisal, since the model did not write the answer; --by rauq scores by RAUQ."
    settings = score.settings
    papers = "the paper's setting" if is_paper_setting(settings, trace.kind) else "not the paper's setting"
    said = dict.fromkeys(("signal", "alpha", "alignment", *changed(settings, trace.kind)))
    texts = (f"{name.replace('_', ' ')} {declared(Settings)[name].write(getattr(settings, name))}" for name in said)
    return f"S{', '.join(texts)[1:]}: {papers}."


def _heading(trace: Trace) -> Text:
    note = report.prompt_note(trace)
    chat = f", {note}" if note else ""
    return Text.assemble(
        (running(trace.model), "bold"),
        f" ({trace.kind}{chat})\n",
        *([f"{weights}\n"] if (weights := report.weights_of(trace)) else []),
        *([f"{weights}\n"] if (weights := about_attribution(trace.attribution, trace.dtype)) else []),
        *(part for message in trace.messages[:-1] for part in _said(message.role.capitalize(), message.text)),
        *_said("Prompt", trace.prompt),
        ("Answer ", "bold"),
        f"{running(trace.answer)} ({_count(len(trace.answer_ids), 'token')}, {report.ending(trace)})",
    )


def _said(who: str, what: str) -> tuple[tuple[str, str], str]:
    text = running(what)
    shown = text if len(text) <= _PROMPT_CHARACTERS else f"... {text[-_PROMPT_CHARACTERS:]}"
    return (f"{who} ", "bold"), f"{shown}\n"


def _legend(name: str) -> Text:
    swatches = [(f" from {edge:g} ", style) for edge, style in reversed(_SHADES)]
    return Text.assemble(f"{name} in nats: ", *swatches, f"  {MARK} the largest")


def _cell(token: str, value: float, *, mark: bool) -> _Cell:
    written = _number(value, places=2) + (MARK if mark else "")
    style = next((style for edge, style in _SHADES if value >= edge), "")
    return _Cell(token, written, style, max(cell_len(token), cell_len(written)))


def _lines(cells: Sequence[_Cell], width: int) -> Iterator[list[_Cell]]:
    line: list[_Cell] = []
    for cell in cells:
        if line and sum(other.width + 1 for other in line) + cell.width > width:
            yield line
            line = []
        line.append(cell)
    yield line


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _number(value: float, *, places: int = 3) -> str:
    return "undefined" if math.isnan(value) else number(value, places=places)


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = _parser().parse_args(arguments)
    return exit_code(partial(options.command, options), name="rauq")


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog=RAUQ_COMMAND, description="Score how uncertain a model is about its answer (RAUQ).")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    inspect = commands.add_parser(
        "inspect",
        help="answer a prompt, and show where confidence collapsed and which heads were selected",
        description="Answer a prompt, score the answer with RAUQ, and show its tokens and the selected heads.",
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
        help="atlas (embedded), a short name (see models), a folder, a GGUF file, a hub id or its address, "
        "organisation/model/file.gguf, or a model of Ollama or LM Studio; default atlas",
    )
    add_model_options(inspect)
    inspect.add_argument("--answer", metavar="TEXT", help="score this answer instead of generating one")
    inspect.add_argument("--end", action="store_true", help="with --answer: append the model's end token")
    inspect.add_argument("--max-new-tokens", type=int, default=128, metavar="N", help="default 128")
    _add_base_options(inspect)
    _add_sampling(inspect)
    add_settings(inspect)
    inspect.add_argument(
        "--by",
        choices=get_args(Measure),
        help="score by RAUQ, or by the largest surprisal of a name or number; default: the latter with --answer, "
        "unless a setting of RAUQ is given",
    )
    inspect.add_argument(
        "--attribution",
        choices=("lig",),
        help="use Layer Integrated Gradients in place of attention, in the middle layers: RAUQ (LIG), slow",
    )
    inspect.add_argument("--steps", type=int, metavar="S", help="with --attribution: points of the integral; default 8")
    inspect.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    inspect.add_argument("--save", type=Path, metavar="FILE", help="also save the trace, as .safetensors")
    add_models_command(commands)
    cache = commands.add_parser(
        "cache",
        help="list or clear the dequantised weights of GGUF files",
        description="List what is kept. Weights of GGUF files are dequantised once and kept. Environment variables: "
        f"{PLACE_VARIABLE} is the folder, {BOUND_VARIABLE} the most gigabytes to keep.",
    )
    cache.set_defaults(command=_cache)
    cache.add_argument("--clear", action="store_true", help="remove them")
    return parser


def _add_base_options(inspect: argparse.ArgumentParser) -> None:
    inspect.add_argument(
        "--question",
        action="store_true",
        help='for a base model: ask with the prompt "Question: PROMPT", and "Answer:" on the next line',
    )
    add_stop_options(inspect)


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
    store = default_store()
    if options.clear:
        count, num_bytes = clear(store)
        sys.stdout.write(f"Removed {count} models, {size(num_bytes)}, from {running(str(store.place))}\n")
    entries = store.entries()
    for entry in entries:
        last = datetime.fromtimestamp(entry.used, tz=UTC).date() if entry.used else "unfinished"
        sys.stdout.write(f"{size(entry.num_bytes):>10}  {last}  {running(entry.folder.name)}\n")
    total = size(sum(entry.num_bytes for entry in entries))
    allowed = size(store.bound)
    sys.stdout.write(f"{len(entries)} models, {total} of at most {allowed}, in {running(str(store.place))}\n")
    return DONE


def _inspect(options: argparse.Namespace) -> int:
    settings = settings_of(options)
    _check(options, settings)
    trace = _trace(options, settings)
    if options.save:
        trace.save(options.save)
    result = score_surprisal(trace) if _measure(options) == "surprisal" else score(trace, settings)
    if options.json:
        sys.stdout.write(json.dumps(report.as_json(trace, result), allow_nan=False) + "\n")
    else:
        draw(Console(highlight=False), trace, result)
    return DONE


def _measure(options: argparse.Namespace) -> Measure:
    """The measure asked for; else surprisal for a given answer, unless settings of RAUQ or LIG are given."""
    if options.by is not None:
        by: Measure = options.by
        return by
    return "surprisal" if options.answer is not None and not _has_settings(options) else "rauq"


def _has_settings(options: argparse.Namespace) -> bool:
    return options.attribution is not None or settings_of(options) != Settings()


def _check(options: argparse.Namespace, settings: Settings) -> None:
    """Check the options before the model loads."""
    if not options.prompt or options.answer == "":
        message = "The prompt and the answer must not be empty; give some text."
        raise InvalidInput(message)
    _prompt(options)
    checked_options(_template_options(options))
    if _sampling(options) and options.answer is not None:
        message = "An answer given with --answer is not sampled; leave out --temperature, --top-p, --top-k and --seed."
        raise InvalidInput(message)
    _check_stop(options)
    if options.end and options.answer is None:
        message = "--end is only for an answer given with --answer. Leave it out; a generated answer ends by itself."
        raise InvalidInput(message)
    _check_attribution(options, settings)
    if options.by == "surprisal" and _has_settings(options):
        message = (
            f"--by surprisal has no settings: leave out {', '.join(map(option_of, declared(Settings)))} and "
            "--attribution, or use --by rauq."
        )
        raise InvalidInput(message)
    if options.max_new_tokens < 1:
        message = f"--max-new-tokens is {options.max_new_tokens}; give 1 or more."
        raise InvalidInput(message)
    if options.save and (options.save.is_dir() or not options.save.parent.is_dir()):
        message = f"--save {options.save}: give a file in a folder that exists."
        raise InvalidInput(message)


def _check_stop(options: argparse.Namespace) -> None:
    if options.answer is not None and (options.stop is not None or options.no_stop):
        message = "An answer given with --answer ends where it ends; leave out --stop and --no-stop."
        raise InvalidInput(message)
    stop_texts(options)
    if options.question and options.system is not None:
        message = "--question is for a base model, and --system for a chat model. Leave one out."
        raise InvalidInput(message)


def _check_attribution(options: argparse.Namespace, settings: Settings) -> None:
    if options.steps is not None:
        if options.attribution is None:
            message = "--steps is only for --attribution lig. Add it, or leave out --steps."
            raise InvalidInput(message)
        Attribution(steps=options.steps)
    if options.attribution and settings.alignment == "own":
        message = "Attributions exist for --alignment predicting alone. Leave out --alignment own."
        raise InvalidInput(message)


def _trace(options: argparse.Namespace, settings: Settings) -> Trace:
    progress = Console(stderr=True, highlight=False)
    model_name = named_model(options.model)
    say(f"Loading {model_name.source} ...")
    from rauq.model.loading import load_model

    with progress.status("Reading the model") as status:

        def show(done: int, total: int) -> None:
            status.update(f"Dequantising the weights, once for this file: {size(done)} of {size(total)}")

        lm = load_model(model_name.source, revision=model_name.revision, **model_options(options), on_progress=show)
    _say_loaded(lm)
    trace = _answered(lm, options, progress)
    _advise(empty_answer(trace, settings.part, has_template=bool(lm.tokens.tokenizer.chat_template)))
    return trace if options.attribution is None else _attributed(lm, trace, options, progress)


_ADVICE: Mapping[Remedy, str] = MappingProxyType(
    {
        "question": "--question, which asks in the form that base models answer",
        "no_stop": "--no-stop, with which the answer continues",
        "more_tokens": "a larger --max-new-tokens",
        "base": "--kind base, if this is a base model",
        "instruct": "--kind instruct, if this is a chat model",
        "whole": "--part all, which scores the whole text as the answer",
    }
)


def _advise(found: EmptyAnswer | None) -> None:
    """Say with which options an empty answer may become one with text."""
    if found and (options := [_ADVICE[remedy] for remedy in found.remedies if remedy in _ADVICE]):
        say(f"The answer is empty. Try {', or '.join(options)}.")


def _say_loaded(lm: "LanguageModel") -> None:
    article = "an" if lm.kind == "instruct" else "a"
    facts = f"Loaded {article} {lm.kind} model of {lm.num_layers} layers with {lm.num_heads} heads."
    say(f"{facts} {about_weights(lm.quantisation, lm.dtype, lm.adapter, lm.engine.about)}".rstrip())


def _answered(lm: "LanguageModel", options: argparse.Namespace, progress: Console) -> Trace:
    prompt, given = _prompt(options), _template_options(options)
    if notes := lm.encode(prompt, template_options=given).notes:
        say(" ".join(notes))
    if options.answer is not None:
        return lm.read(prompt, options.answer, template_options=given, end=options.end)
    with progress.status("Generating") as status:

        def count(index: int, _id: int, _text: str) -> None:
            status.update(f"Generating: {index + 1} tokens")

        return lm.generate(
            prompt,
            max_new_tokens=options.max_new_tokens,
            stop=stop_texts(options),
            template_options=given,
            last_row=True,
            on_token=count,
            **_sampling(options),
        )


def _attributed(lm: "LanguageModel", trace: Trace, options: argparse.Namespace, progress: Console) -> Trace:
    """The same answer with LIG weights."""
    with progress.status("Attributing") as status:

        def show(done: int, total: int) -> None:
            status.update(f"Attributing: {done} of {total} backward passes")

        steps = {} if options.steps is None else {"steps": options.steps}
        found = lm.attribute(trace, **steps, on_progress=show)
    if found.attribution is not None and not found.attribution.is_complete:
        say(about_attribution(found.attribution, found.dtype))
    return found


def _prompt(options: argparse.Namespace) -> str | list[Message]:
    if options.system is None:
        return as_question(options.prompt) if options.question else str(options.prompt)
    return [Message(role="system", content=options.system), Message(role="user", content=options.prompt)]


def _template_options(options: argparse.Namespace) -> dict[str, TemplateOption]:
    pairs = (option.partition("=")[::2] for option in options.template_option)
    return {name: option_value(text) for name, text in pairs}


def _sampling(options: argparse.Namespace) -> dict[str, Any]:
    """Arguments of `generate` for sampling; empty for greedy."""
    names = [field.name for field in fields(Sampling)]
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    return {"do_sample": True} | vars(Sampling(**given)) if given else {}
