"""How a cache tells one run from another, for results of its arrays alone or of its verdicts too."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analysis.runs.opened import Run

_RUN = "analysis.runs.opened.Run"


def _arrays(run: "Run") -> tuple[object, ...]:
    """Shards never change once they are written."""
    return str(run.folder), run.manifest.created, tuple((shard.number, shard.size) for shard in run.shards)


def _verdicts(run: "Run") -> tuple[object, ...]:
    """The same, and the verdicts that the user corrected."""
    corrected = run.answers.loc[run.answers["corrected"], ["number", "quality"]]
    return *_arrays(run), corrected.to_numpy(dtype=float).tobytes()


BY_ARRAYS: Mapping[str | type[Any], Callable[[Any], Any]] = MappingProxyType({_RUN: _arrays})
BY_VERDICTS: Mapping[str | type[Any], Callable[[Any], Any]] = MappingProxyType({_RUN: _verdicts})
