"""What records show, in sentences that name missed bounds first."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

from analysis.answer_sets.sentences import joined
from analysis.evidence.claims import Quote
from analysis.evidence.record import Bound, Record, Verdict

if TYPE_CHECKING:
    from rauq.capture.check import Check

LIMITS = (
    "RAUQ detects low confidence. A false statement that the model generates confidently is not detected.",
    "A score ranks answers of one model. It is not a probability and is not comparable between models.",
    "atlas is far too small to support or refute what the paper claims about large models.",
    "The table of models shows exact capture on tiny random models; it says nothing about trained ones.",
    "The paper's nine models were not available; their architectures are tested with small checkpoints.",
    "The published judges (entailment, similarity, AlignScore, COMET) were not available either; same tests.",
    "Attention can be captured only from local models, never through an API.",
    "Times hold for the machine named below each table. Ratios transfer to other machines better than seconds.",
)
"""What this project does not show, whatever was measured."""


PUBLISHED = (
    "Published by the authors of RAUQ, of their models on their data. None of it was measured here, and "
    "the differences between methods may not transfer. Dash: not reported in the paper."
)

INCONCLUSIVE = "Inconclusive: the measured value is beyond its bound, but its 95 % interval includes the bound."

DIFFERENCES = (
    "Largest difference of each row, log scale; the vertical bar is the tolerance. Further left is closer. A "
    "difference of 0 is drawn at the left edge. The table below has the numbers."
)
TIMES = (
    "CPU time of an answer with its RAUQ score, relative to plain generation (dotted) in the same process. Bars: 95 % "
    "intervals. Lower is better. One model size, one machine."
)
MEMORY = (
    "Peak memory of an answer with its RAUQ score, above the loaded model, log scale. Bars: range over processes. "
    "Open: computed, not run. Lower is better. One model size, one machine."
)


RUNS_COMPARED = (
    "PRR of RAUQ minus that of each other ranking, with 95 % intervals. Teal circle: RAUQ ranks significantly better; "
    "violet diamond: worse; grey open circle: not significant. The table below has every family."
)

SETS_COMPARED = (
    "ROC-AUC of RAUQ minus that of each other score, with 95 % intervals. Teal circle: RAUQ is better, beyond noise "
    "and by at least 0.01; violet diamond: worse; grey open circle: neither."
)


def bounds_sentence(found: Sequence[Record]) -> str:
    """How many bounds were met, and which records missed one."""
    verdicts = Counter(bound.verdict for record in found for bound in record.bounds)
    if not verdicts:
        return "No bound has been measured yet."
    if set(verdicts) == {"met"}:
        return f"All bounds are met: {verdicts['met']} in {_count(len(found), 'table')}."
    off = "; ".join(record.title for record in found if not record.met)
    missed = f"{verdicts['missed']} of {verdicts.total()} bounds {'is' if verdicts['missed'] == 1 else 'are'} missed"
    unclear = f", {verdicts['inconclusive']} inconclusive" if verdicts["inconclusive"] else ""
    return f"{missed}{f' ({off})' if off else ''}, {verdicts['met']} met{unclear}."


def record_sentence(record: Record) -> str:
    """The headline of one record: what it found, and, first, how many bounds are not met."""
    counts = Counter(bound.verdict for bound in record.bounds if bound.verdict != "met")
    unmet = ", ".join(
        f"{_count(counts[verdict], 'bound')} {verdict}" for verdict in get_args(Verdict) if counts[verdict]
    )
    return joined(f"{unmet}." if unmet else "", record.finding or f"{record.title}.")


def verdict_counts(bounds: Sequence[Bound]) -> str:
    """How many of the bounds were met, as a sentence, with the other verdicts; "" without bounds."""
    if not bounds:
        return ""
    counts = Counter(bound.verdict for bound in bounds)
    if counts["met"] == len(bounds):
        return "The bound set for it is met." if len(bounds) == 1 else f"All {len(bounds)} bounds set for it are met."
    return f"{counts['met']} of {len(bounds)} bounds set for it are met{_unmet(counts)}."


def bounds_quote(found: Sequence[Record]) -> Quote:
    """How many bounds of these records are met, with the other verdicts."""
    counts = Counter(bound.verdict for record in found for bound in record.bounds)
    return Quote(number=f"{counts['met']} of {counts.total()}", rest=f"bounds met{_unmet(counts)}.")


def _unmet(counts: Counter[Verdict]) -> str:
    return "".join(f", {counts[one]} {one}" for one in get_args(Verdict) if one != "met" and counts[one])


def verdict_lines(bounds: Sequence[Bound]) -> list[str]:
    """Each bound after its verdict, those missed first and those met last."""
    ordered = sorted(bounds, key=lambda bound: get_args(Verdict).index(bound.verdict))
    return [f"{bound.verdict.capitalize()}: {bound.text}" for bound in ordered]


def unmet_bounds(found: Sequence[Record]) -> list[str]:
    """Every bound that was missed or is inconclusive, after the title of its record."""
    return [
        f"{record.title}: {bound.text} ({bound.verdict})"
        for record in found
        for bound in record.bounds
        if bound.verdict != "met"
    ]


def limits_sentence(num_unmet: int) -> str:
    """The headline of the limitations."""
    unmet = f", and {_count(num_unmet, 'bound')} not met" if num_unmet else ""
    return f"{len(LIMITS)} limitations{unmet}"


def check_sentence(check: "Check") -> str:
    """What a self-check found: the difference closest to its tolerance, where it is, and whether that is exact."""
    if check.worst is None:
        return "This model has no attention layer to compare."
    layer, difference = check.layers[check.worst], check.differences[check.worst]
    if difference == float("inf"):
        return f"Not exact: the captured weights of layer {layer} are at the wrong positions."
    if check.problem:
        return f"Not exact: {check.problem}."
    reach = f"{difference:.1e} from float64 ({check.tolerances[check.worst]:.1e} tolerated)"
    verdict = (
        "The captured attention equals the model's own" if check.exact else "Not exact: the captured attention differs"
    )
    return f"{verdict}: {_count(len(check.layers), 'layer')}; worst is layer {layer}, {reach}."


def eager_sentence(check: "Check", dtype: str) -> str:
    """How far the model's own eager attention is from the same float64 weights; empty where that is not known."""
    known = [value for value in check.eager_differences if value == value]  # noqa: PLR0124 - nan differs from itself
    if not known:
        return ""
    return f"For comparison, the model's own eager attention in {dtype} is up to {max(known):.1e} from float64."


def passes_sentence(check: "Check") -> str:
    """How far the model's own incremental and full passes differ; empty where they agree."""
    if not check.pass_differences:
        return ""
    return (
        f"This model's own incremental and full passes differ by up to {max(check.pass_differences):.1e}, as those of "
        "dynamically quantised models do. It is shown for information; the check compares each call with itself."
    )


def origin(record: Record) -> str:
    """When, where and with what a record was made."""
    versions = ", ".join(f"{package} {version}" for package, version in record.versions)
    return f"{record.made.isoformat()}, on {record.machine}; {versions}."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
