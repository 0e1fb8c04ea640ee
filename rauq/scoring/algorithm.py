"""Algorithm 1 of the paper over a batch of answers under many settings; steps that settings share are computed once."""

from collections.abc import Callable, Iterator, Sequence
from operator import is_
from typing import NamedTuple

import numpy as np

from rauq.errors import InvalidInput
from rauq.scoring.settings import (
    MEAN_UPDATES,
    WITHOUT_ALPHA,
    HeadRule,
    LayerAggregation,
    Settings,
    Signal,
    TokenAggregation,
    Update,
    resolve,
    signal_and_alpha,
    window,
)
from rauq.trace.batch import Answers, Batch

TOP, RECENT = 5, 5
_SMALLEST = 1e-10  # the reference adds it to the entropy signal and to the mean that it divides by


def select_heads(
    head_means: np.ndarray, layers: Sequence[int], heads: HeadRule | tuple[tuple[int, int], ...] = "max"
) -> np.ndarray:
    """The heads used in each layer (A, Lw, k), the one with the largest mean first (paper, equation 1).

    `head_means` (A, Lw, H) is the mean weight on the previous token, `layers` the Lw absolute layer indices.
    k is 1, min(5, H) for "top5" and H for "mean". Ties go to the lowest index, and so does an answer of one token,
    which has no previous token and uses no head.

    Raises:
        InvalidInput: fixed heads that miss a layer of the window, or a head that the model does not have.
    """
    num_answers, _, num_heads = head_means.shape
    if isinstance(heads, tuple):
        fixed = _fixed_heads(heads, layers, num_heads)  # (Lw,)
        return np.broadcast_to(fixed[:, None], (num_answers, len(layers), 1))
    if heads == "max":
        return head_means.argmax(axis=-1, keepdims=True)
    largest_first = -np.where(np.isnan(head_means), np.inf, head_means)  # nan first, as argmax has it: never hidden
    ranked = np.argsort(largest_first, axis=-1, kind="stable")
    return ranked[..., :TOP] if heads == "top5" else ranked


def _fixed_heads(heads: tuple[tuple[int, int], ...], layers: Sequence[int], num_heads: int) -> np.ndarray:
    head_of = dict(heads)
    missing = [layer for layer in layers if layer not in head_of]
    if missing:
        message = (
            f"heads names no head for layers {', '.join(map(str, missing))} of the window. "
            "Name one (layer, head) for each, or narrow layers to those that are named."
        )
        raise InvalidInput(message)
    if max(head_of.values()) >= num_heads:
        message = f"heads names head {max(head_of.values())}; this model has heads 0 to {num_heads - 1}."
        raise InvalidInput(message)
    return np.array([head_of[layer] for layer in layers])


def head_weights(attention: np.ndarray, rows: np.ndarray, picked: np.ndarray) -> np.ndarray:
    """Previous-token weights of the selected heads: (A, Lw, k, N - 1) out of `attention` (A, L, H, N - 1).

    `rows` (Lw,) are positions on the layer axis of `attention`, `picked` (A, Lw, k) head indices.
    """
    answers = np.arange(len(attention))
    return attention[answers[:, None, None], rows[None, :, None], picked]


def signal_of(logprobs: np.ndarray, entropies: np.ndarray, vocab_size: int | None, signal: Signal) -> np.ndarray:
    """The signal of each token (..., N): exp(logprob), or log V - entropy in nats.

    The entropy signal may exceed 1. It is at least 1e-10, the term that the reference adds, so that its logarithm
    exists: float32 may round an entropy to just above log V.

    Raises:
        InvalidInput: the entropy signal without `vocab_size`, the width V of the logits.
    """
    if signal == "probability":
        return np.exp(logprobs, dtype=np.float64)
    if vocab_size is None:
        message = "signal='entropy' needs entropies and vocab_size, the width of the logits; give both."
        raise InvalidInput(message)
    return np.maximum(np.log(vocab_size) - entropies.astype(np.float64), 0.0) + _SMALLEST


def confidence_of(signal: np.ndarray, attention: np.ndarray, *, alpha: float, update: Update = "rauq") -> np.ndarray:
    """Confidence c (..., N) from the signal (..., N) and the attention to the previous token (..., N - 1).

    Leading axes broadcast: answers and layers run side by side, tokens one after the other. The updates other than
    "rauq" are the paper's ablations. `mean_product` and `mean_sum` have no confidence of single tokens: nan.
    """
    shape = np.broadcast_shapes(signal.shape[:-1], attention.shape[:-1])
    confidence = np.empty((*shape, signal.shape[-1]))
    confidence[..., 0] = signal[..., 0]
    now, before = signal[..., 1:], signal[..., :-1]
    match update:
        case "no_recurrence":
            confidence[..., 1:] = alpha * now + (1 - alpha) * attention
        case "previous_probability":
            confidence[..., 1:] = alpha * now + (1 - alpha) * attention * before
        case "product":
            confidence[..., 1:] = now * attention
        case "mean_product" | "mean_sum":
            confidence[...] = np.nan
        case _:
            gate, weighed = _gate(attention, update), alpha * signal
            for i in range(1, confidence.shape[-1]):
                inflow = gate[..., i - 1] * confidence[..., i - 1]
                confidence[..., i] = weighed[..., i] + (1 - alpha) * inflow
    return confidence


