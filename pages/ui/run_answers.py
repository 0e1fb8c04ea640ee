"""One answer of a run, found by the run's name and the number of its example, and the way back to its answer set."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pages.ui import cache, links, runs_at_hand
from pages.ui.links import COLOUR, FROM, HEAD, NUMBER, RUN, TOKEN, WRONG
from rauq.labels import number as written
from rauq.trace import Trace

_PREFIX = f"{RUN}:"
_OF_ONE_ANSWER = (NUMBER, FROM, HEAD, TOKEN, COLOUR, WRONG)


@dataclass(frozen=True, eq=False)
class RunAnswer:
    """An answer of a run; `ref` names it among all answers, `note` says what is known of it."""

    ref: str
    trace: Trace
    note: str


def find(name: str, number: str) -> RunAnswer | None:
    """The answer to the example `number` of the run `name`; None where there is no such run or answer.

    Raises:
        RunError: the run, or the part of it that has this answer, cannot be read.
    """
    wanted, folder = links.number(number), runs_at_hand.folder(name)
    if wanted is None or folder is None:
        return None
    from analysis.runs import traces  # and pandas with it, only for those who look into a run

    run = cache.run(folder)
    rows = np.flatnonzero(run.answers["number"] == wanted)
    if not rows.size:
        return None
    row = int(rows[0])
    quality = float(run.answers["quality"].iloc[row])
    facts = np.flatnonzero(traces.fact_tokens(run, row))
    note = f"Answer {wanted} of the run {name}; quality {written(quality, places=2)}{_about(facts)}."
    return RunAnswer(ref=f"{_PREFIX}{name}:{wanted}", trace=traces.trace(run, row), note=note)


def find_by_ref(ref: str) -> RunAnswer | None:
    """The same by the name that it has among all answers."""
    name, _, number = ref.removeprefix(_PREFIX).rpartition(":")
    return find(name, number) if ref.startswith(_PREFIX) else None


def way_back(query: Mapping[str, str]) -> dict[str, str]:
    """URL parameters of the view of a run that led to an answer, out of those of Inspect."""
    return {name: value for name, value in query.items() if name not in _OF_ONE_ANSWER}


def _about(facts: np.ndarray) -> str:
    if not facts.size:
        return ""
    return f"; the fact stands at token{'' if facts.size == 1 else 's'} {', '.join(map(str, facts))}"
