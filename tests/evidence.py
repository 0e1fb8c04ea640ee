"""Small records for tests, with the columns of the measurements."""

import math
from datetime import date

from analysis.evidence.record import Bound, Record

KEPT, MISSED = Bound(text="ratio 1.01, at most 1.03", met=True), Bound(text="ratio 0.90, at least 0.95", met=False)
INCONCLUSIVE = Bound(text="ratio 1.04 [0.99, 1.09], at most 1.03", met=None)


def make_record(name="scoring", **changes):
    """A record of one row, with what is changed."""
    fields = {
        **{"title": "Scoring", "about": "Answers scored at once.", "command": "python -m benchmarks scoring --record"},
        **{"made": date(2026, 1, 2), "machine": "a processor", "versions": (("Python", "3.11"),)},
        **{"columns": ("answers", "seconds"), "rows": ((2_000, 0.25),), "bounds": (KEPT,), "finding": "It is fast."},
    }
    return Record(id=name, **(fields | changes))


def peers_time():
    """Two tools at two lengths, on both clocks; the wall clock says something else."""
    rows = [
        (length, tool, clock, 1.0, ratio, ratio + 9 * (clock == "wall"), ratio - 0.1, ratio + 0.2, 15)
        for length, ours, theirs in ((4096, 1.01, 5.0), (32, 1.02, 1.5))
        for tool, ratio in (("lm-polygraph", theirs), ("rauq", ours))
        for clock in ("CPU", "wall")
    ]
    columns = ("prompt, tokens", "tool", "clock", "plain, s", "tool, s", "tool / plain", "low", "high", "pairs")
    return make_record("peers_time", columns=columns, rows=tuple(rows), finding="It takes 5 times as much time.")


def real_models():
    """Two runs of three answers: all of them, and one family."""
    columns = (
        "model",
        "prompts",
        "answers of",
        "answers",
        "correct, %",
        "PRR of RAUQ",
        "minus MSP",
        "over length alone",
    )
    rows = (
        (
            "one",
            "plain",
            "all answers",
            3,
            50,
            "0.50 [0.40, 0.60]",
            "+0.021 [+0.010, +0.062] better",
            "+0.3 [0.1, 0.4]",
        ),
        ("one", "plain", "cities", 2, 50, "0.50 [0.40, 0.60]", "−0.9 [−1.0, −0.8] worse", "+0.3 [0.1, 0.4]"),
        ("two", "few-shot", "all answers", 3, 50, "0.50 [0.40, 0.60]", "−0.081 [−0.110, −0.062] worse", "undefined"),
        ("two", "few-shot", "mean", 3, 50, "0.50 [0.40, 0.60]", "0.000 [−0.110, +0.062]", "undefined"),
        ("two", "few-shot", "none", 3, 50, "undefined", "undefined", "undefined"),
    )
    return make_record("real_models", columns=columns, rows=rows, finding="RAUQ is better than MSP in 1 case.")


def peers_memory():
    """Three ways at two lengths, and one of them computed at a third."""
    measured = {32: (20.0, 22.0, 40.0), 4096: (110.0, 115.0, 5000.0)}
    rows = [
        (length, tool, mib, 0.9 * mib, 1.1 * mib, math.nan)
        for length, peaks in measured.items()
        for tool, mib in zip(("plain", "rauq", "lm-polygraph"), peaks, strict=True)
    ]
    rows.append((8192, "lm-polygraph", math.nan, math.nan, math.nan, 17_000.0))
    columns = ("prompt, tokens", "tool", "MiB", "low", "high", "weights kept, MiB")
    return make_record("peers_memory", columns=columns, rows=tuple(rows), finding="It takes 43 times as much memory.")
