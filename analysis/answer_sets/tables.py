"""Results of a set of answers as tidy tables: one row per finding, numbers in full, nan where undefined."""

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
import pandas as pd

from analysis.answer_sets.best_and_worst import BestAndWorst
from analysis.answer_sets.gaps import Gaps, HeadGaps
from analysis.answer_sets.heads import Agreement, SelectedHeads
from analysis.answer_sets.quality_curves import QualityBins
from analysis.answer_sets.separation import Separation, TopHeads
from analysis.answer_sets.sides import shown_groups, sides
from analysis.calibration import Calibration
from analysis.quality.judgement import Thresholds

ALL = "all"


def summary_table(answers: pd.DataFrame, failed: Sequence[str], thresholds: Thresholds) -> pd.DataFrame:
    """How many answers there are, in all and in each group; `failed` are the groups of examples without an answer."""
    own = [
        _counts(name, answers[answers["group"] == name], failed.count(name), thresholds)
        for name in shown_groups([*answers["group"], *failed])
    ]
    return pd.DataFrame([_counts(ALL, answers, len(failed), thresholds), *own])


def strata_table(answers: pd.DataFrame, thresholds: Thresholds) -> pd.DataFrame:
    """A row for each stratum of each group: answers with a quality, the share above `thresholds.roc`, and mean MSP.

    No rows where no stratum is known. A mean over no answer is nan.
    """
    judged = answers[answers["quality"].notna() & (answers["stratum"] != "")]
    rows = []
    for (group, stratum), part in judged.groupby(["group", "stratum"], sort=False):
        correct = part["quality"] > thresholds.roc
        cells = {"share correct": float(correct.mean())}
        msp = part.get("msp", pd.Series(np.nan, part.index))
        cells |= {"mean MSP of correct": msp[correct].mean(), "of incorrect": msp[~correct].mean()}
        rows.append({"group": group, "stratum": stratum, "answers": len(part), **cells})
    return pd.DataFrame(rows)


def selected_heads_table(picked: SelectedHeads, *, most: int = 3) -> pd.DataFrame:
    """A row for each layer: its most frequent selected heads, in percent of answers (paper, head tables)."""
    rows = []
    for layer, count in zip(picked.layers, picked.counts, strict=True):
        found = list(picked.most_frequent(layer, most=most))
        padded = found + [(None, float("nan"))] * (most - len(found))
        ranks = [
            {f"top-{rank} head": head, f"top-{rank} percent": 100 * share}
            for rank, (head, share) in enumerate(padded, 1)
        ]
        rows.append(dict(chain({"layer": layer, "answers": count}.items(), *(rank.items() for rank in ranks))))
    table = pd.DataFrame(rows)
    return table.astype({name: "Int64" for name in table if name.endswith("head")})


def agreement_table(agreement: Agreement) -> pd.DataFrame:
    """A row for each layer: its most frequent head, and in what percent of each group's answers it is selected."""
    shares = {f"percent of {name}": 100 * own for name, own in zip(agreement.groups, agreement.shares, strict=True)}
    return pd.DataFrame({"layer": agreement.layers, "most frequent head": agreement.heads, **shares})


def gap_table(gaps: HeadGaps, columns: Sequence[int], *, name: str) -> pd.DataFrame:
    """A row for each layer, or offset, and head rule: the means of both sides and how far they are apart."""
    rules = (("selected head", gaps.picked), ("mean over heads", gaps.mean))
    return pd.DataFrame([row for rule, own in rules for row in _gap_rows(own, columns, {"heads": rule}, name)])


def best_and_worst_table(best_and_worst: BestAndWorst, answers: pd.DataFrame) -> pd.DataFrame:
    """A row for each answer of figure 2, the best first: its selected head, and the mean attention of every head.

    `answers` are those that `best_and_worst` was chosen from.
    """
    heads = {f"attention of head {head}": column for head, column in enumerate(best_and_worst.attention.T)}
    return pd.DataFrame(
        {
            "side": ["best"] * best_and_worst.k + ["worst"] * best_and_worst.k,
            **{name: answers[name].iloc[best_and_worst.rows].tolist() for name in ("number", "id", "group")},
            "quality": best_and_worst.quality,
            "selected head": best_and_worst.picks,
            **heads,
            **{name: answers[name].iloc[best_and_worst.rows].tolist() for name in ("answer", "prompt")},
        }
    )


