"""Algorithm 1 of the paper, over a batch of answers at once: heads -> confidence -> score."""

from typing import NamedTuple

import numpy as np

from rauq.aggregation import combine_layers, layer_scores, mean_update_scores
from rauq.batch import Answers, Batch
from rauq.confidence import confidence_of, signal_of
from rauq.errors import InvalidInput
from rauq.heads import head_weights, pick_heads
from rauq.settings import MEAN_UPDATES, Settings, resolve, signal_and_alpha, window


class Steps(NamedTuple):
    """What the algorithm computes on its way, for A answers padded to N tokens and a window of Lw layers.

    `settings` with signal and alpha filled in; `layers` absolute indices; `head_means` (A, Lw, H); `picked`
    (A, Lw, k) heads; `attention` (A, Lw, N - 1) of them on the previous token, averaged if they are several;
    `signal` (A, N); `confidence` (A, Lw, N); `layer_scores` (A, Lw); `uncertainty` (A,).
    """

    settings: Settings
    layers: tuple[int, ...]
    head_means: np.ndarray
    picked: np.ndarray
    attention: np.ndarray
    signal: np.ndarray
    confidence: np.ndarray
    layer_scores: np.ndarray
    uncertainty: np.ndarray


def algorithm(answers: Batch, settings: Settings) -> Steps:
    """Run every step.

    Raises:
        InvalidInput: settings that do not fit the batch.
    """
    check_batch(answers, settings)
    signal_name, alpha = signal_and_alpha(settings, answers.kind)
    settings = resolve(settings, answers.kind)
    layers = window(settings, captured=answers.layers, num_layers=answers.num_layers)

    # 1. In each layer, the head that attends most to the previous token.
    head_means = answers.head_means(layers)
    picked = pick_heads(head_means, layers, settings.heads)
    weights = head_weights(answers.attention, answers.rows(layers), picked)  # (A, Lw, k, N - 1)
    attention = weights.mean(axis=2, dtype=np.float64)

    # 2. Confidence flows from token to token through its attention.
    signal = signal_of(answers.logprobs, answers.entropies, answers.vocab_size, signal_name)
    confidence = confidence_of(signal[:, None], attention, alpha=alpha, update=settings.update)

    # 3. Uncertainty: over the tokens of each layer, then over the layers.
    if settings.update in MEAN_UPDATES:
        scores = mean_update_scores(signal, weights, answers.lengths, settings.update)
    else:
        scores = layer_scores(confidence, answers.lengths, settings.token_aggregation)
    uncertainty = combine_layers(scores, settings.layer_aggregation)
    return Steps(settings, layers, head_means, picked, attention, signal, confidence, scores, uncertainty)


def check_batch(answers: Answers, settings: Settings) -> None:
    """Require the alignment and the part that the batch was made with.

    Raises:
        InvalidInput: the settings ask for another one.
    """
    if settings.part != answers.part:
        message = (
            f"The batch holds the part {answers.part!r} of its answers, the settings ask for {settings.part!r}. "
            f"Make the batch again: batch(traces, part={settings.part!r})."
        )
        raise InvalidInput(message)
    if settings.alignment != answers.alignment:
        message = (
            f"The batch holds attention of alignment {answers.alignment!r}, the settings ask for "
            f"{settings.alignment!r}. Make the batch again: batch(traces, alignment={settings.alignment!r})."
        )
        raise InvalidInput(message)
