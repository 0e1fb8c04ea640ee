"""What the fits of supervised detectors share: labelled training answers that are checked, and their folds and halves.

A answers have features, each an array with its own number of tokens N, and a quality (A,) in [0, 1].
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from analysis.detectors.fit import LEAST
from rauq.errors import InvalidInput

SEED = 42  # the reference's, of networks and halves
_NUM_FOLDS, _FOLD_SEED = 5, 1  # the reference's, of every search


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
    require_both(correct, "The detector", "the training answers")
    if len(shapes := {one.shape for one in used}) > 1:
        message = f"Got features of shapes {', '.join(map(str, sorted(shapes)))}. Train on answers of one model."
        raise InvalidInput(message)
    return TrainingSet(features=np.stack(used), quality=quality[rows], correct=correct)


def check_training_set(
    features: Sequence[np.ndarray], quality: np.ndarray, *, threshold: float, token_axis: int, method: str
) -> np.ndarray:
    """Which answers are correct (A,): their quality is above the threshold.

    Raises:
        InvalidInput: numbers that are not finite, features that differ in more than the number of tokens, a quality
            outside [0, 1], or too few correct or incorrect answers.
    """
    _require(len(features) == len(quality), method, f"{len(features)} features for {len(quality)} qualities")
    fits = bool(np.isfinite(quality).all()) and quality.min(initial=0) >= 0 and quality.max(initial=1) <= 1
    _require(fits, method, "a quality is not a number from 0 to 1")
    shapes = {tuple(np.delete(one.shape, token_axis)) for one in features}
    _require(len(shapes) <= 1, method, "features of some answers have another shape, as of another model")
    _require(all(bool(np.isfinite(one).all()) for one in features), method, "some features hold nan or infinity")
    correct: np.ndarray = quality > threshold
    require_both(correct, method, "the training answers")
    return correct


def require_both(correct: np.ndarray, method: str, part: str) -> None:
    """Refuse training answers with fewer than `LEAST` of either class.

    Raises:
        InvalidInput: `part` has too few; the message says how many.
    """
    right, wrong = int(correct.sum()), int((~correct).sum())
    _require(min(right, wrong) >= LEAST, method, f"{part} have {right} correct and {wrong} incorrect ones")


def folds(size: int) -> np.ndarray:
    """The fold (A,) of each answer, shuffled: scikit-learn's KFold, as the reference has it."""
    from sklearn.model_selection import KFold

    found = np.empty(size, dtype=np.int64)
    splits = KFold(_NUM_FOLDS, shuffle=True, random_state=_FOLD_SEED).split(found)
    for number, (_, rows) in enumerate(splits):
        found[rows] = number
    return found


def halves(size: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The answers of two random halves: scikit-learn's train_test_split, as the reference has it."""
    from sklearn.model_selection import train_test_split

    first, second = train_test_split(np.arange(size), test_size=0.5, random_state=seed)
    return first, second


@contextmanager
def reproducible(seed: int) -> Iterator[None]:
    """Seed torch, and let it use one thread: the order of sums depends on their number. Both are put back after."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(threads)


def _require(fits: bool, method: str, got: str) -> None:  # noqa: FBT001 - a condition, as of an assertion
    if not fits:
        message = (
            f"{method} cannot be fitted: {got}. Give answers of one model with finite features, at least {LEAST} "
            "correct and as many incorrect ones."
        )
        raise InvalidInput(message)
