"""The score of an answer with all its steps, and the scores of a batch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from types import UnionType
from typing import Any, Literal, NamedTuple

import numpy as np

from rauq.errors import InvalidInput
from rauq.labels import number, shortened
from rauq.scoring.algorithm import Steps, confidence_of, contributions_of, log_of, signal_of, steps_of
from rauq.scoring.settings import MEAN_UPDATES, WITHOUT_ALPHA, Settings, signal_and_alpha
from rauq.trace.batch import Answers, Batch, Blocks, batch, batch_of_arrays
from rauq.trace.parts import NO_PART, shows_text, span_of
from rauq.trace.strip import html_strip, plot
from rauq.trace.trace import Trace


class Reference(NamedTuple):
    """What a fully confident model has in the place of an answer: the inputs of the recurrence, and its confidence r.

    `signal` (A, 1, N) is the largest there is; `attention` (A, Lw, N - 1) the mean of each selected head over the
    answer; `confidence` (A, Lw, N).
    """

    signal: np.ndarray
    attention: np.ndarray
    confidence: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Reasons:
    """Why the value of the same name in a `Score` is nan somewhere; an empty string where it is defined."""

    uncertainty: str
    confidence: str
    contributions: str
    collapse: str
    collapse_shares: str


def reference_of(steps: Steps, answers: Batch) -> Reference:
    """The same recurrence with the signal of a token of probability 1, and each head's mean attention."""
    name, _ = signal_and_alpha(steps.settings, None)  # both are filled in
    largest = signal_of(np.zeros(()), np.zeros(()), answers.vocab_size, name)
    signal = np.full_like(steps.signal, float(largest))[:, None]
    weights = np.where(steps.counted[:, None, 1:], steps.attention, 0.0)  # the padding changes nothing
    means = weights.sum(axis=-1, keepdims=True) / np.maximum(1, answers.lengths - 1)[:, None, None]
    attention = np.broadcast_to(means, weights.shape)
    return Reference(signal, attention, _confidence(steps, signal, attention))


def collapse_of(steps: Steps, reference: Reference) -> np.ndarray:
    """Collapse (A, Lw, N) in each layer, in nats: log r - log c.

    All nan for the updates in WITHOUT_ALPHA; infinite where a confidence is 0, and nan where it is negative.
    """
    with np.errstate(invalid="ignore"):  # inf - inf = nan
        return log_of(reference.confidence) - log_of(steps.confidence)


def shares_of(steps: Steps, reference: Reference) -> np.ndarray:
    """The shares (A, Lw, N, 2) of signal and attention in the collapse, which they sum to.

    They are Shapley values of two players: replace one input by that of the reference, in either order, and average.
    """
    sure_signal = _confidence(steps, reference.signal, steps.attention)
    sure_attention = _confidence(steps, steps.signal[:, None], reference.attention)
    c, r, by_signal, by_attention = map(log_of, (steps.confidence, reference.confidence, sure_signal, sure_attention))
    with np.errstate(invalid="ignore"):  # inf - inf = nan
        both_orders = (by_signal - c) + (r - by_attention), (by_attention - c) + (r - by_signal)
    return np.stack(both_orders, axis=-1) / 2


def _confidence(steps: Steps, signal: np.ndarray, attention: np.ndarray) -> np.ndarray:
    """The confidence (A, Lw, N) that other inputs give; nan where none is carried on, so that none can collapse."""
    _, alpha = signal_and_alpha(steps.settings, None)
    confidence = confidence_of(signal, attention, alpha=alpha, update=steps.settings.update)
    return np.full_like(confidence, np.nan) if steps.settings.update in WITHOUT_ALPHA else confidence


