"""The score of an answer, with everything it was made of, and the scores of a batch."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rauq.aggregation import contributions_of
from rauq.algorithm import Steps, algorithm
from rauq.batch import Batch, batch, batch_of_arrays
from rauq.collapse import collapse_of
from rauq.confidence import signal_of
from rauq.heads import margins
from rauq.reasons import Reasons, why_uncertainty, why_undefined
from rauq.settings import Settings, signal_and_alpha
from rauq.trace import Trace

NO_INDEX = -1  # in place of a head where all were averaged, or of a layer where none decided


@dataclass(frozen=True, eq=False, kw_only=True)
class Score:
    """The uncertainty of one answer of N tokens, and what it was made of, over the Lw layers of the window.

    `uncertainty`: higher is less sure; nats for the logarithmic aggregations. `settings`: with signal and alpha
    filled in. `layers`: absolute indices. `heads` (Lw,): the head picked in each, the first of the five for "top5",
    -1 for "mean". `margins` (Lw,): its mean weight minus the best other head's; nan for "mean" and for one token.
    `layer_scores` (Lw,): u_l. `layer`: the one that decided, None for mean and median and where the score is nan.

    `signal` (N,); `attention` (Lw, N - 1) of the picked heads on the previous token; `confidence` (Lw, N): c_l(y_i);
    `sure_confidence` (Lw, N): r, the confidence of a sure model.

    `contributions` (N,) sum to the score. `collapse` (N,) is log r - log c in nats, and `collapse_shares` (N, 2) what
    signal and attention made of it: the two sum to it. All three are the deciding layer's. The mean over layers
    lets every layer decide equally, so there they are means over layers; for the median they are undefined.
    Undefined is nan, and `reasons` says why.
    """

    uncertainty: float
    settings: Settings
    layers: tuple[int, ...]
    heads: np.ndarray
    margins: np.ndarray
    layer_scores: np.ndarray
    layer: int | None
    signal: np.ndarray
    attention: np.ndarray
    confidence: np.ndarray
    sure_confidence: np.ndarray
    contributions: np.ndarray
    collapse: np.ndarray
    collapse_shares: np.ndarray
    reasons: Reasons


@dataclass(frozen=True, eq=False, kw_only=True)
class Scores:
    """The uncertainty of A answers over the Lw layers of the window; the words are those of `Score`.

    `uncertainty` (A,); `layer` (A,), -1 where `Score.layer` is None; `heads` (A, Lw); `layer_scores` (A, Lw);
    `reasons` (A,): why an uncertainty is nan, else an empty string.
    """

    uncertainty: np.ndarray
    settings: Settings
    layers: tuple[int, ...]
    layer: np.ndarray
    heads: np.ndarray
    layer_scores: np.ndarray
    reasons: np.ndarray


def score(trace: Trace, settings: Settings | None = None) -> Score:
    """Score one answer; no model is needed. None are the paper's settings for the trace's kind.

    Raises:
        InvalidInput: settings that do not fit the trace's layers or heads.
        NotCaptured: the alignment needs attention that the trace lacks.
    """
    settings = settings or Settings()
    return _score_only(batch([trace], settings.alignment), settings)


def score_arrays(
    attention: np.ndarray,
    logprobs: np.ndarray,
    settings: Settings,
    *,
    entropies: np.ndarray | None = None,
    vocab_size: int | None = None,
    layer_ids: Sequence[int] | None = None,
    num_layers: int | None = None,
) -> Score:
    """Score one answer from bare arrays: `attention` (L, H, N - 1) on the previous token, `logprobs` (N,) in nats.

    `settings` must name signal and alpha, for there is no kind to look them up for. The entropy signal needs
    `entropies` (N,) in nats and `vocab_size`, the width of the logits. `layer_ids` (L,) are absolute indices, by
    default 0 to L - 1, out of `num_layers`. Which query the weights belong to is the caller's choice, so
    `settings.alignment` has no effect.

    Raises:
        InvalidInput: shapes that do not fit, values out of their range, or missing arguments.
    """
    single = batch_of_arrays(
        attention,
        logprobs,
        alignment=settings.alignment,
        entropies=entropies,
        vocab_size=vocab_size,
        layer_ids=layer_ids,
        num_layers=num_layers,
    )
    return _score_only(single, settings)


def score_many(answers: Batch, settings: Settings | None = None) -> Scores:
    """Score every answer of a batch at once. None are the paper's settings for the kind of its model.

    The batch keeps its head means, so another call, with another alpha for example, reads only the picked heads.

    Raises:
        InvalidInput: settings that do not fit the batch, its alignment included.
    """
    steps = algorithm(answers, settings or Settings())
    return Scores(
        uncertainty=steps.uncertainty,
        settings=steps.settings,
        layers=steps.layers,
        layer=_deciding_layers(steps),
        heads=_picked_heads(steps),
        layer_scores=steps.layer_scores,
        reasons=why_uncertainty(steps, answers.lengths),
    )


def _score_only(single: Batch, settings: Settings) -> Score:
    """The score of a batch of one answer, and what it was made of."""
    steps = algorithm(single, settings)
    settings = steps.settings
    signal_name, alpha = signal_and_alpha(settings, single.kind)
    sure_signal = float(signal_of(np.zeros(()), np.zeros(()), single.vocab_size, signal_name))
    in_layers = collapse_of(steps.signal[0], steps.attention[0], sure_signal, alpha=alpha, update=settings.update)
    per_token = contributions_of(steps.confidence, single.lengths, settings.token_aggregation)

    layer = int(_deciding_layers(steps)[0])
    contributions = _over_layers(per_token[0], steps, layer)
    collapse = _over_layers(in_layers.collapse, steps, layer)
    shares = _over_layers(in_layers.shares, steps, layer)
    heads = _picked_heads(steps)[0]
    return Score(
        uncertainty=float(steps.uncertainty[0]),
        settings=settings,
        layers=steps.layers,
        heads=heads,
        margins=margins(steps.head_means[0], heads),
        layer_scores=steps.layer_scores[0],
        layer=None if layer == NO_INDEX else layer,
        signal=steps.signal[0],
        attention=steps.attention[0],
        confidence=steps.confidence[0],
        sure_confidence=in_layers.sure_confidence,
        contributions=contributions,
        collapse=collapse,
        collapse_shares=shares,
        reasons=why_undefined(
            settings,
            str(why_uncertainty(steps, single.lengths)[0]),
            confidence=steps.confidence,
            contributions=contributions,
            collapse=collapse,
            collapse_shares=shares,
        ),
    )


def _picked_heads(steps: Steps) -> np.ndarray:
    """(A, Lw): the head picked in each layer, -1 where all heads were averaged."""
    first = steps.picked[..., 0]
    return np.full_like(first, NO_INDEX) if steps.settings.heads == "mean" else first


def _deciding_layers(steps: Steps) -> np.ndarray:
    """(A,): the layer that the maximum over layers took, -1 where no single layer decided."""
    largest = np.array(steps.layers)[steps.layer_scores.argmax(axis=-1)]
    decided = ~np.isnan(steps.uncertainty) & (steps.settings.layer_aggregation == "max")
    return np.where(decided, largest, NO_INDEX)


def _over_layers(per_layer: np.ndarray, steps: Steps, layer: int) -> np.ndarray:
    """Values of the deciding layer, or the mean over layers where all decide equally, out of (Lw, N, ...)."""
    if layer != NO_INDEX:
        return per_layer[steps.layers.index(layer)]
    if steps.settings.layer_aggregation == "mean":
        with np.errstate(invalid="ignore"):  # inf - inf = nan
            return per_layer.mean(axis=0)
    return np.full(per_layer.shape[1:], np.nan)
