"""Messages for visitors of a host, without the folders of its machine.

Only paths below known folders are cut, since a message may quote a visitor's own text, such as a prompt with /usr/bin.
"""

import os
import re
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pages.ui.host import hosting
from rauq.checkpoints.named import offered_models, place_of

_ROOT = Path(__file__).parents[3]
# Variables that name folders of runs and models; the current folder and that of the user hold the usual ones.
_VARIABLES = ("RAUQ_RUNS", "RAUQ_CACHE", "HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME", "OLLAMA_MODELS", "LLAMA_CACHE")
_REST = r"(?P<rest>(?:/[^\s/'\"`()\[\]{}<>|;:,]+)*)/?"


def without_folders(text: str) -> str:
    """Return a message as it may be shown: on a host, a path of its machine is its last part alone."""
    if not hosting.is_hosted():
        return text
    folders = "|".join(map(re.escape, sorted(set(_folders()), key=len, reverse=True)))
    return re.sub(rf"(?<![\w.~])(?P<folder>{folders})(?![\w-]){_REST}", _last_part, text)


def _last_part(path: re.Match[str]) -> str:
    return (path["folder"] + path["rest"]).rpartition("/")[2]


def _folders() -> Iterator[str]:
    """Yield the known folders as they are written, and as they are behind links; never the root of all."""
    for folder in _known():
        for written in (folder, folder.absolute(), folder.resolve()):
            if len(written.parts) > 1 and written.is_absolute():
                yield str(written)


def _known() -> Iterator[Path]:
    yield from (_ROOT, Path(tempfile.gettempdir()))
    yield from (Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib"))
    if sys.prefix != sys.base_prefix:  # else it may be /usr
        yield Path(sys.prefix)
    with suppress(RuntimeError, OSError):  # a user without a home, a current folder that was deleted
        yield from (Path.home(), Path.cwd())
    yield from (Path(place).expanduser() for name in _VARIABLES if (place := os.environ.get(name)))
    for model in map(Path, map(place_of, offered_models())):
        if model.is_absolute():
            yield from (model, model.parent)