def _gate(attention: np.ndarray, update: Update) -> np.ndarray:
    """The factor a_i of the recurrence: under "rauq" the attention itself."""
    match update:
        case "no_attention":
            return np.ones_like(attention)
        case "minus_mean":
            return attention - _running_mean(attention)
        case "minus_recent_mean":
            return attention - _running_mean(attention, RECENT)
        case "ratio_to_mean":
            return attention / (_running_mean(attention) + _SMALLEST)
        case _:
            return attention


def _running_mean(attention: np.ndarray, recent: int | None = None) -> np.ndarray:
    """Mean of the weights so far, the current one included, or of the last `recent` of them."""
    totals = np.cumsum(attention, axis=-1)
    counts = np.arange(1, attention.shape[-1] + 1)
    if recent is not None:
        totals[..., recent:] = totals[..., recent:] - totals[..., :-recent]
        counts = np.minimum(counts, recent)
    return totals / counts


def log_of(confidence: np.ndarray) -> np.ndarray:
    """Its logarithm in nats: -inf of 0, and nan of a negative confidence."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(confidence)


def layer_scores(
    confidence: np.ndarray, logs: np.ndarray, counted: np.ndarray, aggregation: TokenAggregation
) -> np.ndarray:
    """u_l (A, Lw): minus the mean, sum or median of (log) confidence (A, Lw, N) over the `counted` tokens (A, N).

    The reference implementation adds 1; the paper does not. A fully confident answer scores 0 and not -0. A mean
    over no tokens is nan.
    """
    if aggregation == "median":
        return 0.0 - _median(confidence, counted)
    values, divisor = _summed(confidence, logs, counted, aggregation)
    with np.errstate(invalid="ignore"):  # 0 / 0 = nan
        return (0.0 - values.sum(axis=-1)) / divisor


def contributions_of(confidence: np.ndarray, counted: np.ndarray, aggregation: TokenAggregation) -> np.ndarray:
    """What each token adds to the score of its layer: (A, Lw, N), 0 where it is not counted; nan for "median"."""
    if aggregation == "median":
        return np.full_like(confidence, np.nan)
    values, divisor = _summed(confidence, log_of(confidence), counted, aggregation)
    return (0.0 - values) / divisor[..., None]


def _summed(
    confidence: np.ndarray, logs: np.ndarray, counted: np.ndarray, aggregation: TokenAggregation
) -> tuple[np.ndarray, np.ndarray]:
    """The terms (A, Lw, N) of a sum over tokens, and what that sum is divided by, (A, 1)."""
    values = (confidence if aggregation == "mean" else logs).copy()
    np.copyto(values, 0.0, where=~counted[:, None])
    divisor = counted.sum(axis=-1, keepdims=True)
    return values, np.ones_like(divisor) if aggregation == "sum_log" else divisor


def _median(confidence: np.ndarray, counted: np.ndarray) -> np.ndarray:
    ordered = np.sort(np.where(counted[:, None], confidence, np.inf), axis=-1)
    counts = counted.sum(axis=-1)[:, None, None]
    lower, upper = (np.take_along_axis(ordered, half, axis=-1)[..., 0] for half in ((counts - 1) // 2, counts // 2))
    undefined = (np.isnan(confidence) & counted[:, None]).any(axis=-1)
    return np.where(undefined, np.nan, (lower + upper) / 2)


def mean_update_scores(signal: np.ndarray, weights: np.ndarray, counted: np.ndarray, update: Update) -> np.ndarray:
    """u_l (A, Lw) of `mean_product` and `mean_sum`: means of log signal and of log attention, no recurrence.

    `signal` (A, N), `weights` (A, Lw, k, N - 1) of the k selected heads, `counted` (A, N). nan for one token alone.
    """
    counts = counted.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):  # log 0 = -inf; inf * 0 and 0 / 0 = nan
        log_signal = np.where(counted, np.log(signal), 0.0).sum(axis=-1) / counts
        log_weights = np.log(weights, dtype=np.float64).mean(axis=2)  # (A, Lw, N - 1)
        log_weights = np.where(counted[:, None, 1:], log_weights, 0.0).sum(axis=-1)
        log_weight = log_weights / (counts[:, None] - 1)
        if update == "mean_product":
            return log_signal[:, None] * log_weight
        return 0.0 - (log_signal[:, None] + log_weight)


def combine_layers(scores: np.ndarray, aggregation: LayerAggregation) -> np.ndarray:
    """Uncertainty (A,) from the layers' scores (A, Lw); nan in one layer is nan in the answer."""
    with np.errstate(invalid="ignore"):  # inf - inf = nan
        match aggregation:
            case "max":
                return scores.max(axis=-1)
            case "mean":
                return scores.mean(axis=-1)
            case "median":
                return np.median(scores, axis=-1)


Progress = Callable[[int, int], None]  # answers done, answers in all

