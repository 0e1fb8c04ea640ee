"""Many settings on the same answers: what several settings have in common is computed once."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from rauq.aggregation import combine_layers, layer_scores, mean_update_scores
from rauq.algorithm import check_batch
from rauq.batch import Answers, Batch
from rauq.confidence import confidence_of, signal_of
from rauq.heads import head_weights, pick_heads
from rauq.settings import MEAN_UPDATES, Settings, Signal, resolve, signal_and_alpha, window

Progress = Callable[[int, int], None]  # answers done, answers in all

_WITHOUT_ALPHA = ("product", *MEAN_UPDATES)  # updates that alpha has no part in
_BLOCK = 64  # answers at a time: the confidence of their tokens stays in the processor's cache


class _Task(NamedTuple):
    """A row of the result: its settings, and the layers, signal and alpha that they come to."""

    row: int
    settings: Settings
    layers: tuple[int, ...]
    signal: Signal
    alpha: float


class _Picked(NamedTuple):
    """Weights of the picked heads (A, Lw, k, N - 1), and their mean over the heads (A, Lw, N - 1)."""

    weights: np.ndarray
    attention: np.ndarray


def score_grid(answers: Answers, settings: Sequence[Settings], *, on_progress: Progress | None = None) -> np.ndarray:
    """Uncertainty (S, A) of every answer under each of S settings: that of `score_many`, faster where they are many.

    Heads are picked once for all settings of the same layers and head rule, confidence is computed once for all
    aggregations of the same signal, update and alpha. `on_progress` hears of every block of answers.

    Raises:
        InvalidInput: settings that do not fit the batch, its alignment included.
    """
    tasks = [_task(answers, row, one) for row, one in enumerate(settings)]
    count = len(answers.lengths)
    uncertainty = np.empty((len(tasks), count))
    done = 0
    for places, block in _small_blocks(answers):
        uncertainty[:, places] = _score_block(block, tasks)
        done += len(places)
        if on_progress is not None:
            on_progress(done, count)
    return uncertainty


def _small_blocks(answers: Answers) -> Iterator[tuple[np.ndarray, Batch]]:
    for places, block in answers.blocks():
        for start in range(0, len(places), _BLOCK):
            rows = slice(start, start + _BLOCK)
            yield places[rows], block.take(rows)


def _task(answers: Answers, row: int, settings: Settings) -> _Task:
    check_batch(answers, settings)
    signal, alpha = signal_and_alpha(settings, answers.kind)
    alpha = 1.0 if settings.update in _WITHOUT_ALPHA else alpha
    layers = window(settings, captured=answers.layers, num_layers=answers.num_layers)
    return _Task(row, resolve(settings, answers.kind), layers, signal, alpha)


def _score_block(answers: Batch, tasks: list[_Task]) -> np.ndarray:
    """The uncertainty (S, A) of a block of answers."""
    uncertainty = np.empty((len(tasks), len(answers.lengths)))
    for same_layers in _alike(tasks, lambda task: task.layers):
        layers = same_layers[0].layers
        head_means, rows = answers.head_means(layers), answers.rows(layers)
        for same_heads in _alike(same_layers, lambda task: task.settings.heads):
            picked = pick_heads(head_means, layers, same_heads[0].settings.heads)
            weights = head_weights(answers.attention, rows, picked)
            found = _Picked(weights, weights.mean(axis=2, dtype=np.float64))
            for same_signal in _alike(same_heads, lambda task: task.signal):
                _score_signal(answers, found, same_signal, uncertainty)
    return uncertainty


def _score_signal(answers: Batch, picked: _Picked, tasks: list[_Task], uncertainty: np.ndarray) -> None:
    """Write what settings of the same layers, heads and signal give."""
    signal = signal_of(answers.logprobs, answers.entropies, answers.vocab_size, tasks[0].signal)
    for same_update in _alike(tasks, lambda task: (task.settings.update, task.alpha)):
        update, alpha = same_update[0].settings.update, same_update[0].alpha
        confidence = confidence_of(signal[:, None], picked.attention, alpha=alpha, update=update)
        for same_tokens in _alike(same_update, lambda task: task.settings.token_aggregation):
            if update in MEAN_UPDATES:
                scores = mean_update_scores(signal, picked.weights, answers.lengths, update)
            else:
                scores = layer_scores(confidence, answers.lengths, same_tokens[0].settings.token_aggregation)
            for task in same_tokens:
                uncertainty[task.row] = combine_layers(scores, task.settings.layer_aggregation)


def _alike(tasks: list[_Task], of: Callable[[_Task], Hashable]) -> list[list[_Task]]:
    """The tasks by what they have in common."""
    groups: dict[Hashable, list[_Task]] = defaultdict(list)
    for task in tasks:
        groups[of(task)].append(task)
    return list(groups.values())
