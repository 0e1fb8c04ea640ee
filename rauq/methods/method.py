"""What a method is: a row of the table, the evidence that it looks at, and the number that it gives."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Self

from rauq.judges.judges import Judges
from rauq.settings import Settings
from rauq.trace import Extra, Trace

Need = Literal["samples", "nli", "similarity", "idf", "keywords", "facts", "held_out"]
Family = Literal["one generation", "samples", "ablation"]
Direction = Literal["higher is less sure"]


class Uncertainty(float):
    """A number, and where it is nan the reason why."""

    reason: str

    def __new__(cls, value: float, reason: str = "") -> Self:
        """Make a number of it; `reason` is empty where the value is defined."""
        made = super().__new__(cls, value)
        made.reason = reason
        return made


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """What a method may look at: the greedy answer, the samples that are not empty, the judges.

    `question`: the prompt without its worked examples, for methods that put it before an answer.
    """

    trace: Trace
    samples: tuple[Trace, ...] = ()
    judges: Judges = field(default_factory=Judges)
    question: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Method:
    """A row of the table.

    `needs`: what it asks for besides the greedy answer; `extras`: arrays that the greedy trace must have captured, and
    `sample_extras` each sample. `cost`: forward passes beyond the greedy answer, in words, with K samples of N tokens.
    `settings`: those of RAUQ and of its ablations, which `score_many` computes; else None. `source`: where it is from.
    """

    id: str
    name: str
    family: Family
    compute: Callable[[Evidence], Uncertainty]
    source: str
    cost: str
    needs: frozenset[Need] = frozenset()
    extras: tuple[Extra, ...] = ()
    sample_extras: tuple[Extra, ...] = ()
    settings: Settings | None = None
    direction: Direction = "higher is less sure"
