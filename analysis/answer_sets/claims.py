"""What the views of a set of answers found, each in one sentence for a reader who knows no statistics.

The sentences of the views give the numbers behind them.
"""

import numpy as np

from analysis.answer_sets.best_and_worst import BestAndWorst
from analysis.answer_sets.gaps import LEAST, Enough, Gaps, HeadGaps
from analysis.answer_sets.heads import SelectedHeads
from analysis.answer_sets.sentences import gap_of_head
from analysis.answer_sets.separation import Separation
from analysis.calibration import Calibration, share_at
from analysis.stats import Estimate
from rauq.labels import listed, number

_CONFIDENT, _UNCERTAIN = 0.1, 0.9  # of the answers are less uncertain


def separation_claim(found: Separation) -> str:
    """How many heads attend differently in correct and in incorrect answers."""
    if found.best is None:
        return f"Nothing to compare: {found.labelled.reason}"
    size = f"{found.auc.size:,} heads"
    if not found.num_beyond:
        return f"Not one of {size} is shown to attend differently in correct and in incorrect answers"
    attend = "attends" if found.num_beyond == 1 else "attend"
    return f"{found.num_beyond:,} of {size} {attend} differently in correct and in incorrect answers"


def best_and_worst_claim(shown: BestAndWorst, layer: int) -> str:
    """Whether the framed head attends more in the best answers than in the worst."""
    if shown.head is None:
        return f"Nothing to compare: {shown.reason}"
    return _attends(
        gap_of_head(shown, shown.head), 0, f"Head {shown.head} of layer {layer}", ("the best answers", "the worst")
    )


def gap_claim(found: HeadGaps, column: int, layer: int) -> str:
    """Whether the selected head of a layer attends more in correct answers."""
    if np.isnan(found.picked.absolute.value[column]):
        return f"Layer {layer}: nothing to compare: {found.picked.reasons[column]}"
    return _attends(found.picked, column, f"The selected head of layer {layer}", ("correct answers", "incorrect ones"))


def _attends(own: Gaps, column: int, head: str, sides: tuple[str, str]) -> str:
    low, high = own.absolute.low[column], own.absolute.high[column]
    if np.isnan(low):
        what = f"{head[:1].lower()}{head[1:]} attends more in {sides[0]} than in {sides[1]}"
        return f"Whether {what} is not known: {own.reasons[column]}"
    if low > 0 or high < 0:
        return f"{head} attends {'more' if low > 0 else 'less'} in {sides[0]} than in {sides[1]}"
    return f"{head} is not shown to attend more in {sides[0]} than in {sides[1]}"


def bins_claim(spearman: Estimate, layer: int) -> str:
    """Whether answers are better where the selected head attends more."""
    if spearman.reason or spearman.no_interval:
        reason = spearman.reason or spearman.no_interval
        return f"Layer {layer}: whether quality is linked to attention is not known: {reason}"
    if spearman.low > 0 or spearman.high < 0:
        return (
            f"Answers are {'better' if spearman.low > 0 else 'worse'} where the selected head of layer {layer} attends "
            "more"
        )
    return f"No link is shown between attention in layer {layer} and the quality of an answer"


def distances_claim(enough: Enough, layer: int) -> str:
    """How far back attention differs between correct and incorrect answers."""
    if not enough.shown:
        return f"Layer {layer}: nothing to compare: fewer than {LEAST} correct or incorrect answers at every distance"
    differ = list(map(str, enough.significant))
    if not differ:
        count = f"{len(enough.shown)} distances"
        return f"In layer {layer}, attention of correct and incorrect answers is not shown to differ at any of {count}"
    where = f"distance{'' if len(differ) == 1 else 's'} {listed(differ)}"
    return f"In layer {layer}, correct and incorrect answers differ in attention at {where} of {enough.shown[-1]}"


def selected_heads_claim(found: SelectedHeads, layer: int) -> str:
    """Which head of a layer is selected most often."""
    if not (top := found.most_frequent(layer)):
        return f"No head of layer {layer} is selected in any answer"
    head, share = top[0]
    return f"RAUQ selects head {head} of layer {layer} in {number(100 * share, places=0)} % of answers"


def meaning_claim(calibration: Calibration, uncertainty: np.ndarray) -> str:
    """The share of correct answers among confident and among uncertain ones."""
    if calibration.reason:
        return f"The share of correct answers by score is undefined: {calibration.reason}"
    scores = np.nanquantile(uncertainty, (_CONFIDENT, _UNCERTAIN))
    confident, uncertain = (share_at(calibration, float(score)) for score in scores)
    if not confident.low > uncertain.high:
        return "Confident answers are not shown to be correct more often than uncertain ones"
    first, last = (number(100 * one.value, places=0) for one in (confident, uncertain))
    return f"{first} % of answers with low uncertainty are correct, {last} % of those with high uncertainty"
