"""The methods of the user's own that a command names: `--methods my_module:my_method`."""

import re
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

from analysis.runs.own import MOST_SECONDS, Own, OwnMethod, collected, note_of
from rauq.errors import InvalidInput
from rauq.layout import is_hosted
from rauq.methods.method import Method

_WORD = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)


def words_of(options: Sequence[str] | None) -> tuple[str, ...]:
    """What --methods names, each once; names are separated by spaces or commas."""
    return tuple(dict.fromkeys(word for option in options or () for word in option.split(",") if word))


def is_own(word: str) -> bool:
    """Whether a word names a method of the user's own."""
    return ":" in word and "=" not in word


def load_own(words: Sequence[str], *, seconds: float | None = None) -> Own:
    """Import the methods of the user's own among these words, since its user names them in this command.

    Python finds a module as any other; the command line, run as a module, looks into the current folder first. What a
    run's manifest names is never imported.

    Raises:
        InvalidInput: a host, a word that is not module:attribute, a module that is not found or fails, or an attribute
            that is missing, no `rauq.Method`, or none that a run can have.
    """
    own = [word for word in words if is_own(word)]
    if own and is_hosted():
        message = f"A host imports no methods: leave {own[0]} out."
        raise InvalidInput(message)
    return collected([_own_method(word) for word in own], seconds=MOST_SECONDS if seconds is None else seconds)


def _own_method(word: str) -> tuple[Method, OwnMethod]:
    name, _, attribute = word.partition(":")
    if not _WORD.fullmatch(word) or name.endswith(".py"):
        message = (
            f"Got the method {word!r}; give module:attribute, such as my_module:my_method for my_method in "
            "my_module.py, and run the command in the folder of that file."
        )
        raise InvalidInput(message)
    module = _imported(name)
    method = vars(module).get(attribute)
    if method is None:
        there = [key for key, value in vars(module).items() if isinstance(value, Method)]
        message = f"{name} has no {attribute}; its methods are {', '.join(there) or 'none'}."
        raise InvalidInput(message)
    note = note_of(method, module=word, content=_content(module))
    return method, note


def _imported(name: str) -> ModuleType:
    """The module as Python finds it, or else in the current folder, where a script that pip installed does not look."""
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        return import_module(name)
    except (Exception, SystemExit) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and f"{name}.".startswith(f"{missing}."):
            message = f"No module {name!r} in {Path.cwd()} or among the installed ones. Run the command in its folder."
        else:
            message = (
                f"{name} cannot be imported ({type(error).__name__}: {error}). Correct it; python {name}.py runs it."
            )
        raise InvalidInput(message) from error


def _content(module: ModuleType) -> bytes | None:
    """The bytes of its file; None where it has none."""
    try:
        return Path(module.__file__ or "").read_bytes()
    except (OSError, AttributeError):
        return None