def quality_bins_table(quality_bins: QualityBins, *, of: str) -> pd.DataFrame:
    """A row for each bin of `of`, attention or uncertainty: its ends, its median, and the mean quality."""
    means = quality_bins.quality_means
    return pd.DataFrame(
        {
            f"{of} from": quality_bins.low,
            "to": quality_bins.high,
            "median": quality_bins.middle,
            "answers": quality_bins.count,
            **dict(zip(_ends("mean quality"), (means.value, means.low, means.high), strict=True)),
        }
    )


def calibration_table(calibration: Calibration) -> pd.DataFrame:
    """A row for each score that occurs: the share of correct answers there, and how many answers the curve is of."""
    shares = dict(zip(_ends("share correct"), (calibration.share, calibration.low, calibration.high), strict=True))
    return pd.DataFrame({"uncertainty": calibration.scores, **shares, "answers": calibration.n})


def _ends(name: str) -> tuple[str, str, str]:
    return name, f"{name}, low", f"{name}, high"


def separation_table(separation: Separation, layers: Sequence[int]) -> pd.DataFrame:
    """A row for each head, the most discriminative first."""
    rows, heads = np.indices(separation.auc.shape)
    table = pd.DataFrame(
        {"layer": np.asarray(layers)[rows.ravel()], "head": heads.ravel(), "roc_auc": separation.auc.ravel()}
    )
    strength = (table["roc_auc"] - 0.5).abs()
    return table.loc[strength.sort_values(ascending=False, kind="stable").index].reset_index(drop=True)


def top_heads_table(top_heads: TopHeads, layers: Sequence[int]) -> pd.DataFrame:
    """A row for each head: its areas under the curve with their intervals, and in what percent it is selected."""
    table = {
        "layer": [layers[row] for row, _ in top_heads.heads],
        "head": [head for _, head in top_heads.heads],
        "roc_auc": top_heads.auc,
    }
    for name in ("held_out", "same_length", "words", "residual"):
        own = getattr(top_heads, name)
        table |= {name: own.value, f"{name}_low": own.low, f"{name}_high": own.high}
    return pd.DataFrame(table | {"selected_percent": 100 * top_heads.shares})


def _parts(answers: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    own = [(name, answers[answers["group"] == name]) for name in shown_groups(answers["group"])]
    return [(ALL, answers), *own]


def _counts(name: str, answers: pd.DataFrame, num_failed: int, thresholds: Thresholds) -> dict[str, object]:
    quality = answers["quality"].to_numpy(dtype=float)
    found = sides(quality, thresholds)
    num_undefined = int(np.isnan(quality).sum())
    num_correct, num_incorrect = int(found.correct.sum()), int(found.incorrect.sum())
    return {
        "group": name,
        "answers": len(answers),
        "correct": num_correct,
        "incorrect": num_incorrect,
        "neither": len(answers) - num_correct - num_incorrect - num_undefined,
        "without quality": num_undefined,
        "failed": num_failed,
        "mean quality": float("nan") if num_undefined == len(answers) else float(np.nanmean(quality)),
        "mean tokens": float(answers["num_tokens"].mean()),
    }


def _gap_rows(gaps: Gaps, columns: Sequence[int], first: dict[str, object], name: str) -> Iterator[dict[str, object]]:
    for at, column in enumerate(columns):
        yield {
            name: column,
            **first,
            "correct": int(gaps.correct.count[at]),
            "incorrect": int(gaps.incorrect.count[at]),
            "mean_correct": gaps.correct.mean[at],
            "mean_incorrect": gaps.incorrect.mean[at],
            "difference": gaps.absolute.value[at],
            "difference_low": gaps.absolute.low[at],
            "difference_high": gaps.absolute.high[at],
            "percent": gaps.percent.value[at],
            "percent_low": gaps.percent.low[at],
            "percent_high": gaps.percent.high[at],
            "undefined": gaps.reasons[at],
        }
