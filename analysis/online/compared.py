"""What alarms stop in a run, score by score, and the threshold that a monitor would take from it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.answer_sets.sides import Sides, sides
from analysis.online.alarms import SPLITS, Alarms, Share, alarms, least_correct, thresholds, weights_of, with_interval
from analysis.online.curves import Curves, OnlineScore, curves
from analysis.quality.measures import measure
from analysis.runs.attention import batch
from analysis.runs.opened import Run
from rauq.errors import InvalidInput
from rauq.trace.batch import Answers

RAUQ: OnlineScore = "rauq"
COMPARED: tuple[OnlineScore, ...] = (RAUQ, "mean_entropy", "mean_logprob", "token_entropy", "num_tokens")
STATED = 0.1
"""The false-alarm rate that sentences give: the share of correct answers that may be stopped."""
_SHOWN = (0.05, STATED, 0.2, 0.3, 0.4, 0.5)
_MANY, _FEW_SPLITS = 2_000, 2  # answers; the halves of more agree, and take long


@dataclass(frozen=True, eq=False, kw_only=True)
class Stopped:
    """What alarms by a score stop at R rates: shares with their intervals (R, 3), and RAUQ minus this score.

    `correct` and `incorrect` answers that are stopped, `saved` tokens of incorrect answers, and `difference`, in which
    RAUQ stops more incorrect answers; nan for RAUQ itself, and where the correct answers are too few for the rate.
    """

    correct: np.ndarray
    incorrect: np.ndarray
    saved: np.ndarray
    difference: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class AlarmCurves:
    """Alarms by each score at R false-alarm rates, learned on half of the questions and applied to the other half.

    `thresholds` (R,) of RAUQ so far in nats are learned on all correct answers, for further ones; nan where they are
    too few. `reason` says why nothing is known at the stated rate.
    """

    rates: tuple[float, ...]
    stopped: Mapping[OnlineScore, Stopped]
    thresholds: np.ndarray
    num_correct: int
    num_incorrect: int
    reason: str = ""

    @property
    def stated(self) -> int:
        """The place of the rate that sentences give."""
        return self.rates.index(STATED)


@dataclass(frozen=True, kw_only=True)
class AlarmThreshold:
    """A threshold for `rauq.Monitor` in nats, and what it did to answers that it was not learned on.

    `rate`: the false-alarm rate, the share of further correct answers that it stops at most, on average. `correct` and
    `incorrect`: the shares that are stopped before their last token; `saved`: the share of the tokens of incorrect
    answers that is not written. Each has its 95 % interval by question.
    """

    threshold: float
    rate: float
    correct: Share
    incorrect: Share
    saved: Share


def alarm_threshold(run: Run, *, rate: float = STATED) -> AlarmThreshold:
    """The threshold of RAUQ so far, in the paper's settings, at which a share of correct answers is stopped.

    Args:
        run: Answers of the model and of the length that are to be watched, judged.
        rate: The false-alarm rate, the share of correct answers that may be stopped, between 0 and 1.

    Raises:
        InvalidInput: a rate that is none, or too few correct answers for it, or no incorrect one.
        RunError: the run cannot be read.

    Example:
        >>> run = analysis.open_run(analysis.bundled_folder())
        >>> found = analysis.alarm_threshold(run, rate=0.1)
        >>> f"{found.threshold:.2f} nats, {found.incorrect.value:.0%} of incorrect answers"
        '-1.98 nats, 41% of incorrect answers'
    """
    if not 0 < rate < 1:
        message = f"rate must be between 0 and 1, got {rate!r}: the share of correct answers that may be stopped."
        raise InvalidInput(message)
    quality = run.answers["quality"].to_numpy(dtype=float)
    side = sides(quality, measure(run.manifest.request.quality).thresholds)
    known = curves(batch(run, "predicting"), truth(side), clusters=run.clusters, names=(RAUQ,))
    if reason := why_unknown(known, rate):
        message = f"There is no threshold at {rate:g}: {reason}. Give a higher rate, or a run with more answers."
        raise InvalidInput(message)
    (found,) = alarms(known, known.values[RAUQ], weights_of(known.clusters), rates=(rate,))
    shares = {name: with_interval(getattr(found, name)) for name in ("correct", "incorrect", "saved")}
    return AlarmThreshold(threshold=float(learned(known, (rate,))[0]), rate=rate, **shares)


def alarm_curves(answers: Answers, correct: np.ndarray, *, clusters: np.ndarray) -> AlarmCurves:
    """Alarms of A answers; arguments as of `curves`.

    Raises:
        InvalidInput: the answers lack layers of RAUQ's window.
    """
    known = curves(answers, correct, clusters=clusters, names=COMPARED)
    weights, splits = weights_of(clusters), SPLITS if len(clusters) <= _MANY else _FEW_SPLITS
    found = {name: alarms(known, known.values[name], weights, rates=_SHOWN, splits=splits) for name in COMPARED}
    return AlarmCurves(
        rates=_SHOWN,
        stopped={name: _stopped(found[name], found[RAUQ], is_rauq=name == RAUQ) for name in COMPARED},
        thresholds=learned(known, _SHOWN),
        num_correct=int((known.correct == 1).sum()),
        num_incorrect=int((known.correct == 0).sum()),
        reason=why_unknown(known, STATED),
    )


def truth(side: Sides) -> np.ndarray:
    """1 for correct answers (A,), 0 for incorrect ones, nan for all others."""
    return np.select([side.correct, side.incorrect], [1.0, 0.0], math.nan)


def learned(curves: Curves, rates: Sequence[float]) -> np.ndarray:
    """The thresholds (R,) of RAUQ so far, learned on all correct answers; nan where they are too few."""
    own = curves.values[RAUQ][curves.correct == 1]
    before_end = np.arange(own.shape[1]) < curves.lengths[curves.correct == 1][:, None] - 1
    peaks = np.where(before_end, own, -math.inf).max(axis=-1, initial=-math.inf)[None]
    found = thresholds(peaks, np.ones_like(peaks), rates)[:, 0]
    return np.where(np.isfinite(found), found, math.nan)


def why_unknown(curves: Curves, rate: float) -> str:
    """Why nothing is known of alarms at this rate; empty where it is."""
    correct, incorrect = (int((curves.correct == side).sum()) for side in (1, 0))
    if correct < (least := least_correct(rate)):
        return f"{correct} correct answers, and {least} are needed where {100 * rate:g} % of them may be stopped"
    return "" if incorrect else "no incorrect answer"


def _stopped(own: Sequence[Alarms], by_rauq: Sequence[Alarms], *, is_rauq: bool) -> Stopped:
    differences = [rauq.incorrect - one.incorrect for rauq, one in zip(by_rauq, own, strict=True)]
    return Stopped(
        correct=_ends([one.correct for one in own]),
        incorrect=_ends([one.incorrect for one in own]),
        saved=_ends([one.saved for one in own]),
        difference=np.full((len(own), 3), math.nan) if is_rauq else _ends(differences),
    )


def _ends(values: Sequence[np.ndarray]) -> np.ndarray:
    return np.array([with_interval(one) for one in values])
