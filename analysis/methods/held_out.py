"""One fixed head a layer, chosen on a part of each group and used on the rest of it (paper, table of a single head)."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rauq.batch import Answers
from rauq.grid import score_grid
from rauq.settings import Settings, window

MOST = 100  # answers of a group that heads are chosen on (paper)
_SHARE = 3  # and never more than a third of it


def held_out(names: Sequence[str], *, seed: int = 0) -> np.ndarray:
    """Draw the part of each group that heads are chosen on: (A,), True there, given the group of each answer."""
    rng, given = np.random.default_rng(seed), np.asarray(names)
    chosen = np.zeros(len(given), dtype=bool)
    for name in np.unique(given):
        rows = np.flatnonzero(given == name)
        chosen[rng.permutation(rows)[: min(MOST, len(rows) // _SHARE)]] = True
    return chosen


def fixed_heads(answers: Answers, settings: Settings) -> tuple[tuple[int, int], ...]:
    """The (layer, head) of largest mean weight over the tokens of all these answers; none if no answer has two tokens.

    An answer weighs as much as it has tokens, as in the reference.
    """
    layers = window(settings, captured=answers.layers, num_layers=answers.num_layers)
    weights = answers.lengths - 1
    if not weights.any():
        return ()
    means = np.average(answers.head_means(layers)[weights > 0], axis=0, weights=weights[weights > 0])
    return tuple(zip(layers, (int(head) for head in means.argmax(axis=-1)), strict=True))


def score_single_head(answers: Answers, settings: Settings, names: Sequence[str], chosen: np.ndarray) -> np.ndarray:
    """Uncertainty (A,) of the answers that are not `chosen` (A,), with the heads of the chosen ones of their group.

    nan for the chosen answers themselves, and in groups where no head could be chosen.

    Raises:
        InvalidInput: settings that do not fit the batch.
    """
    uncertainty, given = np.full(len(chosen), np.nan), np.asarray(names)
    for name in np.unique(given):
        heads = fixed_heads(answers.take(np.flatnonzero((given == name) & chosen)), settings)
        rest = np.flatnonzero((given == name) & ~chosen)
        if heads and len(rest):
            uncertainty[rest] = score_grid(answers.take(rest), [replace(settings, heads=heads)])[0]
    return uncertainty
