"""The settings of a score, the paper's defaults, and the layers of a window."""

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal, get_args

from rauq.errors import InvalidInput
from rauq.trace.trace import Alignment, Kind, Part

Signal = Literal["probability", "entropy"]
HeadRule = Literal["max", "mean", "top5"]
Update = Literal[
    "rauq",
    "no_attention",
    "no_recurrence",
    "previous_probability",
    "product",
    "minus_mean",
    "minus_recent_mean",
    "ratio_to_mean",
    "mean_product",
    "mean_sum",
]
LayerRule = Literal["middle", "middle_five", "all"]
TokenAggregation = Literal["mean_log", "sum_log", "mean", "median"]
LayerAggregation = Literal["max", "mean", "median"]

MEAN_UPDATES: tuple[Update, ...] = ("mean_product", "mean_sum")  # means of logarithms: no token confidences
WITHOUT_ALPHA: tuple[Update, ...] = (
    "product",
    *MEAN_UPDATES,
)  # no confidence is carried from token to token, so there is no collapse

_PAPER_SIGNAL: dict[Kind, Signal] = {"base": "probability", "instruct": "entropy"}
_PAPER_ALPHA: dict[tuple[Kind, Signal], float] = {
    ("base", "probability"): 0.2,
    ("base", "entropy"): 0.5,
    ("instruct", "probability"): 0.6,
    ("instruct", "entropy"): 0.9,
}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One way to score an answer; the defaults are the paper's (Algorithm 1).

    `alpha` in [0, 1] weighs the signal against the confidence of the previous token. `alpha=None` and `signal=None`
    follow the paper's table for the model's kind. `layers` are absolute indices. `heads` as a tuple of
    (layer, head) names one head for every layer of the window; layers outside the window may be named too.
    `part` is what is scored of an answer with thinking, as if it were the whole answer.

    Raises:
        InvalidInput: a name or number that is not allowed; the message lists the allowed ones.
    """

    alpha: float | None = None
    signal: Signal | None = None
    layers: LayerRule | tuple[int, ...] = "middle"
    alignment: Alignment = "predicting"
    heads: HeadRule | tuple[tuple[int, int], ...] = "max"
    update: Update = "rauq"
    token_aggregation: TokenAggregation = "mean_log"
    layer_aggregation: LayerAggregation = "max"
    part: Part = "answer"

    def __post_init__(self) -> None:
        if self.alpha is not None:
            object.__setattr__(self, "alpha", _checked_alpha(self.alpha))
        if self.signal is not None:
            _check_name("signal", self.signal, get_args(Signal))
        _check_name("alignment", self.alignment, get_args(Alignment))
        _check_name("update", self.update, get_args(Update))
        _check_name("token_aggregation", self.token_aggregation, get_args(TokenAggregation))
        _check_name("layer_aggregation", self.layer_aggregation, get_args(LayerAggregation))
        _check_name("part", self.part, get_args(Part))
        object.__setattr__(self, "layers", _checked_layers(self.layers))
        object.__setattr__(self, "heads", _checked_heads(self.heads))


def resolve(settings: Settings, kind: Kind | None) -> Settings:
    """The same settings with signal and alpha filled in from the paper's table where they were left open.

    `mean_product` and `mean_sum` read single heads, so there `heads="mean"` becomes "max", as in the reference.

    Raises:
        InvalidInput: signal or alpha is None and there is no kind to look it up for.
    """
    signal, alpha = signal_and_alpha(settings, kind)
    heads = "max" if settings.heads == "mean" and settings.update in MEAN_UPDATES else settings.heads
    return replace(settings, signal=signal, alpha=alpha, heads=heads)


def signal_and_alpha(settings: Settings, kind: Kind | None) -> tuple[Signal, float]:
    """What the settings say, or else the paper's: the signal of the kind, then the alpha of kind and signal.

    Raises:
        InvalidInput: signal or alpha is None and there is no kind to look it up for.
    """
    if settings.signal is not None and settings.alpha is not None:
        return settings.signal, settings.alpha
    if kind is None:
        message = (
            f"signal is {settings.signal!r} and alpha is {settings.alpha!r}: bare arrays have no kind of model to look "
            "them up for. Give both, for example Settings(signal='probability', alpha=0.2)."
        )
        raise InvalidInput(message)
    _check_name("kind", kind, get_args(Kind))
    signal = settings.signal or _PAPER_SIGNAL[kind]
    return signal, _PAPER_ALPHA[kind, signal] if settings.alpha is None else settings.alpha


def is_paper_setting(settings: Settings, kind: Kind) -> bool:
    """Whether these settings are the paper's for this kind of model, with either signal at its own alpha."""
    resolved = resolve(settings, kind)
    return resolved == resolve(Settings(signal=resolved.signal), kind)


