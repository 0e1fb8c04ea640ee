"""Methods and ablations as tidy tables: one row per finding, numbers in full, nan where undefined."""

import math
from collections.abc import Sequence
from typing import get_args

import numpy as np
import pandas as pd

from analysis.exports.tables import WITH_INTERVAL
from analysis.methods.ablations import Ablated
from analysis.methods.added_heads import ADDED_NAMES, AddedHeads
from analysis.methods.agreement import Disagreement, MethodAgreement, RankedAnswers
from analysis.methods.attention_permutation import EXCHANGES, REPLACED, GroupControl, Sweep
from analysis.methods.comparison import WITHIN, Comparison, Metric, Paired, Rejections, compare, groups_of, name_of
from analysis.methods.errors import End, ErrorAnalysis
from analysis.quality.judgement import Thresholds
from analysis.runs.own import row_of
from analysis.runs.timings import Cost
from analysis.stats import METRICS, Estimate


def methods_table(comparison: Comparison, costs: Sequence[Cost] = ()) -> pd.DataFrame:
    """As the paper lays it out: a row for each method; its metric in each group, their mean, mean rank and cost.

    Each metric with its 95 % interval (low, high) and its number of answers, in columns named as `WITH_INTERVAL`.

    Cost: forward passes beyond the generation in words, and as measured the overhead in percent of the generation, one
    prompt at a time with its interval and in batches, and seconds an answer in batches (`analysis.runs.timings.Cost`).
    """
    measured = {cost.method: cost for cost in costs}
    return pd.DataFrame(
        [
            {"method": name_of(method), **_values(comparison, row), "mean rank": rank}
            | _cost(method, measured.get(method))
            for method, row, rank in zip(comparison.methods, comparison.estimates, comparison.mean_ranks, strict=True)
        ]
    )


def _values(comparison: Comparison, row: Sequence[Estimate]) -> dict[str, float]:
    """The estimates of a method by the heading of each group."""
    metric = METRICS[comparison.metric]
    headings = [
        f"mean {metric} within groups" if name == WITHIN else f"{metric} of {name}" for name in comparison.groups
    ]
    return {
        f"{heading}{end}": cell
        for heading, one in zip(headings, row, strict=True)
        for end, cell in zip(WITH_INTERVAL, (one.value, one.low, one.high, one.n), strict=True)
    }


def comparison_table(comparison: Comparison) -> pd.DataFrame:
    """A row for each method in each group, the mean within groups among them, with the interval."""
    return pd.DataFrame(_grid(comparison.methods, comparison.groups, comparison.estimates, name=comparison.metric))


def paired_table(paired: Paired) -> pd.DataFrame:
    """A row for each method in each group, the mean within groups among them: RAUQ minus it, with the interval."""
    rows = _grid(paired.methods, paired.groups, paired.differences, name="difference")
    return pd.DataFrame([{"base": name_of(paired.base), **row} for row in rows])


def ranking_table(
    answers: pd.DataFrame, methods: Sequence[str], thresholds: Thresholds, *, clusters: np.ndarray | None = None
) -> pd.DataFrame:
    """PRR and ROC-AUC with their intervals: a row for each method in each group, the mean within groups among them.

    Methods that no answer has are left out.
    """
    own = [method for method in methods if answers[method].notna().any()]
    groups = groups_of(answers["group"], clusters=clusters)
    found = [compare(answers, own, groups, metric=metric, thresholds=thresholds) for metric in get_args(Metric)]
    rows = [
        _ranked(group, method, [one.of_group(group)[place] for one in found])
        for group in found[0].groups
        for place, method in enumerate(own)
    ]
    return pd.DataFrame(rows)


def _ranked(group: str, method: str, estimates: Sequence[Estimate]) -> dict[str, object]:
    first = estimates[0]
    cells = {
        f"{metric}{end}": value
        for metric, one in zip(get_args(Metric), estimates, strict=True)
        for end, value in (("", one.value), ("_low", one.low), ("_high", one.high))
    }
    missing = {
        name: next(filter(None, (estimate.missing[name] for estimate in estimates)), "") for name in first.missing
    }
    counts = {"answers": first.n, "excluded": first.excluded}
    return {"group": group, "method": name_of(method), **counts, **cells, **missing}


def rejections_table(rejections: Rejections) -> pd.DataFrame:
    """A row for each share of answers that is rejected: mean quality of the rest under each method."""
    if not rejections.curves:
        return pd.DataFrame()
    first = rejections.curves[0]
    kept = {
        name_of(method): curve.kept_quality for method, curve in zip(rejections.methods, rejections.curves, strict=True)
    }
    return pd.DataFrame({"rejected": first.rejected, **kept, "oracle": first.oracle, "random": first.random})


def agreement_table(agreement: MethodAgreement) -> pd.DataFrame:
    """A row for each two methods: Spearman's correlation of their uncertainties, and the answers that have both."""
    pairs = [(row, column) for column in range(len(agreement.methods)) for row in range(column)]
    return pd.DataFrame(
        [
            {
                "method": name_of(agreement.methods[row]),
                "other": name_of(agreement.methods[column]),
                "spearman": agreement.correlations[row, column],
                "answers": int(agreement.counts[row, column]),
            }
            for row, column in pairs
        ]
    )


