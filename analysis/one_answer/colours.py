"""How strongly a token is coloured by what its answer is scored by: the same in the app and in the report."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from rauq.scoring.score import Measure

_SWATCHES = (0.0, 0.25, 0.75, 1.5, 3.0)  # as multiples of the scale


class Colouring(NamedTuple):
    """What the colour of a token shows: its name, its title, and its scale, the nats of a strength of 1 - 1/e."""

    name: str
    title: str
    scale: float

    def level(self, value: float) -> float:
        """Strength of the colour, from 0 to 1, at a value in nats; 0 where it is undefined."""
        return 0.0 if math.isnan(value) else 1 - math.exp(-max(value, 0.0) / self.scale)

    @property
    def swatches(self) -> tuple[tuple[float, float], ...]:
        """The values of a legend, in nats, and their strengths."""
        return tuple((share * self.scale, self.level(share * self.scale)) for share in _SWATCHES)


COLOURINGS: Mapping[Measure, Colouring] = MappingProxyType(
    {
        "rauq": Colouring("collapse", "Collapse, in nats", 1.0),
        "surprisal": Colouring("surprisal", "Surprisal of names and numbers, in nats", 3.0),
    }
)
"""By RAUQ, the level is the share of the reference's confidence that is lost. Surprisals are larger than collapses."""
