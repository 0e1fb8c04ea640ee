"""What a ladder shows, in words and as a table."""

import math
from collections.abc import Callable, Sequence

import pandas as pd

from analysis.answer_sets.sentences import joined
from analysis.stats import SMALLEST, Estimate, is_slight, sign_of
from analysis.survival.labelled import ANSWERS, TOKENS
from analysis.survival.ladder import ALONE, BEYOND, LEFT_OUT, Ladder, Rung
from analysis.survival.planted import SelfTest
from rauq.labels import listed, number, running


def verdict_claim(ladder: Ladder) -> str:
    """Whether anything is left beyond all controls."""
    last, signal = ladder.of(BEYOND), running(ladder.signal)
    controls = listed(list(dict.fromkeys(ladder.controls)))
    if reason := last.estimate.reason or last.estimate.no_interval:
        return f"Whether {signal} tells more than {controls} do is not known: {reason}"
    tells = "tells" if sign_of(last.estimate) > 0 else "is not shown to tell"
    return f"{signal[:1].upper()}{signal[1:]} {tells} more than {controls} do"


def verdict(ladder: Ladder) -> str:
    """The last line: what is left beyond all controls."""
    last = ladder.of(BEYOND)
    controls = listed(list(dict.fromkeys(ladder.controls)))
    if last.estimate.reason:
        return f"What {running(ladder.signal)} adds to {controls} is undefined: {last.estimate.reason}."
    return (
        f"Beyond {controls}, {running(ladder.signal)} adds {_signed(last.estimate)} to ROC-AUC: {_said(last.estimate)}."
    )


def _said(estimate: Estimate) -> str:
    if estimate.no_interval:
        return f"not shown, as there is no interval ({estimate.no_interval})"
    if sign_of(estimate) > 0:
        return "it survives"
    if is_slight(estimate) and estimate.value > 0:
        return f"too little for a claim (less than {SMALLEST:g})"
    return "not shown"


_SHUFFLED = {ANSWERS: "labels shuffled within groups", TOKENS: "labels turned in a circle within answers"}


def more(ladder: Ladder) -> str:
    """What the signal reaches alone, what chance and the strongest control reach, and other groups."""
    alone, chance = ladder.of(ALONE), ladder.of("chance")
    controls = [rung for rung in ladder.rungs if rung.kind == "control" and not rung.estimate.reason]
    best = max(controls, key=lambda rung: rung.estimate.value, default=None)
    beats = "" if best is None else f"The strongest control, {best.name}, reaches {_plain(best.estimate)}."
    return joined(
        f"Alone it reaches ROC-AUC {_plain(alone.estimate)}; {_SHUFFLED[ladder.level]} reach {_ends(chance.estimate)}.",
        beats,
        _in_other_groups(ladder),
        _left_out(ladder),
    )


def _in_other_groups(ladder: Ladder) -> str:
    found = next((rung for rung in ladder.rungs if rung.id == LEFT_OUT), None)
    if found is None or found.estimate.reason:
        return ""
    return f"In groups that no fit has seen it adds {_signed(found.estimate)}: {_said(found.estimate)}."


def _left_out(ladder: Ladder) -> str:
    parts = [
        f"{count:,} {what}"
        for count, what in (
            (ladder.without_signal, "without the signal"),
            (ladder.unjudged, "without a verdict"),
            (ladder.undrawn, "not drawn by the seed"),
        )
        if count
    ]
    return f"Left out: {listed(parts)}." if parts else ""


_READ = (
    "ROC-AUC with 95 % intervals by question. A control is a logistic regression on this alone, judged on other "
    "questions. Beyond the controls: what a fit gains when the signal joins them."
)


def caption(ladder: Ladder) -> str:
    """How to read the figures and the table."""
    return joined(
        _READ, f"{ladder.units:,} {ladder.level.name}, {ladder.incorrect:,} of them incorrect; seed {ladder.seed}."
    )


def in_lines(ladder: Ladder) -> list[str]:
    """Every rung in a line, one below the other, and the verdict."""
    width = max(len(rung.name) for rung in ladder.rungs)
    return [*(f"{rung.name:<{width}}  {in_numbers(rung)}" for rung in ladder.rungs), verdict(ladder)]


def in_numbers(rung: Rung) -> str:
    """The number of a rung with its interval, and how often chance does as well."""
    estimate = rung.estimate
    if estimate.reason:
        return f"undefined ({estimate.reason})"
    shown = {"difference": _signed, "chance": _ends}.get(rung.kind, _plain)(estimate)
    return shown if math.isnan(rung.p) else f"{shown}, p {_p(rung.p)}"


def _p(value: float) -> str:
    return f"= {number(value, places=3)}" if value >= 0.0015 else "≤ 0.001"


def _plain(estimate: Estimate) -> str:
    return f"{number(estimate.value, places=2)}{_interval(estimate, number, 2)}"


def _signed(estimate: Estimate) -> str:
    return f"{_with_sign(estimate.value, places=3)}{_interval(estimate, _with_sign, 3)}"


def _ends(estimate: Estimate) -> str:
    return f"{number(estimate.low, places=2)} to {number(estimate.high, places=2)}"


def _interval(estimate: Estimate, write: Callable[..., str], places: int) -> str:
    if math.isnan(estimate.low):
        return ""
    return f" [{write(estimate.low, places=places)}, {write(estimate.high, places=places)}]"


def _with_sign(value: float, *, places: int) -> str:
    written = number(value, places=places)
    return written if written.startswith("−") or not float(written) else f"+{written}"


def ladder_table(ladder: Ladder) -> pd.DataFrame:
    """A row for each rung; `roc_auc` of a difference is how much the signal adds."""
    return pd.DataFrame([_row(rung) for rung in ladder.rungs])


def _row(rung: Rung) -> dict[str, object]:
    estimate = rung.estimate
    return {
        "question": rung.question,
        "control": rung.name,
        "kind": rung.kind,
        "roc_auc": estimate.value,
        "roc_auc_low": estimate.low,
        "roc_auc_high": estimate.high,
        "p": rung.p,
        "answers": estimate.n,
        "note": rung.note,
        **estimate.missing,
    }


def shown_table(ladder: Ladder) -> pd.DataFrame:
    """The same as a reader sees it: numbers with their intervals in words."""
    return pd.DataFrame(
        [
            {
                "control": rung.name,
                "question": joined(rung.question, rung.note),
                "ROC-AUC": in_numbers(rung),
            }
            for rung in ladder.rungs
        ]
    )


def self_test_sentences(found: SelfTest) -> Sequence[str]:
    """What became of planted signals, planted leaks and random signals."""
    lines = [
        f"{one.name}: adds {_signed(one.estimate)}, {'survives' if one.survives else 'does not survive'}"
        f"{'' if one.survives == one.has_to_survive else ' (it should)' if one.has_to_survive else ' (it should not)'}."
        for one in found.planted
    ]
    return [*lines, f"{found.surviving} of {found.random} random signals survive; at most {found.most} may."]
