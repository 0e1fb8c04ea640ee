"""Algorithm 1 while an answer is written: after each token its value is that of the tokens so far.

Where heads are selected, all of the window are followed, so that a selection which changes costs nothing: the heads
that are selected so far are those that `score` selects in the same tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from rauq.errors import InvalidInput
from rauq.scoring.algorithm import combine_layers, log_of, select_heads, signal_of
from rauq.scoring.settings import Settings, resolve, signal_and_alpha, window
from rauq.trace.batch import batch
from rauq.trace.trace import Trace


class PartialScore(NamedTuple):
    """The score of the tokens so far, of Lw layers.

    `uncertainty` in nats; `layer` is the one that gives it, by its place among the Lw, None where several do; `picked`
    (Lw,) heads, -1 where it is the mean over heads; `attention` (Lw,) of those on the previous token, nan at the first
    one, and their `confidence` (Lw,).
    """

    uncertainty: float
    layer: int | None
    picked: np.ndarray
    attention: np.ndarray
    confidence: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class OnlineState:
    """The state after `count` tokens: of each layer and head (Lw, K) the confidence, and sums of -log c and attention.

    `settings` have signal and alpha filled in; `layers` are absolute indices. K is the number of heads where one of
    them is selected, else 1: that of the `fixed` heads (Lw,), which are -1 for the mean over heads.
    """

    settings: Settings
    layers: tuple[int, ...]
    count: int = 0
    confidence: np.ndarray
    neg_log_sums: np.ndarray
    weight_sums: np.ndarray
    latest: np.ndarray
    fixed: np.ndarray | None

    @classmethod
    def begin(cls, settings: Settings, layers: Sequence[int], num_heads: int) -> "OnlineState":
        """The state before the first token.

        Raises:
            InvalidInput: settings that need the whole answer; the message names them.
        """
        _refuse_whole(settings)
        fixed = None
        if settings.heads == "mean":
            fixed = np.full(len(layers), -1)
        elif settings.heads != "max":
            fixed = select_heads(np.zeros((1, len(layers), num_heads)), layers, settings.heads)[0, :, 0]
        empty = np.zeros((len(layers), num_heads if fixed is None else 1))
        return cls(
            settings=settings,
            layers=tuple(layers),
            confidence=empty,
            neg_log_sums=empty,
            weight_sums=empty,
            latest=np.full_like(empty, np.nan),
            fixed=fixed,
        )

    def after(self, signal: float, attention: np.ndarray | None) -> "OnlineState":
        """The state after one more token.

        Args:
            signal: Of the token, as `rauq.scoring.algorithm.signal_of` has it.
            attention: Weights on the previous token; None for the first one. (Lw, H), or (Lw, 1) of fixed heads.
        """
        if self.count == 0 or attention is None:
            confidence, latest = np.full_like(self.confidence, signal), np.full_like(self.latest, np.nan)
            weight_sums = self.weight_sums
        else:
            own = np.asarray(attention, np.float64)
            latest = own.mean(axis=1, keepdims=True) if self.settings.heads == "mean" else own
            alpha = float(self.settings.alpha or 0.0)
            confidence = alpha * signal + (1 - alpha) * latest * self.confidence
            weight_sums = self.weight_sums + latest
        neg_log_sums = self.neg_log_sums - log_of(confidence)
        return replace(
            self,
            count=self.count + 1,
            confidence=confidence,
            neg_log_sums=neg_log_sums,
            weight_sums=weight_sums,
            latest=latest,
        )

    def partial_score(self) -> PartialScore:
        """The score of the tokens so far; there is at least one."""
        picked = select_heads(self.weight_sums[None], self.layers)[0, :, 0] if self.fixed is None else self.fixed
        own = np.arange(len(self.layers)), picked if self.fixed is None else 0
        scores = self.neg_log_sums[own] / self.count
        uncertainty = float(combine_layers(scores[None], self.settings.layer_aggregation)[0])
        layer = int(scores.argmax()) if self.settings.layer_aggregation == "max" else None
        return PartialScore(uncertainty, layer, picked, self.latest[own], self.confidence[own])


def partial_scores(trace: Trace, settings: Settings | None = None) -> tuple[PartialScore, ...]:
    """The scores that a monitor would have given after each of the N tokens of a stored answer, without thinking.

    `settings`: how to score; None: the paper's for this kind of model. An answer without the part that is scored has
    one score of nan.

    Raises:
        InvalidInput: settings that need the whole answer, or do not fit the trace.
        NotCaptured: the trace lacks attention.
    """
    settings = resolve(settings or Settings(), trace.kind)
    layers = window(settings, captured=trace.layers, num_layers=trace.num_layers)
    state = OnlineState.begin(settings, layers, trace.num_heads)
    answer = batch([trace], settings.alignment, settings.part)
    name, _ = signal_and_alpha(settings, trace.kind)
    signal = signal_of(answer.logprobs[0], answer.entropies[0], answer.vocab_size, name)
    weights = answer.attention[0, answer.rows(layers)]  # (Lw, H, N - 1)
    if state.fixed is not None and settings.heads != "mean":
        weights = weights[np.arange(len(layers)), state.fixed][:, None]
    scores = []
    for place, value in enumerate(signal.tolist()):
        state = state.after(value, weights[..., place - 1] if place else None)
        scores.append(state.partial_score())
    return tuple(scores)


def _refuse_whole(settings: Settings) -> None:
    allowed = {
        "update": settings.update == "rauq",
        "token_aggregation": settings.token_aggregation == "mean_log",
        "alignment": settings.alignment == "predicting",
        "heads": settings.heads != "top5",
    }
    if wrong := [name for name, fits in allowed.items() if not fits]:
        values = ", ".join(f"{name}={getattr(settings, name)!r}" for name in wrong)
        message = (
            f"{values}: this is known of a whole answer only. While it is written, use update='rauq', "
            "token_aggregation='mean_log', alignment='predicting', and heads 'max', 'mean' or fixed ones."
        )
        raise InvalidInput(message)
