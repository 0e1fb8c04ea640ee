"""The labelled answers that a supervised method learns from: of both classes, with known features and quality."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.detectors.fit import LEAST
from rauq.errors import InvalidInput


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainingSet:
    """n answers: `features` (n, K), `quality` (n,), and which are `correct` (n,)."""

    features: np.ndarray
    quality: np.ndarray
    correct: np.ndarray

    def take(self, rows: np.ndarray) -> "TrainingSet":
        """The answers of these rows alone."""
        return TrainingSet(features=self.features[rows], quality=self.quality[rows], correct=self.correct[rows])


def usable(features: Sequence[np.ndarray], quality: np.ndarray) -> np.ndarray:
    """Which of A answers can be learned from: those whose quality is known and all of whose features are: (A,) bool."""
    known = [bool(np.isfinite(one).all()) for one in features]
    return np.isfinite(quality) & np.array(known, dtype=bool)


def training_set(features: Sequence[np.ndarray], quality: np.ndarray, *, threshold: float) -> TrainingSet:
    """The usable ones of A answers with features (K,) each; correct are those whose quality is above `threshold`.

    Raises:
        InvalidInput: features differ in shape, or fewer than LEAST usable answers of a class are there.
    """
    rows = np.flatnonzero(usable(features, quality))
    used, correct = [features[row] for row in rows.tolist()], quality[rows] > threshold
    check_classes(correct)
    if len(shapes := {one.shape for one in used}) > 1:
        message = f"Got features of shapes {', '.join(map(str, sorted(shapes)))}. Train on answers of one model."
        raise InvalidInput(message)
    return TrainingSet(features=np.stack(used), quality=quality[rows], correct=correct)


def check_classes(correct: np.ndarray) -> None:
    """Check that there are enough correct and enough incorrect ones among the answers (n,) to learn from.

    Raises:
        InvalidInput: fewer than LEAST of a class.
    """
    right = int(np.count_nonzero(correct))
    wrong = len(correct) - right
    if min(right, wrong) < LEAST:
        message = (
            f"Got {right:,} correct and {wrong:,} incorrect answers with known features and quality, and training "
            f"needs at least {LEAST} of each. Train on more answers, or on another data set."
        )
        raise InvalidInput(message)
