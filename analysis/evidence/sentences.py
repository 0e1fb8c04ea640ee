"""What records show, in sentences that name what was missed before what was kept."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from analysis.answer_sets.sentences import joined
from analysis.evidence.record import Record

if TYPE_CHECKING:
    from rauq.capture.check import Check

LIMITS = (
    "RAUQ sees a model that hesitates. A falsehood that the model holds with confidence looks like a fact.",
    "A score ranks answers of one model. It is no probability, and means nothing beside the score of another model.",
    "atlas is far too small to support or to refute what the paper claims about large models.",
    "The table of models shows, on tiny random ones, that attention is taken exactly, not what a trained one says.",
    "The paper's nine models were not at hand, nor a hub over the network; their code is tested on small checkpoints.",
    "Nor were the published judges (entailment, similarity, AlignScore, COMET); their code is tested likewise.",
    "Attention can be taken only from models whose weights are at hand, never through an API.",
    "Times are those of the machine below each table. Ratios carry over to another machine better than seconds do.",
)
"""What this project does not show, whatever was measured."""


PUBLISHED = (
    "Published by the authors of RAUQ, of their models on their data. Nothing of it was measured here, and how far a "
    "method leads there says nothing about how far it leads elsewhere. A dash: the paper states no number."
)

WHEN_MISSED = "A ratio misses its bound where its whole 95 % interval lies beyond it: no machine is quiet."


def bounds_sentence(found: Sequence[Record]) -> str:
    """How many bounds were kept, and whose were missed."""
    bounds = [bound for record in found for bound in record.bounds]
    off = [record.title for record in found if not record.met]
    kept = sum(bound.met for bound in bounds)
    if not bounds:
        return "Nothing was measured here against a bound yet."
    if not off:
        return f"All bounds are kept: {kept} in {_count(len(found), 'table')}."
    missed = len(bounds) - kept
    verb = "is" if missed == 1 else "are"
    return f"{missed} of {len(bounds)} bounds {verb} missed ({'; '.join(off)}), {kept} kept."


def record_sentence(record: Record) -> str:
    """The headline of one record: what it found, and, first, what it missed."""
    off = sum(not bound.met for bound in record.bounds)
    found = record.finding or f"{record.title}."
    return joined(f"{_count(off, 'bound')} missed." if off else "", found)


def missed_bounds(found: Sequence[Record]) -> list[str]:
    """Every bound that was missed, with the record that says so."""
    return [f"{record.title}: {bound.text}" for record in found for bound in record.bounds if not bound.met]


def limits_sentence(num_missed: int) -> str:
    """The headline of what is not shown."""
    missed = f", and {_count(num_missed, 'bound')} missed today" if num_missed else ""
    return f"{len(LIMITS)} things that none of this shows{missed}"


def check_sentence(check: "Check") -> str:
    """What a self-check found: the difference closest to its tolerance, where it is, and whether that is exact."""
    if check.worst is None:
        return "This model has no layer with attention to compare."
    layer, difference = check.layers[check.worst], check.differences[check.worst]
    if difference == float("inf"):
        return f"Not exact: the captured weights of layer {layer} are at other positions than the model's own."
    if check.problem:
        return f"Not exact: {check.problem}."
    reach = f"{difference:.1e} from float64 ({check.tolerances[check.worst]:.1e} tolerated)"
    verdict = (
        "The captured attention is the model's own" if check.exact else "Not exact: the captured attention differs"
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
