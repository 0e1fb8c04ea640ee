"""The answers of a run that a page looks at, and where the others are."""

from dataclasses import dataclass

import numpy as np

from analysis.answer_sets.sides import Sides
from analysis.answer_sets.sides import sides as sides_of
from analysis.quality.judgement import Thresholds
from analysis.runs.opened import Run


@dataclass(frozen=True, eq=False, kw_only=True)
class ChosenAnswers:
    """n answers of the run `name`: `rows` (n,) of its table.

    `page` is the address of the page that looks at them: Inspect leads back there.
    """

    page: str
    name: str
    run: Run
    rows: np.ndarray
    thresholds: Thresholds
    can_move_thresholds: bool = True

    @property
    def sides(self) -> Sides:
        """Which of the n answers are correct, and which incorrect."""
        return sides_of(self.quality, self.thresholds)

    @property
    def quality(self) -> np.ndarray:
        """Quality (n,), nan where undefined."""
        return self.column_of("quality")

    def column_of(self, name: str) -> np.ndarray:
        """A column of the run's table for these answers (n,)."""
        return np.asarray(self.run.answers[name])[self.rows]


@dataclass(frozen=True, kw_only=True)
class Counts:
    """How many answers there are, and where they went; `undefined` have no quality."""

    answers: int
    correct: int
    incorrect: int
    between: int
    undefined: int
    filtered_out: int
    failed: int


def counts(chosen: ChosenAnswers) -> Counts:
    """Count the answers of the run by what became of them."""
    correct, incorrect = int(chosen.sides.correct.sum()), int(chosen.sides.incorrect.sum())
    undefined = int(np.isnan(chosen.quality).sum())
    return Counts(
        answers=len(chosen.rows),
        correct=correct,
        incorrect=incorrect,
        between=len(chosen.rows) - correct - incorrect - undefined,
        undefined=undefined,
        filtered_out=len(chosen.run.answers) - len(chosen.rows),
        failed=len(chosen.run.failures),
    )


def about_counts(found: Counts, thresholds: Thresholds, *, can_move_thresholds: bool = True) -> str:
    """How many answers are behind a view, and where the others are."""
    sides = [
        f"{found.correct:,} correct (quality above {thresholds.correct:g})",
        f"{found.incorrect:,} incorrect (below {thresholds.incorrect:g})",
    ]
    rest = _if_any(("between", found.between), ("without quality", found.undefined))
    besides = _if_any(("filtered out", found.filtered_out), ("failed", found.failed))
    others = f" Besides: {', '.join(besides)}." if besides else ""
    one_sided = can_move_thresholds and found.between and not (found.correct and found.incorrect)
    what_to_do = " Other thresholds put more of them on either side." if one_sided else ""
    n = f"n = {found.answers:,} answer{'' if found.answers == 1 else 's'}"
    return f"{n}: {', '.join([*sides, *rest])}.{others}{what_to_do}"


def _if_any(*numbers: tuple[str, int]) -> list[str]:
    """Numbers with what they count; what does not occur is not said."""
    return [f"{count:,} {name}" for name, count in numbers if count]
