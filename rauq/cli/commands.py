"""What every command line of the project shares: the choice of a model, exit codes, and one line for a known error."""

import argparse
import io
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NoReturn

from rauq.checkpoints.kinds import AUTO, DTYPES, KINDS
from rauq.checkpoints.names import ModelName, read_name
from rauq.errors import InvalidInput, RauqError
from rauq.labels import ENGINES, running
from rauq.scoring.declaration import Heads, Layers, Setting, Share, declared
from rauq.scoring.settings import Settings

_ESCAPES = MappingProxyType({"n": "\n", "r": "\r", "t": "\t", "\\": "\\"})

DONE, KNOWN_ERROR, BAD_INPUT, STOPPED = 0, 1, 2, 130


class Parser(argparse.ArgumentParser):
    """A parser for which a text may begin with a dash: after an option that takes a value, and as a single argument.

    What is an option of this parser stays one, so that a forgotten value is an error. `--answer=TEXT` takes any text,
    and after `--` everything is text.
    """

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # noqa: ANN401 - as of argparse
        """As of argparse."""
        given = list(sys.argv[1:] if args is None else args)
        found, others = super().parse_known_args(list(self._with_texts(given)), namespace)
        if others and others[0].startswith("--") and any(action.metavar == "PROMPT" for action in self._actions):
            self.error(f"unrecognized arguments: {' '.join(others)}. If this is the prompt, put it last, after --")
        return found, others

    def error(self, message: str) -> NoReturn:
        """As of argparse, with how to give a text that looks like an option."""
        if (option := self._lacks_text(message)) is not None:
            message = f"{message}; a text that begins like an option needs =, as in {option}=--TEXT"
        super().error(message)

    def _lacks_text(self, message: str) -> str | None:
        """The option of which argparse says that its value is missing, if that is a text."""
        found = re.fullmatch(r"argument (\S+): expected one argument", message)
        of_text = (action for action in self._actions if action.metavar == "TEXT" and action.option_strings)
        names = {"/".join(action.option_strings): action.option_strings[-1] for action in of_text}
        return names.get(found[1]) if found else None

    def _with_texts(self, given: Sequence[str]) -> Iterator[str]:
        """The arguments with each value joined to its option, and texts with a dash at the end, after `--`."""
        end = given.index("--") if "--" in given else len(given)
        before, texts = list(given[:end]), []
        while before:
            argument = before.pop(0)
            if before and self._takes_value(argument) and self._is_text(before[0]):
                yield f"{argument}={before.pop(0)}"
            elif self._is_text(argument) and not argument.startswith("--") and self._subparsers is None:
                texts.append(argument)
            else:
                yield argument
        if texts or end < len(given):
            yield from ("--", *texts, *given[end + 1 :])

    def _takes_value(self, argument: str) -> bool:
        """Whether an argument is an option with one value, in full or abbreviated."""
        named = {name: action for action in self._actions for name in action.option_strings if name.startswith("--")}
        found = [argument] if argument in named else [name for name in named if name.startswith(argument)]
        return argument.startswith("--") and len(found) == 1 and named[found[0]].nargs is None

    def _is_text(self, argument: str) -> bool:
        """Whether an argument begins with a dash without being an option, or the beginning of one."""
        word = argument.partition("=")[0]
        known = [name for action in self._actions for name in action.option_strings]
        return len(argument) > 1 and argument[0] == "-" and not any(name.startswith(word) for name in known)


def add_model_options(parser: argparse._ActionsContainer) -> None:
    """Add the options of loading, which are None where they are not given; `model_options` reads them."""
    parser.add_argument("--device", metavar="D", help="auto (default: a GPU if there is one), cpu, mps, cuda or cuda:N")
    parser.add_argument(
        "--device-map",
        choices=(AUTO,),
        help="auto: for a model larger than a device, fill GPUs, then main memory, then leave the rest on the disk",
    )
    parser.add_argument(
        "--dtype", choices=DTYPES, help="precision; default auto: float32 on the CPU, else what the checkpoint has"
    )
    parser.add_argument(
        "--engine",
        choices=(AUTO, *ENGINES),
        help="what runs a GGUF file: transformers, or llama.cpp, which is faster and takes less memory; default auto: "
        "llama.cpp above 1 GB, if it is installed",
    )
    parser.add_argument(
        "--kind", choices=KINDS, help="kind of the model; default auto: by the paper's list, name and chat template"
    )


