"""Claims as sentences to quote, the number first, each counted from the rows of its record."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from analysis.evidence.record import Record, shown
from rauq.labels import number

_OVERALL = ("all answers", "mean within groups")  # rows of whole runs; the others are of single families
_TIMES = ("charged with", "overhead, one at a time, %")
_DIFFERENCES = ("generated", "read", "padded, generated", "padded, read")


@dataclass(frozen=True, kw_only=True)
class Quote:
    """A claim: its number, and the rest of the sentence that begins with it."""

    number: str
    rest: str


def ranking(record: Record) -> Quote:
    """In how many comparisons RAUQ ranks significantly better than without its own attention, and than MSP."""
    beside = ("minus RAUQ with shuffled attention", "minus MSP")
    names = zip(*(record.column(name) for name in ("answers of", *beside)), strict=True)
    rows = [verdicts for of, *verdicts in names if of in _OVERALL]
    shuffled, msp = (sum(str(cell).endswith("better") for cell in cells) for cells in zip(*rows, strict=True))
    return Quote(
        number=f"{shuffled} of {len(rows)}",
        rest=f"comparisons rank RAUQ significantly above RAUQ with shuffled attention; {msp} of {len(rows)} above MSP.",
    )


def exactness(record: Record) -> Quote:
    """How many of the small models have their attention captured within tolerance, in every way to capture it."""
    rows = list(zip(*(record.column(name) for name in (*_DIFFERENCES, "tolerance")), strict=True))
    within = sum(all(_at_most(cell, tolerance) for cell in cells) for *cells, tolerance in rows)
    return Quote(
        number=f"{within} of {len(rows)}",
        rest="tiny models: capture and attention agree within tolerance.",
    )


def agreement(record: Record) -> Quote:
    """How many methods give the numbers of the reference implementation, within their tolerance."""
    columns = ("numbers compared", "largest relative difference", "tolerance")
    counts, *differences = (record.column(name) for name in columns)
    within = sum(_at_most(*pair) for pair in zip(*differences, strict=True))
    compared = shown(sum(map(int, counts)))
    return Quote(
        number=f"{within} of {len(counts)}",
        rest=f"methods and variants equal the authors' code ({compared} numbers).",
    )


def cost(record: Record) -> Quote:
    """What RAUQ adds to the time of an answer, with its interval, and what methods over samples add."""
    names = record.column("method")
    charged, overheads, low, high = (record.column(name) for name in (*_TIMES, "low", "high"))
    ours = names.index("RAUQ")
    sampled = [float(value) for value, what in zip(overheads, charged, strict=True) if " samples" in str(what)]
    beside = f"; by sampling, {_rounded(min(sampled))} to {_rounded(max(sampled))} %" if sampled else ""
    interval = f"[{_tenths(low[ours])}, {_tenths(high[ours])}]"
    return Quote(number=f"{_tenths(overheads[ours])} %", rest=f"more time with RAUQ {interval}{beside}.")


def robustness(record: Record) -> Quote:
    """How many malformed inputs caused an exception that nothing handled."""
    inputs, faults = (sum(map(int, record.column(name))) for name in ("inputs", "faults"))
    return Quote(number=shown(faults), rest=f"unhandled exceptions in {shown(inputs)} malformed inputs.")


def _at_most(value: str | float, most: str | float) -> bool:
    """Whether a cell is a number up to another; a text, or nan, is not."""
    return not isinstance(value, str) and not isinstance(most, str) and value <= most


def _tenths(value: str | float) -> str:
    return number(float(value), places=1)


def _rounded(value: float) -> str:
    return number(value, places=0)


View = Literal["results", "models", "reference", "speed", "robustness"]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim: the record that it is counted from, how, and the view with that record, by its name."""

    record: str
    quote: Callable[[Record], Quote]
    view: View
    link: str


CLAIMS: Sequence[Claim] = (
    Claim(record="real_models", quote=ranking, view="results", link="Real models"),
    Claim(record="models", quote=exactness, view="models", link="Exact capture"),
    Claim(record="reference", quote=agreement, view="reference", link="Reference"),
    Claim(record="overhead", quote=cost, view="speed", link="Speed"),
    Claim(record="fuzz", quote=robustness, view="robustness", link="Robustness"),
)


def quote_of(claim: Claim, record: Record) -> Quote:
    """The claim in words; what the record found, without a number before it, where another version made it."""
    try:
        return claim.quote(record)
    except (ValueError, TypeError):  # a column is missing, or has other cells
        return Quote(number="", rest=record.finding)