def window(settings: Settings, *, captured: Sequence[int], num_layers: int | None) -> tuple[int, ...]:
    """The layers that a score looks at: absolute indices, ascending.

    "middle" is floor(L/3) to ceil(2L/3) inclusive, counted over all `num_layers` layers of the model, kept where
    the model has attention (paper, section 5.1). "middle_five" is the five layers around floor(L/2), counted and
    kept in the same way. "all" is every captured layer.

    Raises:
        InvalidInput: a layer that was not captured, no attention in the middle layers, or no `num_layers` for them.
    """
    if isinstance(settings.layers, tuple):
        return _captured_only(settings.layers, captured)
    if settings.layers == "all":
        return tuple(sorted(captured))
    if num_layers is None:
        message = (
            f"layers={settings.layers!r} counts over all layers of the model: give num_layers along with layer_ids."
        )
        raise InvalidInput(message)
    first, last = _middle_five(num_layers) if settings.layers == "middle_five" else _middle(num_layers)
    middle = tuple(sorted(layer for layer in captured if first <= layer <= last))
    if not middle:
        message = (
            f"None of the middle layers {first} to {last} has attention; captured are {_listed(captured)}. "
            "Use all layers (layers='all' in Python, Scoring in the app; the command line uses the middle ones)."
        )
        raise InvalidInput(message)
    return middle


def attributed_layers(layers: Sequence[int] | None, *, captured: Sequence[int], num_layers: int) -> tuple[int, ...]:
    """The layers whose weights LIG can replace: those asked for, or else the middle ones without the last block.

    In the last block a log-probability depends on one position alone, so all weights would be 1.

    Raises:
        InvalidInput: a layer without attention, the last block, none, or one twice.
    """
    last = num_layers - 1
    if layers is None:
        middle = window(Settings(), captured=captured, num_layers=num_layers)
        layers = tuple(layer for layer in middle if layer != last)
        if not layers:
            message = f"Of the middle layers only the last block, layer {last}, has attention. Name other layers."
            raise InvalidInput(message)
    chosen = window(Settings(layers=tuple(layers)), captured=captured, num_layers=num_layers)
    if last in chosen:
        message = (
            f"Layer {last} is the last block, where a log-probability depends on one position alone, so all its "
            "weights would be 1. Leave it out; LIG is for the middle layers."
        )
        raise InvalidInput(message)
    return chosen


def _middle(num_layers: int) -> tuple[int, int]:
    return num_layers // 3, -(-2 * num_layers // 3)


def _middle_five(num_layers: int) -> tuple[int, int]:
    centre = num_layers // 2  # (L - 1) / 2, rounded up
    return max(0, centre - 2), min(num_layers - 1, centre + 2)


def _captured_only(layers: tuple[int, ...], captured: Sequence[int]) -> tuple[int, ...]:
    missing = set(layers) - set(captured)
    if missing:
        message = f"Layers {_listed(missing)} have no captured attention; choose among {_listed(captured)}."
        raise InvalidInput(message)
    return tuple(sorted(layers))


def _check_name(option: str, got: object, allowed: tuple[str, ...]) -> None:
    if got not in allowed:
        message = f"Unknown {option} {got!r}; choose one of {', '.join(allowed)}."
        raise InvalidInput(message)


def _checked_alpha(alpha: object) -> float:
    if (
        isinstance(alpha, bool) or not isinstance(alpha, Real) or not 0 <= float(alpha) <= 1
    ):  # nan fails every comparison
        message = f"alpha is {alpha!r}; give a number from 0 to 1, or None for the paper's."
        raise InvalidInput(message)
    return float(alpha)


def _checked_layers(layers: Any) -> Any:  # noqa: ANN401 - whatever a caller gave
    if isinstance(layers, str):
        _check_name("layers", layers, get_args(LayerRule))
        return layers
    indices = _indices(layers, "layers", f"{', '.join(get_args(LayerRule))} or a tuple of layer indices")
    if not indices or len(set(indices)) < len(indices):
        message = f"layers is {layers!r}; name at least one layer, and each one once."
        raise InvalidInput(message)
    return indices


def _checked_heads(heads: Any) -> Any:  # noqa: ANN401 - whatever a caller gave
    if isinstance(heads, str):
        _check_name("heads", heads, get_args(HeadRule))
        return heads
    allowed = f"{', '.join(get_args(HeadRule))} or a tuple of (layer, head) pairs"
    pairs = tuple(_indices(pair, "heads", allowed) for pair in heads) if isinstance(heads, Iterable) else ()
    if not pairs or any(len(pair) != 2 for pair in pairs) or len({layer for layer, _ in pairs}) < len(pairs):
        message = f"heads is {heads!r}; choose {allowed}, one pair a layer."
        raise InvalidInput(message)
    return pairs


def _indices(values: Any, option: str, allowed: str) -> tuple[int, ...]:  # noqa: ANN401 - whatever a caller gave
    """A tuple of Python integers from 0 up, or InvalidInput."""
    message = f"{option} is {values!r}; choose {allowed}, counted from 0."
    try:
        indices = tuple(operator.index(value) for value in values)
    except TypeError as error:
        raise InvalidInput(message) from error
    if any(index < 0 for index in indices):
        raise InvalidInput(message)
    return indices


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))
