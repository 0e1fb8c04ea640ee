"""RAUQ + heads, fitted on a run and kept for its model: a detector that the library scores with, without a run."""

from collections import Counter
from dataclasses import replace

import numpy as np

from analysis.answer_sets.separation import areas, labelled
from analysis.methods.added_heads import Candidates, best_heads
from analysis.runs.manifest import Answerer
from rauq.detectors.added_heads import MOST_GROUPS, AddedHeads, Scale
from rauq.detectors.checks import LONGEST_NAME
from rauq.errors import InvalidInput
from rauq.labels import shortened
from rauq.scoring.settings import Settings, resolve


def fitted_added_heads(given: Candidates, *, k: int, answerer: Answerer, settings: Settings, data: str) -> AddedHeads:
    """Choose k heads by ROC-AUC on all labelled answers, and standardise by all answers with attention and a score.

    `settings` are those of the scores in `given`, and `data` is the name of the data set.

    Raises:
        InvalidInput: no heads can be chosen, or all answers have one score or one attention.
    """
    heads = _chosen(given, k)
    attention = given.means[:, heads].mean(axis=1)
    known = np.isfinite(attention) & np.isfinite(given.uncertainty)
    scales = [_scale(values[known]) for values in (given.uncertainty, attention)]
    scores = [
        (values[known] - scale.mean) / scale.std
        for values, scale in zip((given.uncertainty, attention), scales, strict=True)
    ]
    return AddedHeads(
        model=answerer.name,
        revision=answerer.revision,
        kind=answerer.kind,
        num_layers=answerer.num_layers,
        num_heads=answerer.num_heads,
        heads=tuple(given.heads[place] for place in heads),
        settings=replace(resolve(settings, answerer.kind), part="answer"),
        uncertainty=scales[0],
        attention=scales[1],
        reference=tuple(np.sort(scores[0] - scores[1]).tolist()),
        groups=_largest_groups(np.array(given.groups, dtype=object)[known].tolist()),
        data=shortened(data, longest=LONGEST_NAME),
    )


def _chosen(given: Candidates, k: int) -> np.ndarray:
    counted = labelled(given.means, given.sides, given.groups)
    if counted.reason or len(given.heads) < k:
        reason = counted.reason or f"there are {len(given.heads)} heads to choose {k} of"
        message = f"RAUQ + heads cannot be fitted: {reason}. Use a run with correct and incorrect answers."
        raise InvalidInput(message)
    return best_heads(areas(given.means, counted), k)


def _scale(values: np.ndarray) -> Scale:
    """The mean and the standard deviation of values (n,)."""
    if values.std() <= 1e-12 * np.abs(values).max():
        message = "RAUQ + heads cannot be fitted: all answers have one value. Use a run with more answers."
        raise InvalidInput(message)
    return Scale(mean=float(values.mean()), std=float(values.std()))


def _largest_groups(names: list[str]) -> tuple[tuple[str, int], ...]:
    found = Counter(shortened(name, longest=LONGEST_NAME) for name in names)
    return tuple(sorted(found.most_common(MOST_GROUPS)))
