"""What the views that compare methods found, each in one sentence for a reader who knows no statistics.

The sentences of the views give the numbers behind them.
"""

from collections.abc import Sequence
from types import MappingProxyType

from analysis.methods.agreement import MethodAgreement
from analysis.methods.agreement_sentences import most_and_least_alike
from analysis.methods.attention_permutation import GroupControl, Sweep
from analysis.methods.comparison import ALL, MSP, WITHIN, Comparison, Paired, Rejections, headline_groups, name_of
from analysis.methods.errors import ErrorAnalysis
from analysis.methods.sentences import rejections_caption, than_shuffled, why_not_at_paper_alpha
from analysis.stats import Estimate, sign_of
from rauq.labels import listed, number

_REJECTED = 0.2  # of the answers
_CHANCE = 0.5


def ranking_claim(found: Comparison) -> str:
    """How many methods RAUQ ranks better and worse than; without RAUQ, which method is first."""
    if found.paired is None or all(one.reason or one.no_interval for one in found.paired.of_group(ALL)):
        return first_claim(found)
    return _against_others(found.paired)


def first_claim(found: Comparison, *, called: str = "methods") -> str:
    """Which of the methods, or variants, is first; that it is better than the others is not said."""
    first, estimates = found.best_first[0], found.of_group(ALL)
    if reason := estimates[first].reason:
        return f"The {called} cannot be ranked: {reason}"
    count = sum(not one.reason for one in estimates)
    return f"{name_of(found.methods[first])} is first of {count} {called} on these answers"


def _against_others(paired: Paired) -> str:
    names = headline_groups(paired.groups)
    columns = [paired.of_group(name) for name in names]
    said = [
        _counted(column, _WHERE[name if len(names) > 1 else ""]) for name, column in zip(names, columns, strict=True)
    ]
    if not any(said):
        return (
            f"{name_of(paired.base)} is not shown to rank answers differently from any of {len(paired.methods)} methods"
        )
    return f"{name_of(paired.base)} is shown to rank {', and '.join(filter(None, said))}{_beside_msp(paired, columns)}"


def _beside_msp(paired: Paired, columns: Sequence[Sequence[Estimate]]) -> str:
    """The end of the headline where RAUQ is not shown to rank better than MSP; else ""."""
    against = [column[paired.methods.index(MSP)] for column in columns if MSP in paired.methods]
    is_level = against and all(not one.reason and sign_of(one) <= 0 for one in against)
    return f", but not better than {name_of(MSP)}" if is_level else ""


_WHERE = MappingProxyType({"": " methods on these answers", ALL: " methods over all answers", WITHIN: " within groups"})


def _counted(differences: Sequence[Estimate], where: str) -> str:
    """How many methods RAUQ is better and worse than in one column; "" where there are none."""
    signs = list(map(sign_of, differences))
    better, worse = signs.count(1), signs.count(-1)
    counts = ((better, "better than"), (worse, "worse than"))
    said = [f"{than} {count} of {len(signs)}" for count, than in counts if count]
    return f"{listed(said)}{where}" if said else ""


def rejections_claim(found: Rejections) -> str:
    """What the quality of the rest is once the most uncertain answers are rejected, by the first of the methods."""
    if found.n < 2:
        return rejections_caption(found)
    first = found.curves[0]
    place = min(int(_REJECTED * found.n), len(first.rejected) - 1)
    whole, kept = (number(first.kept_quality[at], places=2) for at in (0, place))
    return (
        f"Without the {100 * first.rejected[place]:.0f} % most uncertain by {name_of(found.methods[0])}, mean quality "
        f"here is {kept} instead of {whole}"
    )


def sweep_claim(found: Sweep) -> str:
    """Whether RAUQ's real attention does better than shuffled attention at the paper's alpha."""
    if not (verdict := than_shuffled(found)):
        return f"Whether RAUQ needs real attention is not known: {why_not_at_paper_alpha(found)}"
    return f"With its real attention, RAUQ ranks answers {verdict} than with shuffled attention"


def control_claim(found: Sequence[GroupControl]) -> str:
    """Whether RAUQ ranks worse with the attention of another answer."""
    whole = found[0].under("shuffled").difference
    if whole.reason or whole.no_interval:
        return f"Whether RAUQ needs an answer's own attention is not known: {whole.reason or whole.no_interval}"
    if sign := sign_of(whole):
        return f"RAUQ ranks answers {'worse' if sign > 0 else 'better'} with the attention of another answer"
    return "RAUQ is not shown to rank answers worse with the attention of another answer"


def scores_claim(found: Sequence[Comparison], method: str) -> str:
    """In how many pairs a method puts the incorrect answer above the correct one."""
    area = next(one for one in found if one.metric == "roc_auc").of_group(ALL)[0]
    name = name_of(method)
    if area.reason or area.no_interval:
        return f"How well {name} ranks these answers is not known: {area.reason or area.no_interval}"
    if area.low > _CHANCE:
        return f"In {_percent(area)} of pairs, {name} is higher for the incorrect answer than for the correct one"
    return f"{name} is not shown to be higher for incorrect answers than for correct ones"


def _percent(area: Estimate) -> str:
    return f"{number(100 * area.value, places=0)} %"


def agreement_claim(found: MethodAgreement, base: str) -> str:
    """Which methods order the answers most and least like `base`."""
    ends = most_and_least_alike(found, base)
    if ends is None:
        return f"No other method can be compared with {name_of(base)}"
    most, least = map(name_of, ends)
    if most == least:
        return f"{name_of(base)} is compared with one method, {most}"
    return f"{name_of(base)} orders answers most like {most}, and least like {least}"


def errors_claim(found: ErrorAnalysis, method: str) -> str:
    """How many of the most and of the least uncertain answers are incorrect."""
    if not found.highest.n:
        return f"Nothing to compare: {found.reason}"
    high, low = found.highest, found.lowest
    return (
        f"By {name_of(method)}, {high.erroneous:,} of the {high.n:,} most uncertain answers are incorrect, and "
        f"{low.erroneous:,} of the {low.n:,} least uncertain"
    )