def disagreement_table(disagreement: Disagreement, answers: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """A row for each answer on either side; `answers` are those that the methods `first` and `second` were ranked on.

    The index is the answer's position among them.
    """
    sides = ((first, disagreement.first_more_uncertain), (second, disagreement.second_more_uncertain))
    return pd.concat([_ranked_answers(side, answers, method, (first, second)) for method, side in sides])


def errors_table(found: ErrorAnalysis, method: str) -> pd.DataFrame:
    """A row for each end of the ranking and for all answers: percent erroneous, in all and of each kind."""
    ends = (("highest", found.highest), ("lowest", found.lowest), ("all", found.all))
    kinds = [label for label, _ in found.all.labels if label]
    return pd.DataFrame([{"method": name_of(method), "uncertainty": name, **_shares(end, kinds)} for name, end in ends])


def added_heads_table(added_heads: AddedHeads) -> pd.DataFrame:
    """A row for each addition to RAUQ: PRR within groups with it minus that of RAUQ alone, with the interval."""
    rows = [
        {"added to RAUQ": ADDED_NAMES[name].format(k=added_heads.k), **_estimate(one)}
        for name, one in added_heads.differences.items()
    ]
    return pd.DataFrame(rows or [{"added to RAUQ": "nothing", **_estimate(added_heads.rauq)}])


def _estimate(estimate: Estimate) -> dict[str, object]:
    return {"difference": estimate.value, "low": estimate.low, "high": estimate.high, **estimate.missing}


def _grid(
    methods: Sequence[str],
    groups: Sequence[str],
    grid: Sequence[Sequence[Estimate]],
    *,
    name: str,
) -> list[dict[str, object]]:
    return [
        {
            "method": name_of(method),
            "group": group,
            name: one.value,
            "low": one.low,
            "high": one.high,
            "answers": one.n,
            "excluded": one.excluded,
            **one.missing,
        }
        for method, row in zip(methods, grid, strict=True)
        for group, one in zip(groups, row, strict=True)
    ]


def _cost(method: str, measured: Cost | None) -> dict[str, object]:
    return {
        "forward passes": row.cost if (row := row_of(method)) else "",
        **{
            f"overhead percent, one at a time{end}": 100 * value
            for end, value in zip(("", ", low", ", high"), _alone(measured), strict=True)
        },
        "overhead percent, in batches": 100 * measured.overhead if measured else float("nan"),
        "seconds an answer, in batches": measured.seconds if measured else float("nan"),
    }


def _alone(measured: Cost | None) -> tuple[float, float, float]:
    if measured is None or measured.alone is None:
        return (float("nan"),) * 3
    return measured.alone.overhead, measured.alone.low, measured.alone.high


def _ranked_answers(side: RankedAnswers, answers: pd.DataFrame, method: str, both: tuple[str, str]) -> pd.DataFrame:
    chosen = answers.iloc[side.rows][["number", "id", "group", "quality", "answer", "prompt"]]
    chosen.insert(0, "more uncertain", name_of(method))
    for place, (name, share) in enumerate(zip(both, (side.first, side.second), strict=True), start=1):
        chosen.insert(place, f"percentile of {name_of(name)}", 100 * share)
    return chosen.set_index(side.rows)


def _shares(end: End, kinds: Sequence[str]) -> dict[str, object]:
    counts = dict(end.labels)
    shares = {
        f"percent erroneous, {kind}": 100 * counts.get(kind, 0) / end.n if end.n else float("nan") for kind in kinds
    }
    return {"answers": end.n, "erroneous": end.erroneous, "percent erroneous": 100 * end.share, **shares}


def ablation_table(ablated: Ablated) -> pd.DataFrame:
    """As the paper lays it out: a row for each variant; its metric in each group and their mean, with intervals."""
    compared = ablated.comparison
    return pd.DataFrame(
        [
            {ablated.ablation.title.lower(): name_of(method), **_values(compared, row)}
            for method, row in zip(compared.methods, compared.estimates, strict=True)
        ]
    )


def sweep_table(sweep: Sweep) -> pd.DataFrame:
    """A row for each attention at each alpha in each group: the metric, and that of real attention minus it."""
    return pd.DataFrame(
        [
            {"alignment": sweep.alignment, "signal": sweep.signal, "group": group, "attention": name}
            | {"alpha": alpha, "paper": alpha == sweep.paper_alpha}
            | _cells(sweep.metric, one)
            | minus
            for group in sweep.groups
            for name, curve in _curves(sweep, group)
            for alpha, (one, minus) in zip(sweep.alphas, curve, strict=True)
        ]
    )


def _curves(sweep: Sweep, group: str) -> list[tuple[str, list[tuple[Estimate, dict[str, float]]]]]:
    """The estimates at every alpha by attention, each with what real attention is above it."""
    real = [(one, _above(None)) for one in sweep.of_group(group)]
    others = [(name, [(one.estimate, _above(one.difference)) for one in sweep.under(name, group)]) for name in REPLACED]
    return [("real", real), *others]


def _above(difference: Estimate | None) -> dict[str, float]:
    ends = (math.nan,) * 3 if difference is None else (difference.value, difference.low, difference.high)
    return dict(zip(("real minus this", "its low", "its high"), ends, strict=True))


def control_table(controls: Sequence[GroupControl]) -> pd.DataFrame:
    """A row for each exchange in each group: the metric with other replaced by, and the real one minus it."""
    return pd.DataFrame(
        [
            {"alignment": control.alignment, "group": control.group, "tokens": control.tokens}
            | {"attention replaced by": EXCHANGES[one.exchange]}
            | {control.metric: one.estimate.value}
            | _cells("real minus replaced", one.difference)
            for control in controls
            for one in control.exchanged
        ]
    )


def _cells(name: str, estimate: Estimate) -> dict[str, object]:
    interval = {name: estimate.value, "low": estimate.low, "high": estimate.high}
    return interval | {"answers": estimate.n, "excluded": estimate.excluded, **estimate.missing}
