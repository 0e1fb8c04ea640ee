"""How many of the most and the least uncertain answers are erroneous (paper, appendix on error analysis)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from analysis.answer_sets.best_and_worst import cuts_a_tie
from analysis.quality.judgement import Thresholds
from analysis.stats import is_defined
from rauq.errors import InvalidInput


@dataclass(frozen=True, eq=False, kw_only=True)
class End:
    """The answers at one end of a ranking, `rows` (n,) among those given, and how many of them are `erroneous`.

    `labels`: the kinds of error and how many of the erroneous answers are of each, "" for those without a label.
    """

    rows: np.ndarray
    erroneous: int
    labels: tuple[tuple[str, int], ...]

    @property
    def n(self) -> int:
        """How many answers there are."""
        return len(self.rows)

    @property
    def share(self) -> float:
        """Share of erroneous answers; nan where there is none at all."""
        return self.erroneous / self.n if self.n else float("nan")


@dataclass(frozen=True, eq=False, kw_only=True)
class ErrorAnalysis:
    """The ends of the ranking by one uncertainty, beside all `n` answers that have it and a quality.

    `excluded` others lack one. `drawn`: a seeded draw chose among answers of equal uncertainty. `reason` says why there
    are fewer than asked for at each end.
    """

    highest: End
    lowest: End
    all: End
    drawn: bool
    excluded: int
    reason: str


def error_analysis(
    uncertainty: np.ndarray,
    quality: np.ndarray,
    labels: Sequence[str],
    *,
    thresholds: Thresholds,
    most: int = 20,
    seed: int = 0,
) -> ErrorAnalysis:
    """Count the erroneous of the `most` highest and lowest uncertainties (A,): those not above `thresholds.roc`.

    The paper judged its answers by hand. `labels` (A,) are the kinds of error, "" where none is known.

    Raises:
        InvalidInput: `most` below 1.
    """
    if most < 1:
        message = f"most is {most}; it must be at least 1."
        raise InvalidInput(message)
    rows = np.flatnonzero(is_defined(uncertainty, quality))
    order = rows[np.lexsort((np.random.default_rng(seed).permutation(len(rows)), uncertainty[rows]))]
    size = min(most, len(rows) // 2)
    end = partial(_end, wrong=~(quality > thresholds.roc), labels=labels)
    return ErrorAnalysis(
        highest=end(order[len(order) - size :][::-1]),
        lowest=end(order[:size]),
        all=end(rows),
        drawn=any(cuts_a_tie(uncertainty[order], place) for place in (size, len(order) - size)),
        excluded=len(quality) - len(rows),
        reason="" if size == most else f"{len(rows)} answer{'s' * (len(rows) != 1)} with an uncertainty and a quality",
    )


def _end(rows: np.ndarray, *, wrong: np.ndarray, labels: Sequence[str]) -> End:
    erroneous = rows[wrong[rows]]
    found = Counter(labels[row] for row in erroneous)
    return End(rows=rows, erroneous=len(erroneous), labels=tuple(sorted(found.items())))
