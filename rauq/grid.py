"""Algorithm 1 over a batch of answers under many settings: what several settings have in common is computed once."""

from collections import defaultdict
from collections.abc import Callable, ItemsView, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from rauq.algorithm import (
    combine_layers,
    confidence_of,
    head_weights,
    layer_scores,
    mean_update_scores,
    pick_heads,
    signal_of,
)
from rauq.batch import Answers, Batch
from rauq.errors import InvalidInput
from rauq.settings import MEAN_UPDATES, WITHOUT_ALPHA, Settings, Signal, resolve, signal_and_alpha, window

Progress = Callable[[int, int], None]  # answers done, answers in all

_BLOCK = 64  # answers at a time: the confidence of their tokens stays in the processor's cache
_Key = TypeVar("_Key")


class Steps(NamedTuple):
    """What the algorithm computes on its way, for A answers padded to N tokens and a window of Lw layers.

    `settings` with signal and alpha filled in; `layers` absolute indices; `counted` (A, N), True on the tokens that
    the score of an answer is made of; `head_means` (A, Lw, H); `picked` (A, Lw, k) heads; `attention` (A, Lw, N - 1)
    of them on the previous token, averaged if they are several; `signal` (A, N); `confidence` (A, Lw, N);
    `layer_scores` (A, Lw); `uncertainty` (A,).
    """

    settings: Settings
    layers: tuple[int, ...]
    counted: np.ndarray
    head_means: np.ndarray
    picked: np.ndarray
    attention: np.ndarray
    signal: np.ndarray
    confidence: np.ndarray
    layer_scores: np.ndarray
    uncertainty: np.ndarray


class _Task(NamedTuple):
    """A row of the result: its settings, and the layers, signal and alpha that they come to."""

    row: int
    settings: Settings
    layers: tuple[int, ...]
    signal: Signal
    alpha: float


def score_grid(answers: Answers, settings: Sequence[Settings], *, on_progress: Progress | None = None) -> np.ndarray:
    """Uncertainty (S, A) of every answer under each of S settings: that of `score_many`, faster where they are many.

    `on_progress` hears of every block of answers.

    Raises:
        InvalidInput: settings that do not fit the batch, its alignment included.
    """
    tasks = [_task(answers, row, one) for row, one in enumerate(settings)]
    tasks.sort(key=lambda task: task.layers)  # a batch keeps the head means of the latest layers
    count = len(answers.lengths)
    uncertainty = np.empty((len(tasks), count))
    done = 0
    for places, block in _small_blocks(answers):
        for row, steps in _steps(block, tasks, _all_tokens(block)):
            uncertainty[row, places] = steps.uncertainty
            del steps  # its confidence would push the next one out of the cache
        done += len(places)
        if on_progress is not None:
            on_progress(done, count)
    return uncertainty


def steps_of(answers: Batch, settings: Settings, *, counted: np.ndarray | None = None) -> Steps:
    """Every step under one setting: a grid of one, over all answers at once.

    `counted` (A, N) restricts the score to some tokens of each answer: confidence flows through all of them, but the
    mean of -log c is over these alone, nan where an answer has none.

    Raises:
        InvalidInput: settings that do not fit the batch, or restricted ones without a mean of logs.
    """
    if counted is None:
        counted = _all_tokens(answers)
    elif settings.token_aggregation != "mean_log" or settings.update in MEAN_UPDATES:
        message = (
            f"Some tokens alone have a score of token_aggregation='mean_log' and an update with confidence; "
            f"got {settings.token_aggregation!r} and {settings.update!r}."
        )
        raise InvalidInput(message)
    [(_, steps)] = _steps(answers, [_task(answers, 0, settings)], counted)
    return steps


def _small_blocks(answers: Answers) -> Iterator[tuple[np.ndarray, Batch]]:
    for places, block in answers.blocks():
        for start in range(0, len(places), _BLOCK):
            rows = slice(start, start + _BLOCK)
            yield places[rows], block.take(rows)


def _task(answers: Answers, row: int, settings: Settings) -> _Task:
    for name, held, asked in (
        ("part", answers.part, settings.part),
        ("alignment", answers.alignment, settings.alignment),
    ):
        if held != asked:
            message = (
                f"The batch was made with {name}={held!r}, the settings ask for {name}={asked!r}. "
                f"Make the batch again: batch(traces, {name}={asked!r})."
            )
            raise InvalidInput(message)
    signal, alpha = signal_and_alpha(settings, answers.kind)
    layers = window(settings, captured=answers.layers, num_layers=answers.num_layers)
    alpha = 1.0 if settings.update in WITHOUT_ALPHA else alpha
    return _Task(row, resolve(settings, answers.kind), layers, signal, alpha)


def _all_tokens(answers: Batch) -> np.ndarray:
    """True on the tokens of each answer and False in the padding: (A, N)."""
    return np.arange(answers.logprobs.shape[1]) < answers.lengths[:, None]


def _steps(answers: Batch, tasks: list[_Task], counted: np.ndarray) -> Iterator[tuple[int, Steps]]:
    """Algorithm 1 for every row: what rows have in common is computed in the loop around them."""
    # 1. In each layer, the head that attends most to the previous token.
    for (layers, heads), same_heads in _alike(tasks, lambda task: (task.layers, task.settings.heads)):
        head_means = answers.head_means(layers)
        picked = pick_heads(head_means, layers, heads)
        weights = head_weights(answers.attention, answers.rows(layers), picked)  # (A, Lw, k, N - 1)
        attention = weights.mean(axis=2, dtype=np.float64)

        # 2. Confidence flows from token to token through its attention.
        for name, same_signal in _alike(same_heads, lambda task: task.signal):
            signal = signal_of(answers.logprobs, answers.entropies, answers.vocab_size, name)
            inputs = layers, counted, head_means, picked, attention, signal
            for (update, alpha), same_update in _alike(same_signal, lambda task: (task.settings.update, task.alpha)):
                confidence = confidence_of(signal[:, None], attention, alpha=alpha, update=update)

                # 3. Uncertainty: over the tokens of each layer, then over the layers.
                for aggregation, same_tokens in _alike(same_update, lambda task: task.settings.token_aggregation):
                    if update in MEAN_UPDATES:
                        scores = mean_update_scores(signal, weights, counted, update)
                    else:
                        scores = layer_scores(confidence, counted, aggregation)
                    for row, settings, *_ in same_tokens:
                        uncertainty = combine_layers(scores, settings.layer_aggregation)
                        yield row, Steps(settings, *inputs, confidence, scores, uncertainty)


def _alike(tasks: list[_Task], of: Callable[[_Task], _Key]) -> ItemsView[_Key, list[_Task]]:
    """What tasks have in common, and the tasks."""
    groups: defaultdict[_Key, list[_Task]] = defaultdict(list)
    for task in tasks:
        groups[of(task)].append(task)
    return groups.items()
