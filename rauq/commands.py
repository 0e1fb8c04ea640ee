"""What every command line of the project shares: exit codes, and one line for a known error instead of a traceback."""

import io
import sys
from collections.abc import Callable

from rauq.errors import InvalidInput, RauqError
from rauq.labels import running

DONE, KNOWN_ERROR, BAD_INPUT, STOPPED = 0, 1, 2, 130


def exit_code(command: Callable[[], int], *, name: str) -> int:
    """Run a command and return its exit code; errors are told under its name."""
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
