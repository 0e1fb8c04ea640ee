"""What an alarm stops: incorrect answers, their tokens, and correct answers, by a threshold learned on other answers.

RAUQ so far is compared with simpler scores, and with a number of tokens after which every answer is stopped.
Simulated answers say whether the intervals hold the truth.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from analysis.evidence.record import Cell, Record
from analysis.online.alarms import RATES, RESAMPLED, SPLITS, Alarms, Share, alarms, weights_of, with_interval
from analysis.online.curves import NAMES, OnlineScore
from benchmarks.online.runs import Scored, scored_runs
from benchmarks.online.simulated import RATE, SIMULATIONS, simulated_bounds
from benchmarks.support.recording import measured, tell

RAUQ: OnlineScore = "rauq"
SIMPLER: tuple[OnlineScore, ...] = ("mean_entropy", "mean_logprob", "token_entropy", "token_logprob", "num_tokens")
COMPARED: tuple[OnlineScore, ...] = (RAUQ, "token_confidence", *SIMPLER)
STATED = 0.1  # the rate of the finding
ONE, BY_POSITION = "one", "by position"
BETTER, WORSE = " better", " worse"
DASH = "–"
COLUMNS = (
    "run",
    "correct that may be stopped, %",
    "threshold",
    "score",
    "correct stopped, %",
    "incorrect stopped, %",
    "tokens of incorrect saved, %",
    "RAUQ minus this: incorrect stopped",
    "RAUQ minus this: tokens saved",
)


class Stopped(NamedTuple):
    """Alarms of a run at one rate by one score, with one threshold or one for each position, and those by RAUQ."""

    run: str
    threshold: str
    name: OnlineScore
    alarms: Alarms
    by_rauq: Alarms


def measure() -> Record:
    """Alarms in each run, and in simulated answers."""
    runs = list(scored_runs())
    return record_of(runs, [one for run in runs for one in stopped_of(run)])


def stopped_of(run: Scored, *, resampled: int = RESAMPLED) -> Iterator[Stopped]:
    """Every score with both kinds of threshold, at every rate; a number of tokens is itself a position."""
    weights = weights_of(run.curves.clusters, resampled=resampled)
    for threshold in (ONE, BY_POSITION):
        tell(f"{run.name}: alarms, threshold {threshold}")
        names = [name for name in COMPARED if (threshold, name) != (BY_POSITION, "num_tokens")]
        found = {
            name: alarms(run.curves, run.curves.values[name], weights, by_position=threshold == BY_POSITION)
            for name in names
        }
        for name in names:
            for own, by_rauq in zip(found[name], found[RAUQ], strict=True):
                yield Stopped(run.name, threshold, name, own, by_rauq)


def record_of(runs: Sequence[Scored], found: Sequence[Stopped]) -> Record:
    """The table, the simulations, and what it shows."""
    counts = "; ".join(
        f"{run.name}: {(run.curves.correct == 1).sum()} correct, {(run.curves.correct == 0).sum()} incorrect"
        for run in runs
    )
    return measured(
        "alarms",
        title="Alarms while an answer is written",
        about="An answer is stopped at the first token, but the last, after which a score is above a threshold. It is "
        "learned on the correct answers to half of the questions, for a share of them that may be stopped, and applied "
        f"to the other half; the shares are means over {2 * SPLITS} random halves. 95 % intervals by bootstrap of the "
        f"questions, {RESAMPLED} times.",
        columns=COLUMNS,
        rows=[
            row_of(one)
            for run in runs
            for rate in RATES
            for one in found
            if (one.run, one.alarms.rate) == (run.name, rate)
        ],
        bounds=simulated_bounds(),
        notes=(
            f"Answers, {counts}.",
            "RAUQ: heads selected so far, with the same kind of threshold. Better or worse: RAUQ is, beyond noise.",
            "Means are over the tokens so far; −log c is of the layer and head that give RAUQ.",
            "A threshold by position: so many standard deviations above the mean of correct answers there.",
            "Number of tokens: answers of equal length are stopped in a random order, so that it keeps the rate.",
            "Dash: the correct answers are too few for the rate, or there is nothing to compare.",
            f"Simulated {SIMULATIONS} times: two scores with effects, {100 * RATE:.0f} % of correct may be stopped.",
        ),
        finding=finding(found),
    )


def row_of(one: Stopped) -> tuple[Cell, ...]:
    """A row of the table."""
    own, by_rauq = one.alarms, one.by_rauq
    differences = (by_rauq.incorrect - own.incorrect, by_rauq.saved - own.saved)
    return (
        one.run,
        round(100 * own.rate),
        one.threshold,
        NAMES[one.name],
        *(percent(with_interval(values)) for values in (own.correct, own.incorrect, own.saved)),
        *(DASH if one.name == RAUQ else difference(values) for values in differences),
    )


def percent(share: Share, *, sign: str = "") -> str:
    """A share in percent with its interval; a dash where it is undefined."""
    value, low, high = (f"{100 * end:{sign}z.0f}".replace("-", "−") for end in share)
    return DASH if np.isnan(share.value) else f"{value} [{low}, {high}]"


def difference(values: np.ndarray) -> str:
    """A difference (1 + B,) in percentage points with its interval, and a word where it is beyond noise."""
    return f"{percent(with_interval(values), sign='+')}{verdict(values)}"


def verdict(values: np.ndarray) -> str:
    """Whether a difference of RAUQ and another score is beyond noise, in a word."""
    share = with_interval(values)
    return BETTER if share.low > 0 else WORSE if share.high < 0 else ""


def finding(found: Sequence[Stopped]) -> str:
    """What RAUQ stops in each run at the stated rate, and in how many cases it stops more or fewer than others."""
    own = [one for one in found if one.name == RAUQ and one.alarms.rate == STATED]
    said = []
    for run in dict.fromkeys(one.run for one in own):
        single, by_position = (percent(with_interval(one.alarms.incorrect)) for one in own if one.run == run)
        said.append(f"{single} and {by_position} % ({run})")
    return (
        f"Where {100 * STATED:.0f} % of correct answers may be stopped, RAUQ so far stops of incorrect answers, with "
        f"one threshold and with one for each position: {'; '.join(said)}. At {len(RATES)} rates in {len(said)} runs, "
        f"it stops more beyond noise, with one threshold, than {_counted(found, ONE)}; with one for each position, "
        f"than {_counted(found, BY_POSITION)}."
    )


def _counted(found: Sequence[Stopped], threshold: str) -> str:
    """In how many cases RAUQ stops more incorrect answers than each simpler score, and in how many fewer."""
    said = []
    for name in SIMPLER:
        own = [one for one in found if (one.name, one.threshold) == (name, threshold)]
        known = [one for one in own if not np.isnan(one.alarms.incorrect[0])]
        words = [verdict(one.by_rauq.incorrect - one.alarms.incorrect) for one in known]
        fewer = f" (fewer in {words.count(WORSE)})" if WORSE in words else ""
        if known:
            said.append(f"{NAMES[name].removeprefix('control: ')} in {words.count(BETTER)} of {len(known)}{fewer}")
    return ", ".join(said)