def model_options(options: argparse.Namespace) -> dict[str, Any]:
    """The options of loading as `rauq.load_model` takes them."""
    kind = None if options.kind == AUTO else options.kind
    how = {"device": options.device or AUTO, "device_map": options.device_map, "dtype": options.dtype or AUTO}
    engine = None if options.engine == AUTO else options.engine
    return {**how, "kind": kind, "engine": engine}


def named_model(name: str, *, revision: str | None = None) -> ModelName:
    """What a model's name means, which is said where it is read otherwise than as it was typed.

    Raises:
        ModelNotFound, InvalidInput: as of `rauq.checkpoints.names.read_name`.
    """
    model_name = read_name(name, revision=revision)
    if note := model_name.note(name):
        say(note)
    return model_name


def add_stop_options(parser: argparse._ActionsContainer) -> None:
    """Add the options of stop strings, which `stop_texts` reads."""
    stops = parser.add_mutually_exclusive_group()
    stops.add_argument(
        "--stop",
        action="append",
        metavar="TEXT",
        help="end the answer after this text, in which \\n is a line break; may be repeated; default: \\n for a base "
        "model, none for an instruct model",
    )
    stops.add_argument("--no-stop", action="store_true", default=None, help="end the answer after no text")


def stop_texts(options: argparse.Namespace) -> tuple[str, ...] | None:
    """The stop strings that were given, with their escapes read; None: those of the kind of model.

    Raises:
        InvalidInput: one is empty.
    """
    if options.stop is None:
        return () if options.no_stop else None
    if "" in options.stop:
        message = "--stop is empty; give a text, or --no-stop for none."
        raise InvalidInput(message)
    return tuple(re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[0]), text) for text in options.stop)


def add_settings(parser: argparse._ActionsContainer, of: type[Settings] = Settings) -> None:
    """Add an option for each setting of RAUQ, which is None where it is not given; `settings_of` reads them."""
    for name, setting in declared(of).items():
        usual = "the paper's" if setting.optional else getattr(of(), name)
        about = f"{setting.about} Default {usual}.".replace("%", "%%")
        parser.add_argument(option_of(name), help=about, **_kind(setting))


def settings_of(options: argparse.Namespace, of: type[Settings] = Settings) -> Settings:
    """The settings that the options give.

    Raises:
        InvalidInput: one is not allowed.
    """
    given = {name: getattr(options, name) for name in declared(of)}
    return of(**{name: value for name, value in given.items() if value is not None})


def option_of(name: str) -> str:
    """The option of a setting."""
    return f"--{name.replace('_', '-')}"


_AS_TEXT: Mapping[type, str] = MappingProxyType({Layers: "3.4.5", Heads: "3-0.4-2"})


def _kind(setting: Setting) -> dict[str, Any]:
    """What argparse takes for the values of a setting; layers and heads are written as in a link of the app."""
    match setting:
        case Share():
            return {"type": float, "metavar": "X"}
        case Layers() | Heads():
            return {"type": partial(_read, setting), "metavar": "|".join((*setting.names, _AS_TEXT[type(setting)]))}
        case _:
            return {"choices": setting.names}


def _read(setting: Setting, text: str) -> object:
    value = setting.read(text)
    if value is None:
        message = f"got {text!r}; choose {', '.join(setting.names)}, or name them as {_AS_TEXT[type(setting)]}"
        raise argparse.ArgumentTypeError(message)
    return value


def exit_code(command: Callable[[], int], *, name: str) -> int:
    """Run a command and return its exit code; errors are printed after its name."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a character shows its escape
    try:
        return command()
    except RauqError as error:
        say(f"{name}: {error}")
        return BAD_INPUT if isinstance(error, InvalidInput) else KNOWN_ERROR
    except KeyboardInterrupt:
        say(f"{name}: stopped.")
        return STOPPED


def say(message: str) -> None:
    """Write one line to standard error; nothing in it can move the cursor."""
    sys.stderr.write(f"{running(message)}\n")
