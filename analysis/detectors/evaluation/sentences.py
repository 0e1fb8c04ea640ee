"""What the tables of detectors say, and how to read them."""

import math
from types import MappingProxyType

from analysis.answer_sets.sentences import joined
from analysis.detectors.evaluation.results import MEAN, TEXT, Evaluation, Row, SplitTable
from analysis.detectors.evaluation.splits import Split
from analysis.methods.comparison import RAUQ, Metric, name_of
from analysis.stats import METRICS, Estimate, in_words
from rauq.labels import number, running

MARK = "†"
SPLIT_NAMES = MappingProxyType[Split, str](
    {"in_domain": "in-domain", "out_of_domain": "out-of-domain", "family_out": "families left out"}
)
_HOW = MappingProxyType[Split, str](
    {
        "in_domain": "Five folds by question within each data set.",
        "out_of_domain": "Each data set is scored by fits on all others.",
        "family_out": "Each family is scored by fits on the other families.",
    }
)


def plain_name(row: Row) -> str:
    """The name of a row for a reader."""
    return "Text classifier" if row.id == TEXT else name_of(row.id)


def row_names(table: SplitTable) -> list[str]:
    """The names of all rows, marked where one is not significantly better than the text classifier."""
    return [marked_name(row, marked=table.is_marked(row)) for row in table.rows]


def marked_name(row: Row, *, marked: bool) -> str:
    """The name of a row, with or without the mark."""
    return f"{plain_name(row)} {MARK}" if marked else plain_name(row)


def split_title(split: Split) -> str:
    """The name of a split as a heading."""
    return SPLIT_NAMES[split].capitalize()


def split_sentence(table: SplitTable) -> str:
    """Which detector ranks best under a split, and which do not rank better than the text classifier."""
    return f"{split_headline(table)}. {split_details(table)}"


def split_headline(table: SplitTable) -> str:
    """Which detector ranks best, in names and numbers alone."""
    if not (ranked := _ranked(table)):
        return f"{split_title(table.split)}: {'undefined' if table.reason else 'no detector is ranked'}"
    best = max(ranked, key=lambda row: row.estimates[-1].value)
    metric = f"{'mean ' if table.columns[-1] == MEAN else ''}{METRICS[table.metric]}"
    return (
        f"{split_title(table.split)}: {plain_name(best)} ranks best of {len(ranked)} detectors by {metric}, "
        f"{in_words(best.estimates[-1])}"
    )


def split_details(table: SplitTable) -> str:
    """The text classifier and RAUQ beside the best detector, and which detectors the text explains; or why none is."""
    if not (ranked := _ranked(table)):
        reasons = (row.estimates[-1].reason for row in table.detectors)
        reason = table.reason or next(reasons, "no method was asked for")
        return f"{reason[:1].upper()}{reason[1:].removesuffix('.')}."
    best = max(ranked, key=lambda row: row.estimates[-1].value)
    return joined(
        f"Text classifier {_value(table, TEXT)}, RAUQ {_value(table, RAUQ)}{_against(best.minus_rauq[-1])}.",
        _marked_sentence(table, ranked),
    )


def _ranked(table: SplitTable) -> list[Row]:
    return [row for row in table.detectors if not math.isnan(row.estimates[-1].value)]


def _value(table: SplitTable, method: str) -> str:
    row = table.row(method)
    return "–" if row is None else number(row.estimates[-1].value, places=2)


def _against(difference: Estimate) -> str:
    """How the best detector compares with RAUQ, in brackets; "" where that is undefined."""
    if difference.reason:
        return ""
    if difference.low > 0:
        return " (significantly lower)"
    return " (significantly higher)" if difference.high < 0 else " (no significant difference)"


def _marked_sentence(table: SplitTable, ranked: list[Row]) -> str:
    marked = [plain_name(row) for row in ranked if table.is_marked(row)]
    if not marked:
        return "Each ranks significantly better than the text classifier."
    return f"Not significantly better than the text classifier ({MARK}): {', '.join(marked)}."


def undefined_sentence(table: SplitTable) -> str:
    """Which rows have no value in the last column, and why."""
    undefined = [row for row in table.rows if math.isnan(row.estimates[-1].value)]
    said = (f"{plain_name(row)}: {row.estimates[-1].reason.removesuffix('.')}" for row in undefined)
    return f"Undefined (–): {'; '.join(said)}." if undefined else ""


def table_caption(table: SplitTable) -> str:
    """How the answers of a split are scored, and what the mark means."""
    return (
        f"{METRICS[table.metric]} on answers whose question no fit has seen. {_HOW[table.split]} {MARK}: in the mean "
        "or over all answers not significantly better than logistic regression on the text (95 % bootstrap). "
        "Settings are searched on the first fold."
    )


def leak_caption(metric: Metric) -> str:
    """What the control of text leaks shows."""
    chance = "0" if metric == "prr" else "0.5"
    return (
        f"Detector minus text classifier and minus RAUQ, paired; {MARK}: the first 95 % interval is not above 0. "
        f"Shuffled labels: the same detector fitted on labels in random order, {chance} expected. Intervals leave out "
        "variation between fits."
    )


def figure_caption(metric: Metric) -> str:
    """What the figure shows."""
    scale = "1 is the best ranking, 0 random" if metric == "prr" else "0.5 is random"
    return (
        f"{METRICS[metric]} ({scale}) on answers that no fit has seen, with 95 % bootstrap intervals. Filled blue: "
        "significantly better than the text classifier; hollow: not. Diamond: RAUQ, which is not fitted."
    )


def about_evaluation(found: Evaluation) -> str:
    """Which answers of which model were used."""
    used = ", ".join(f"{running(run.data)} ({run.answers:,})" for run in found.runs)
    grids = "full" if found.full else "reduced"
    return (
        f"{running(found.model)}, answers to {used}. Correct: quality above {found.threshold:g}. Search: {grids} "
        f"grids. Seed {found.seed}."
    )


def dropped_note(table: SplitTable) -> str:
    """How many training answers are left out since their question is scored too; "" where none is."""
    if not table.dropped:
        return ""
    return f"{table.dropped:,} training answers are left out: their question is asked in the scored data set too."
