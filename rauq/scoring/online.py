"""Algorithm 1 while an answer is written: after each token its value is that of the tokens so far.

Where heads are selected, all of the window are followed, so that a selection which changes costs nothing: the heads
that are selected so far are those that `score` selects in the same tokens.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from rauq.errors import InvalidInput
from rauq.scoring.algorithm import combine_layers, log_of, select_heads, signal_of
from rauq.scoring.settings import Settings, resolve, signal_and_alpha, window
from rauq.trace.batch import Batch, batch
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


# The settings that a state follows; every other one has to be as in the paper.
_FOLLOWED = frozenset({"signal", "alpha", "layers", "heads", "layer_aggregation", "part"})


@dataclass(frozen=True, eq=False, kw_only=True)
class OnlineState:
    """The state after `count` tokens: of each layer and head (Lw, K) the confidence, and sums of -log c and attention.

    `settings` have signal and alpha filled in; `layers` are absolute indices. K is the number of heads where one of
    them is selected, else 1: that of the `fixed` heads (Lw,), which are -1 for the mean over heads. It is of one
    answer, or of A answers at once, with arrays (A, Lw, K).
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
    def begin(
        cls, settings: Settings, layers: Sequence[int], num_heads: int, *, answers: tuple[int, ...] = ()
    ) -> "OnlineState":
        """The state before the first token of one answer, or of `(A,)` answers.

        Raises:
            InvalidInput: settings that need the whole answer; the message names them.
        """
        _refuse_whole(settings)
        fixed = None
        if settings.heads == "mean":
            fixed = np.full(len(layers), -1)
        elif settings.heads != "max":
            fixed = select_heads(np.zeros((1, len(layers), num_heads)), layers, settings.heads)[0, :, 0]
        empty = np.zeros((*answers, len(layers), num_heads if fixed is None else 1))
        return cls(
            settings=settings,
            layers=tuple(layers),
            confidence=empty,
            neg_log_sums=empty,
            weight_sums=empty,
            latest=np.full_like(empty, np.nan),
            fixed=fixed,
        )

    def after(self, signal: float | np.ndarray, attention: np.ndarray | None) -> "OnlineState":
        """The state after one more token.

        Args:
            signal: Of the token, as `rauq.scoring.algorithm.signal_of` has it; (A,) for A answers.
            attention: Weights on the previous token; None for the first one. (Lw, H), or (Lw, 1) of fixed heads.
        """
        signal = np.asarray(signal)[..., None, None]
        if self.count == 0 or attention is None:
            confidence, latest = self.confidence * 0 + signal, np.full_like(self.latest, np.nan)
            weight_sums = self.weight_sums
        else:
            own = np.asarray(attention, np.float64)
            latest = own.mean(axis=-1, keepdims=True) if self.settings.heads == "mean" else own
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
        """The score of the tokens so far of one answer; there is at least one."""
        picked, shown = self._shown()
        scores = shown(self.neg_log_sums) / self.count
        uncertainty = float(combine_layers(scores[None], self.settings.layer_aggregation)[0])
        layer = int(scores.argmax()) if self.settings.layer_aggregation == "max" else None
        return PartialScore(uncertainty, layer, picked, shown(self.latest), shown(self.confidence))

    def layer_scores(self) -> tuple[np.ndarray, np.ndarray]:
        """Of each layer the mean of -log c over the tokens so far, and the last c, of its head: (Lw,) or (A, Lw)."""
        _, shown = self._shown()
        return shown(self.neg_log_sums) / self.count, shown(self.confidence)

    def of(self, answer: int) -> "OnlineState":
        """The state of one of A answers."""
        arrays = ("confidence", "neg_log_sums", "weight_sums", "latest")
        return replace(self, **{name: getattr(self, name)[answer] for name in arrays})

    def _shown(self) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        """The head of each layer, selected so far or fixed, and what takes its values out of (..., Lw, K)."""
        if self.fixed is not None:
            return self.fixed, lambda values: values[..., 0]
        sums = self.weight_sums
        picked = select_heads(sums.reshape(-1, *sums.shape[-2:]), self.layers)[..., 0].reshape(sums.shape[:-1])
        return picked, lambda values: np.take_along_axis(values, picked[..., None], axis=-1)[..., 0]


def partial_scores(trace: Trace, settings: Settings | None = None) -> tuple[PartialScore, ...]:
    """The scores that a monitor would have given after each of the N tokens of a stored answer, without thinking.

    `settings`: how to score; None: the paper's for this kind of model. An answer without the part that is scored has
    one score of nan.

    Raises:
        InvalidInput: settings that need the whole answer, or do not fit the trace.
        NotCaptured: the trace lacks attention.
    """
    settings = settings or Settings()
    _refuse_whole(settings)
    answer = batch([trace], settings.alignment, settings.part)
    return tuple(state.of(0).partial_score() for state in online_states(answer, settings))


def online_states(answers: Batch, settings: Settings | None = None) -> Iterator[OnlineState]:
    """The states of A answers after each of their N tokens, side by side; nan after the last token of one.

    Raises:
        InvalidInput: settings that need the whole answer, or do not fit the answers.
    """
    settings = resolve(settings or Settings(), answers.kind)
    layers = window(settings, captured=answers.layers, num_layers=answers.num_layers)
    count, _, num_heads, _ = answers.attention.shape
    state = OnlineState.begin(settings, layers, num_heads, answers=(count,))
    name, _ = signal_and_alpha(settings, answers.kind)
    signal = signal_of(answers.logprobs, answers.entropies, answers.vocab_size, name)  # (A, N)
    weights = answers.attention[:, answers.rows(layers)]  # (A, Lw, H, N - 1)
    if state.fixed is not None and settings.heads != "mean":
        weights = weights[:, np.arange(len(layers)), state.fixed][:, :, None]
    for place in range(signal.shape[1]):
        state = state.after(signal[:, place], weights[..., place - 1] if place else None)
        yield state


def _refuse_whole(settings: Settings) -> None:
    fixed = {name: value for name, value in vars(Settings()).items() if name not in _FOLLOWED}
    wrong = [name for name, value in fixed.items() if getattr(settings, name) != value]
    if settings.heads == "top5":
        wrong.append("heads")
    if wrong:
        values = ", ".join(f"{name}={getattr(settings, name)!r}" for name in wrong)
        message = (
            f"{values}: this is known of a whole answer only. While it is written, use "
            f"{', '.join(f'{name}={value!r}' for name, value in fixed.items())}, and heads 'max', 'mean' or fixed ones."
        )
        raise InvalidInput(message)