def margins(head_means: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """The mean weight of each layer's head minus that of the best other head: (Lw,).

    `head_means` (Lw, H), `heads` (Lw,). nan where no single head was selected (-1), and in layers of one head.
    """
    others = np.arange(head_means.shape[-1]) != heads[:, None]
    best_other = np.max(head_means, axis=-1, initial=-np.inf, where=others)
    own = np.take_along_axis(head_means, heads[:, None], axis=-1)[:, 0]
    return np.where((heads < 0) | np.isneginf(best_other), np.nan, own - best_other)


def why_uncertainty(steps: Steps, answers: Batch) -> np.ndarray:
    """Why each answer's uncertainty is nan: (A,) strings, empty where it is defined."""
    if not np.isnan(steps.uncertainty).any():
        return np.full(len(answers.lengths), "")
    within = steps.counted[:, None]
    unknown_signal = np.isnan(steps.signal[:, None]) & within
    unknown_attention = np.isnan(steps.attention) & within[..., 1:]
    negative = (steps.confidence < 0) & within
    unknown = unknown_signal.any(axis=(-2, -1)) | unknown_attention.any(axis=(-2, -1))
    empty = False if answers.empty is None else answers.empty
    too_short = (answers.lengths == 1) & (steps.settings.update in MEAN_UPDATES)
    return np.select(
        [~np.isnan(steps.uncertainty), empty, unknown, too_short, negative.any(axis=(-2, -1))],
        [
            "",
            NO_PART.get(answers.part, ""),
            "a log-probability, an entropy or an attention weight of this answer is nan",
            f"update={steps.settings.update!r} needs attention between tokens, and this answer has one token",
            "confidence falls below 0, where it has no logarithm",
        ],
        default="infinite terms cancel",
    )


def why_undefined(
    settings: Settings,
    uncertainty: str,
    *,
    confidence: np.ndarray,
    contributions: np.ndarray,
    collapse: np.ndarray,
    collapse_shares: np.ndarray,
) -> Reasons:
    """The reasons of one answer, given that of its uncertainty."""
    update = f"update={settings.update!r}"
    no_confidence = f"{update} has no token confidences" if settings.update in MEAN_UPDATES else ""
    no_sum = "a median over tokens is not a sum of contributions" if settings.token_aggregation == "median" else ""
    no_layer = (
        "a median over layers does not belong to a single layer" if settings.layer_aggregation == "median" else ""
    )
    no_flow = f"{update} does not carry confidence forward" if settings.update in WITHOUT_ALPHA else ""
    no_logarithm = "a confidence is 0 or less, where it has no finite logarithm"
    return Reasons(
        uncertainty=uncertainty,
        confidence=_first_if_nan(confidence, no_confidence, uncertainty),
        contributions=_first_if_nan(contributions, no_confidence, no_sum, no_layer, uncertainty),
        collapse=_first_if_nan(collapse, no_flow, no_layer, uncertainty, no_logarithm),
        collapse_shares=_first_if_nan(collapse_shares, no_flow, no_layer, uncertainty, no_logarithm),
    )


def _first_if_nan(values: np.ndarray, *reasons: str) -> str:
    return next(filter(None, reasons), "") if np.isnan(values).any() else ""


Measure = Literal["rauq", "surprisal"]

NO_INDEX = -1  # for a head if all were averaged, for a layer if no single one gives the score


@dataclass(frozen=True, eq=False, kw_only=True)
class ShownHead:
    """A layer and its head, -1 for the mean of its heads, with the recurrence in it.

    `attention` (N - 1,) on the previous token; `confidence` (N,): c; `reference_confidence` (N,): r.
    """

    layer: int
    head: int
    attention: np.ndarray
    confidence: np.ndarray
    reference_confidence: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class Score:
    """The uncertainty of one answer of N tokens, with all steps of Algorithm 1, over the Lw layers used by RAUQ.

    An undefined value is nan, and `reasons` says why.

    Attributes:
        uncertainty: The score; higher is less certain. In nats for the logarithmic aggregations.
        settings: The settings of the score, with signal and alpha filled in.
        layers: Absolute indices of the Lw layers used, ascending from 0.
        heads: (Lw,) The head selected in each layer; the first of the five for "top5", -1 for "mean".
        margins: (Lw,) Mean attention of the selected head minus that of the best other head; nan for "mean" and for an
            answer of one token.
        layer_scores: (Lw,) Uncertainty u_l of each layer, in the unit of the score.
        layer: The layer that gives the score; None for mean and median over layers, and where the score is nan.
        signal: (N,) The signal that enters the recurrence: probability, or the one made of entropy.
        attention: (Lw, N - 1) Weight of the selected head on the previous token; column t belongs to token t + 1.
        confidence: (Lw, N) Confidence c of each token.
        reference_confidence: (Lw, N) Confidence r of a fully confident model: the same recurrence with the largest
            signal and the mean attention of the head.
        contributions: (N,) What each token adds to the score; they sum to it.
        collapse: (N,) log r - log c, in nats: this project's measure, not the paper's.
        collapse_shares: (N, 2) The shares of signal and of attention in the collapse; they sum to it.
        reasons: Why a value of the same name is nan somewhere; an empty string where it is defined.
        span: Start and stop of the tokens that were scored; values of tokens outside are nan.
        trace: The answer that was scored; None for bare arrays.
        by: rauq; or surprisal, with which `collapse` holds the surprisals that are compared (`score_surprisal`).
        shown: Another head that was chosen to be shown, which `contributions` and `collapse` then belong to
            (`show_head`); None: they belong to the layer that gives the score. For the mean over layers they are means
            over layers, for the median they are undefined.
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
    reference_confidence: np.ndarray
    contributions: np.ndarray
    collapse: np.ndarray
    collapse_shares: np.ndarray
    reasons: Reasons
    span: tuple[int, int]
    trace: Trace | None = None
    by: Measure = "rauq"
    shown: ShownHead | None = None

    def __repr__(self) -> str:
        """One line: the uncertainty, the layer that gives it, and how many tokens were scored."""
        tokens = self.span[1] - self.span[0]
        return f"Score(uncertainty={self.uncertainty:.4g}, layer={self.layer}, {tokens} of {len(self.signal)} tokens)"

    def _repr_html_(self) -> str | None:
        """The tokens of the answer, coloured by their collapse, for notebooks; None for a score of bare arrays."""
        if self.trace is None:
            return None
        layer = "no single layer" if self.layer is None else f"layer {self.layer}"
        return html_strip(
            self.trace.pieces,
            self.collapse.tolist(),
            [
                f"collapse {number(value)} nats, probability {probability:.3g}"
                for value, probability in zip(self.collapse, np.exp(self.trace.logprobs), strict=True)
            ],
            heading=f"Uncertainty {number(self.uncertainty)}, {layer}: {shortened(self.trace.prompt, longest=200)}",
            caption="Colour: collapse, up to 3 nats; the largest is underlined. Point at a token for its numbers. "
            "The uncertainty is for ranking, not a probability.",
            marked=collapse_token(self.trace, self),
        )

    def plot(self, name: str = "confidence", **options: Any) -> Any:  # noqa: ANN401 - a figure of Plotly
        """A figure of this score: `analysis.plot`, which lists names and options.

        Raises:
            MissingPackage: Plotly is not installed.
            InvalidInput: unknown name, a layer, head or token that the answer does not have, or a score of bare arrays.
        """
        return plot(self, name, **options)


@dataclass(frozen=True, eq=False, kw_only=True)
class Scores:
    """The uncertainty of A answers over the Lw layers of the window; the terms are those of `Score`.

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

    def __repr__(self) -> str:
        """One line: how many answers, and between which numbers their uncertainty lies."""
        known = self.uncertainty[~np.isnan(self.uncertainty)]
        lies = f"from {known.min():.4g} to {known.max():.4g}" if known.size else "all undefined"
        return f"Scores({len(self.uncertainty)} answers, uncertainty {lies}, {len(self.layers)} layers)"


def score(trace: Trace, settings: Settings | None = None) -> Score:
    """Score one answer; no model is needed. None are the paper's settings for the trace's kind.

    Raises:
        InvalidInput: not a trace, or settings that do not fit the trace's layers or heads.
        NotCaptured: the alignment needs attention that the trace lacks.

    Example:
        >>> trace = rauq.load_model("atlas").generate("Q: In which country is Kyoto? A:")
        >>> rauq.score(trace)
        Score(uncertainty=1.436, layer=5, 7 of 7 tokens)
    """
    _require(trace, Trace, "give one trace. For several: score_many(batch(traces)).")
    settings = _checked(settings)
    num_tokens = len(trace.answer_ids)
    span = span_of(trace.thinking, num_tokens, settings.part)
    found = _score_only(batch([trace], settings.alignment, settings.part), settings)
    return replace(found if span == (0, num_tokens) else _placed(found, span, num_tokens), trace=trace)


def collapse_token(trace: Trace, found: Score) -> int | None:
    """The answer token with the largest collapse, of those that show text if any has one; None if none is defined."""
    values = np.where(shows_text(trace), found.collapse, np.nan)
    values = found.collapse if np.isnan(values).all() else values
    return None if np.isnan(values).all() else int(np.nanargmax(values))


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
    `settings.alignment` has no effect; arrays have no parts, so `settings.part` has none either.

    Raises:
        InvalidInput: shapes that do not fit, values out of their range, or missing arguments.

    Example:
        >>> attention, logprobs = numpy.full((1, 2, 2), 0.5), numpy.log([0.9, 0.5, 0.9])
        >>> settings = rauq.Settings(alpha=0.5, signal="probability", layers="all")
        >>> rauq.score_arrays(attention, logprobs, settings)
        Score(uncertainty=0.4714, layer=0, 3 of 3 tokens)
    """
    settings = _checked(settings)
    single = batch_of_arrays(
        attention,
        logprobs,
        alignment=settings.alignment,
        part=settings.part,
        entropies=entropies,
        vocab_size=vocab_size,
        layer_ids=layer_ids,
        num_layers=num_layers,
    )
    return _score_only(single, settings)


def score_many(answers: Answers, settings: Settings | None = None) -> Scores:
    """Score every answer of a batch at once. None are the paper's settings for the kind of its model.

    The batch keeps its head means, so another call, with another alpha for example, reads only the selected heads.

    Raises:
        InvalidInput: not a batch, or settings that do not fit the batch, its alignment and part included.

    Example:
        >>> lm = rauq.load_model("atlas")
        >>> answers = (" Kyoto is in Japan.", " Kyoto is in Peru.")
        >>> traces = [lm.read("Q: In which country is Kyoto? A:", answer) for answer in answers]
        >>> rauq.score_many(rauq.batch(traces)).uncertainty.round(1)
        array([1.4, 4.2])
    """
    _require(answers, Answers, "give a batch: score_many(batch(traces)). For one trace: score(trace).")
    if isinstance(answers, Blocks):
        return _in_order(answers, [score_many(one, settings) for one in answers.batches])
    steps = steps_of(answers, _checked(settings))
    return Scores(
        uncertainty=steps.uncertainty,
        settings=steps.settings,
        layers=steps.layers,
        layer=_score_layers(steps),
        heads=_selected_heads(steps),
        layer_scores=steps.layer_scores,
        reasons=why_uncertainty(steps, answers),
    )


def collapse_many(answers: Answers, settings: Settings | None = None) -> tuple[np.ndarray, ...]:
    """`Score.collapse` (N,) of every answer of a batch, in nats, without its shares; of each answer's own length.

    Raises:
        InvalidInput: as in `score_many`.
    """
    _require(answers, Answers, "give a batch: collapse_many(batch(traces)). For one trace: score(trace).collapse.")
    found = [row for _, one in answers.blocks() for row in _collapse_in(one, _checked(settings))]
    places = np.argsort(np.concatenate([places for places, _ in answers.blocks()]))
    return tuple(found[place] for place in places)


def _collapse_in(answers: Batch, settings: Settings) -> Iterator[np.ndarray]:
    steps = steps_of(answers, settings)
    in_layers = collapse_of(steps, reference_of(steps, answers))
    for row, layer, length in zip(in_layers, _score_layers(steps), answers.lengths, strict=True):
        yield _over_layers(row[:, :length], steps, int(layer))


def _in_order(answers: Blocks, found: Sequence[Scores]) -> Scores:
    """The scores of every batch in the order of all answers."""
    names = ("uncertainty", "layer", "heads", "layer_scores", "reasons")
    arrays: Any = {name: answers.in_order([getattr(one, name) for one in found]) for name in names}
    return replace(found[0], **arrays)


def _checked(settings: Settings | None) -> Settings:
    if settings is None:
        return Settings()
    _require(settings, Settings, "give Settings(...), or None for the paper's.")
    return settings


def _require(given: object, wanted: type | UnionType, todo: str) -> None:
    if not isinstance(given, wanted):
        message = f"Got {type(given).__name__}; {todo}"
        raise InvalidInput(message)


def _score_only(single: Batch, settings: Settings) -> Score:
    """The score of a batch of one answer, with all its steps."""
    steps = steps_of(single, settings)
    settings = steps.settings
    reference = reference_of(steps, single)
    per_token = contributions_of(steps.confidence, steps.counted, settings.token_aggregation)

    layer = int(_score_layers(steps)[0])
    contributions = _over_layers(per_token[0], steps, layer)
    collapse = _over_layers(collapse_of(steps, reference)[0], steps, layer)
    shares = _over_layers(shares_of(steps, reference)[0], steps, layer)
    heads = _selected_heads(steps)[0]
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
        reference_confidence=reference.confidence[0],
        contributions=contributions,
        collapse=collapse,
        collapse_shares=shares,
        reasons=why_undefined(
            settings,
            str(why_uncertainty(steps, single)[0]),
            confidence=steps.confidence,
            contributions=contributions,
            collapse=collapse,
            collapse_shares=shares,
        ),
        span=(0, int(single.lengths[0])),
    )


def _placed(found: Score, span: tuple[int, int], num_tokens: int) -> Score:
    """The score of a part in the columns of the whole answer; the others are nan."""
    start, stop = span

    def widened(values: np.ndarray, axis: int, *, gaps: bool = False) -> np.ndarray:
        shape = list(values.shape)
        shape[axis] = num_tokens - gaps
        wide = np.full(shape, np.nan)
        if start < stop:
            np.moveaxis(wide, axis, 0)[start : stop - gaps] = np.moveaxis(values, axis, 0)
        return wide

    return replace(
        found,
        span=span,
        attention=widened(found.attention, 1, gaps=True),
        confidence=widened(found.confidence, 1),
        reference_confidence=widened(found.reference_confidence, 1),
        signal=widened(found.signal, 0),
        contributions=widened(found.contributions, 0),
        collapse=widened(found.collapse, 0),
        collapse_shares=widened(found.collapse_shares, 0),
    )


def _selected_heads(steps: Steps) -> np.ndarray:
    """(A, Lw): the head selected in each layer, -1 where all heads were averaged."""
    first = steps.picked[..., 0]
    return np.full_like(first, NO_INDEX) if steps.settings.heads == "mean" else first


def _score_layers(steps: Steps) -> np.ndarray:
    """(A,): the layer of the maximum over layers, -1 where no single layer gives the score."""
    largest = np.array(steps.layers)[steps.layer_scores.argmax(axis=-1)]
    single = ~np.isnan(steps.uncertainty) & (steps.settings.layer_aggregation == "max")
    return np.where(single, largest, NO_INDEX)


def _over_layers(per_layer: np.ndarray, steps: Steps, layer: int) -> np.ndarray:
    """Values of the layer that gives the score, or their mean for the mean over layers, out of (Lw, N, ...)."""
    if layer != NO_INDEX:
        return per_layer[steps.layers.index(layer)]
    if steps.settings.layer_aggregation == "mean":
        with np.errstate(invalid="ignore"):  # inf - inf = nan
            return per_layer.mean(axis=0)
    return np.full(per_layer.shape[1:], np.nan)
