"""Mean quality of what several methods keep as they reject, over the same answers, so that they share an oracle."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis.stats import RejectionCurve, is_defined, rejection_curve


@dataclass(frozen=True, eq=False, kw_only=True)
class Rejections:
    """A curve for each of M methods, by id, over the `n` answers that all of them and quality are defined for.

    `excluded` other answers lack one of them.
    """

    methods: tuple[str, ...]
    curves: tuple[RejectionCurve, ...]
    n: int
    excluded: int


def rejections(uncertainties: Mapping[str, np.ndarray], quality: np.ndarray) -> Rejections:
    """Reject by each of the uncertainties (A,) of the same answers, up to all but one."""
    kept = np.all([is_defined(one, quality) for one in uncertainties.values()], axis=0)
    return Rejections(
        methods=tuple(uncertainties),
        curves=tuple(rejection_curve(one[kept], quality[kept]) for one in uncertainties.values()),
        n=int(kept.sum()),
        excluded=int((~kept).sum()),
    )
