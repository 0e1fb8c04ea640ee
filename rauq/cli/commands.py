"""What every command line of the project shares: the choice of a model, exit codes, and one line for a known error."""

import argparse
import io
import sys
from collections.abc import Callable
from typing import Any

from rauq.checkpoints.kinds import AUTO, DTYPES, KINDS
from rauq.errors import InvalidInput, RauqError
from rauq.labels import running

DONE, KNOWN_ERROR, BAD_INPUT, STOPPED = 0, 1, 2, 130


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
        "--kind", choices=KINDS, help="kind of the model; default auto: by the paper's list, name and chat template"
    )


def model_options(options: argparse.Namespace) -> dict[str, Any]:
    """The options of loading as `rauq.load_model` takes them."""
    kind = None if options.kind == AUTO else options.kind
    how = {"device": options.device or AUTO, "device_map": options.device_map, "dtype": options.dtype or AUTO}
    return {**how, "kind": kind}


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
