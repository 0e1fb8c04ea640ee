"""The models that a host offers, as RAUQ_MODELS lists them: a folder or file under the last part of its path alone.

The short name is all that a trace, a run or a link says of it, so that no path of the host is shown to its visitors.
"""

import os
from collections.abc import Mapping
from itertools import count
from pathlib import Path

from rauq.checkpoints.folders import looks_like_path
from rauq.checkpoints.named import NAMED_MODELS

MODELS_VARIABLE = "RAUQ_MODELS"
_OWN_NAMES = ("atlas", *(model.name for model in NAMED_MODELS))  # which stand for the same weights everywhere


def offered_models() -> tuple[str, ...]:
    """The names of the models on the list, in its order."""
    return tuple(_offered())


def place_of(name: str) -> str:
    """The folder or file behind a name of the list; any other name as it is."""
    return _offered().get(name, name)


def _offered() -> Mapping[str, str]:
    """What each name stands for."""
    listed = dict.fromkeys(entry.strip() for entry in os.environ.get(MODELS_VARIABLE, "").split(","))
    found: dict[str, str] = {}
    for entry in filter(None, listed):
        path = os.path.expanduser(entry)  # noqa: PTH111 - a Path would change the name of a hub model
        is_path = looks_like_path(entry) or (entry not in _OWN_NAMES and os.path.exists(path))  # noqa: PTH110 - the same
        found[_free_name(Path(path).name, found) if is_path else entry] = path
    return found


def _free_name(name: str, taken: Mapping[str, str]) -> str:
    """The name, or one with a number where it stands for another model."""
    names = (f"{name}-{number}" if number > 1 else name for number in count(1))
    return next(free for free in names if free not in taken and free not in _OWN_NAMES)
