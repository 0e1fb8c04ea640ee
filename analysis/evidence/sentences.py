"""What records show, in sentences that name missed bounds first."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from analysis.answer_sets.sentences import joined
from analysis.evidence.record import Record

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

WHEN_MISSED = "A ratio misses its bound only if its whole 95 % interval lies beyond it, because timings are noisy."


def bounds_sentence(found: Sequence[Record]) -> str:
    """How many bounds were met, and which records missed one."""
    bounds = [bound for record in found for bound in record.bounds]
    off = [record.title for record in found if not record.met]
    kept = sum(bound.met for bound in bounds)
    if not bounds:
        return "No bound has been measured yet."
    if not off:
        return f"All bounds are met: {kept} in {_count(len(found), 'table')}."
    missed = len(bounds) - kept
    verb = "is" if missed == 1 else "are"
    return f"{missed} of {len(bounds)} bounds {verb} missed ({'; '.join(off)}), {kept} met."


def record_sentence(record: Record) -> str:
    """The headline of one record: what it found, and, first, what it missed."""
    off = sum(not bound.met for bound in record.bounds)
    found = record.finding or f"{record.title}."
    return joined(f"{_count(off, 'bound')} missed." if off else "", found)


def missed_bounds(found: Sequence[Record]) -> list[str]:
    """Every bound that was missed, with the record that says so."""
    return [f"{record.title}: {bound.text}" for record in found for bound in record.bounds if not bound.met]


def limits_sentence(num_missed: int) -> str:
    """The headline of the limitations."""
    missed = f", and {_count(num_missed, 'bound')} missed" if num_missed else ""
    return f"{len(LIMITS)} limitations{missed}"


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
