"""How many answers are correct, incorrect, unclear, left out or without quality, and why: wherever that is said."""

from collections import Counter
from dataclasses import dataclass

import pandas as pd

from analysis.answer_sets.sides import sides
from analysis.quality.judgement import Thresholds
from analysis.quality.unclear import about_unclear

_MOST_REASONS = 3
_NO_REASON = "no reason was stored"


@dataclass(frozen=True, kw_only=True)
class Outcomes:
    """Numbers of answers by outcome, which sum to `answers`.

    `between`: quality between the thresholds. `unclear`: the rule did not decide, and nobody has read them.
    `left_out`: by the user. `undefined`: other answers without quality, by their reasons, the most frequent first.
    """

    answers: int
    correct: int
    incorrect: int
    between: int
    unclear: int = 0
    left_out: int = 0
    undefined: tuple[tuple[str, int], ...] = ()

    @property
    def without_quality(self) -> int:
        """Answers that are neither unclear nor left out and have no quality."""
        return sum(count for _, count in self.undefined)


def outcomes(answers: pd.DataFrame, thresholds: Thresholds) -> Outcomes:
    """Count the rows of a run's table, or of a part of it."""
    quality = answers["quality"].to_numpy(dtype=float)
    found, missing = sides(quality, thresholds), answers["quality"].isna()
    unclear = missing & answers["unclear"].astype(bool)
    left_out = missing & answers["corrected"].astype(bool)
    reasons = Counter(answers["quality_reason"][missing & ~unclear & ~left_out].replace("", _NO_REASON))
    return Outcomes(
        answers=len(answers),
        correct=int(found.correct.sum()),
        incorrect=int(found.incorrect.sum()),
        between=int((~missing).sum() - found.correct.sum() - found.incorrect.sum()),
        unclear=int(unclear.sum()),
        left_out=int(left_out.sum()),
        undefined=tuple(reasons.most_common()),
    )


def outcomes_in_words(found: Outcomes) -> str:
    """All numbers, with reasons: "814 answers: 204 correct, 539 incorrect, 71 without quality (71 no reference)"."""
    reasons = [f"{count:,} {reason}" for reason, count in found.undefined[:_MOST_REASONS]]
    reasons += _if_any((sum(count for _, count in found.undefined[_MOST_REASONS:]), "for other reasons"))
    why = f" ({'; '.join(reasons)})" if reasons else ""
    return f"{counts_in_words(found)}{why}"


def counts_in_words(found: Outcomes) -> str:
    """All numbers: "814 answers: 204 correct, 539 incorrect, 71 without quality"."""
    parts = [f"{found.correct:,} correct", f"{found.incorrect:,} incorrect"]
    parts += _if_any((found.between, "between"), (found.unclear, "unclear"), *_unjudged(found))
    return f"{_answers(found.answers)}: {', '.join(parts)}"


def about_outcomes(
    found: Outcomes,
    thresholds: Thresholds,
    *,
    filtered_out: int = 0,
    failed: int = 0,
    can_move_thresholds: bool = True,
) -> str:
    """How many answers a view uses, by which thresholds, and how many others it leaves out."""
    parts = [
        f"{found.correct:,} correct (quality above {thresholds.correct:g})",
        f"{found.incorrect:,} incorrect (below {thresholds.incorrect:g})",
        *_if_any((found.between, "between"), *_unjudged(found)),
    ]
    besides = _if_any((filtered_out, "filtered out"), (failed, "failed"))
    others = f" Not shown: {', '.join(besides)}." if besides else ""
    one_sided = can_move_thresholds and found.between and not (found.correct and found.incorrect)
    what_to_do = " Change the thresholds to get answers on both sides." if one_sided else ""
    unread = f" {about_unclear(found.unclear)}" if found.unclear else ""
    return f"n = {_answers(found.answers)}: {', '.join(parts)}.{unread}{others}{what_to_do}"


def _answers(count: int) -> str:
    return f"{count:,} answer{'' if count == 1 else 's'}"


def _unjudged(found: Outcomes) -> tuple[tuple[int, str], ...]:
    return (found.left_out, "left out by hand"), (found.without_quality, "without quality")


def _if_any(*numbers: tuple[int, str]) -> list[str]:
    """Numbers with what they count, without those that are 0."""
    return [f"{count:,} {name}" for count, name in numbers if count]