_LEAST_BLOCK = 64  # answers at a time, more if they are short
_BLOCK = 64 * 30 * 32  # tokens in layers at a time: their confidence stays in the processor's cache


class Steps(NamedTuple):
    """The steps of the algorithm, for A answers padded to N tokens and a window of Lw layers.

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

    `on_progress` is called after every block of answers.

    Raises:
        InvalidInput: settings that do not fit the batch, its alignment included.
    """
    tasks = sorted((_task(answers, row, one) for row, one in enumerate(settings)), key=_shared_first)
    count = len(answers.lengths)
    uncertainty = np.empty((len(tasks), count))
    done = 0
    for places, block in _small_blocks(answers):
        counted, step = _all_tokens(block), _Shared()
        for task in tasks:
            uncertainty[task.row, places] = _algorithm(block, task, counted, step).uncertainty
        done += len(places)
        if on_progress is not None:
            on_progress(done, count)
    return uncertainty


def steps_of(answers: Batch, settings: Settings, *, counted: np.ndarray | None = None) -> Steps:
    """Every step under one setting, over all answers at once.

    `counted` (A, N) restricts the score to some tokens of each answer: confidence is computed over all of them, but the
    mean of -log c is over these alone, nan where an answer has none.

    Raises:
        InvalidInput: settings that do not fit the batch, or restricted ones without a mean of logs.
    """
    if counted is None:
        counted = _all_tokens(answers)
    elif settings.token_aggregation != "mean_log" or settings.update in MEAN_UPDATES:
        message = (
            f"Scoring only some tokens needs token_aggregation='mean_log' and an update with token confidences; "
            f"got {settings.token_aggregation!r} and {settings.update!r}."
        )
        raise InvalidInput(message)
    return _algorithm(answers, _task(answers, 0, settings), counted, _Shared())


def _small_blocks(answers: Answers) -> Iterator[tuple[np.ndarray, Batch]]:
    for places, block in answers.blocks():
        size = max(_LEAST_BLOCK, _BLOCK // max(1, block.logprobs.shape[1] * len(block.layers)))
        for start in range(0, len(places), size):
            rows = slice(start, start + size)
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


def _algorithm(answers: Batch, task: _Task, counted: np.ndarray, step: "_Shared") -> Steps:
    """Algorithm 1 of the paper; `step` computes once what a setting shares with the one before."""
    settings, layers = task.settings, task.layers

    # 1. In each layer, the head that attends most to the previous token (equation 1).
    head_means = answers.head_means(layers)
    picked = step(select_heads, head_means, layers, settings.heads)
    weights = step(_weights_of, answers, layers, picked)
    attention = step(_mean_of_heads, weights)

    # 2. Confidence is passed from token to token by its attention (equation 2).
    signal = step(signal_of, answers.logprobs, answers.entropies, answers.vocab_size, task.signal)
    confidence = step(_confidence_in_layers, signal, attention, task.alpha, settings.update)

    # 3. Uncertainty: over the tokens of each layer, then over the layers (equations 3 and 4).
    if settings.update in MEAN_UPDATES:
        scores = step(mean_update_scores, signal, weights, counted, settings.update)
    else:
        logs = step(log_of, confidence)
        scores = step(layer_scores, confidence, logs, counted, settings.token_aggregation)
    uncertainty = combine_layers(scores, settings.layer_aggregation)
    return Steps(settings, layers, counted, head_means, picked, attention, signal, confidence, scores, uncertainty)


def _weights_of(answers: Batch, layers: tuple[int, ...], picked: np.ndarray) -> np.ndarray:
    return head_weights(answers.attention, answers.rows(layers), picked)


def _mean_of_heads(weights: np.ndarray) -> np.ndarray:
    mean: np.ndarray = weights.mean(axis=2, dtype=np.float64)
    return mean


def _confidence_in_layers(signal: np.ndarray, attention: np.ndarray, alpha: float, update: Update) -> np.ndarray:
    return confidence_of(signal[:, None], attention, alpha=alpha, update=update)


class _Shared:
    """Computes a step only where its inputs differ from those of its last call; arrays are compared by identity."""

    def __init__(self) -> None:
        self._last: dict[Callable[..., np.ndarray], tuple[tuple[object, ...], np.ndarray]] = {}

    def __call__(self, step: Callable[..., np.ndarray], *inputs: object) -> np.ndarray:
        if step not in self._last or not _are_same(self._last[step][0], inputs):
            self._last.pop(step, None)  # else its confidence would evict the next one from the processor's cache
            self._last[step] = inputs, step(*inputs)
        return self._last[step][1]


def _are_same(before: tuple[object, ...], now: tuple[object, ...]) -> bool:
    return all(map(is_, before, now)) or all(map(_are_equal, before, now))


def _are_equal(before: object, now: object) -> bool:
    return before is now or (isinstance(now, tuple) and before == now)


def _shared_first(task: _Task) -> tuple[object, ...]:
    """The order in which settings share the most: what only the last steps depend on changes first."""
    settings = task.settings
    return task.layers, repr(settings.heads), task.signal, settings.update, task.alpha, settings.token_aggregation
