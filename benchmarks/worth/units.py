"""Labelled answers or tokens with RAUQ, RAUQ under other attention, MSP, entropy and RAUQ + heads."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from analysis.methods.added_heads import Candidates, added_scores
from analysis.survival.labelled import LabelledUnits

NUM_HEADS = 5


@dataclass(frozen=True, eq=False, kw_only=True)
class Units:
    """U labelled answers or tokens with their scores (U,), higher where it is expected to be incorrect.

    `shuffled` (S, U): RAUQ under the attention of another answer. `heads`: RAUQ + heads; None where there is none.
    """

    given: LabelledUnits
    rauq: np.ndarray
    shuffled: np.ndarray
    msp: np.ndarray
    entropy: np.ndarray
    heads: np.ndarray | None

    @property
    def have_all(self) -> np.ndarray:
        """Which units (U,) have every score."""
        scores = [self.rauq, *self.shuffled, self.msp, self.entropy]
        return np.asarray(np.isfinite(scores if self.heads is None else [*scores, self.heads]).all(axis=0))

    def take(self, rows: np.ndarray) -> "Units":
        """Those of these rows."""
        arrays: Any = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "given"}
        taken: Any = {name: None if values is None else values[..., rows] for name, values in arrays.items()}
        return Units(given=self.given.take(rows), **taken)


def heads_of(chosen: Candidates) -> np.ndarray | None:
    """RAUQ + heads (A,); None where there are no groups to choose heads on."""
    scores = added_scores(chosen, k=NUM_HEADS)
    return scores if np.isfinite(scores).any() else None
