"""The settings of a score, the paper's defaults, and the layers of a window."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal, get_args

from rauq.errors import InvalidInput
from rauq.scoring.declaration import Choice, Heads, Layers, Share, check_name, declared
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

    signal: Annotated[
        Signal | None,
        Choice(
            label="Signal",
            help="How confident the model is in a token: its probability, or log V − entropy, which is not bounded by "
            "1.",
            unit="probability, or nats",
        ),
    ] = None
    alpha: Annotated[
        float | None,
        Share(
            label="alpha: weight of the signal",
            help="c = alpha · signal + (1 − alpha) · attention · previous c (paper, equation 2).",
            unit="a share, from 0 to 1",
        ),
    ] = None
    part: Annotated[
        Part,
        Choice(
            label="Part of the answer",
            help="Of a reasoning model: the answer after the thinking, the thinking, or all. The part is scored as if "
            "it were the whole answer; what comes before it counts as prompt.",
        ),
    ] = "answer"
    alignment: Annotated[
        Alignment,
        Choice(
            label="Alignment",
            help="Whose attention to the previous token is used: that of the query that predicts a token, or of the "
            "token's own query.",
        ),
    ] = "predicting"
    layers: Annotated[
        LayerRule | tuple[int, ...],
        Layers(
            label="Layers",
            help="The layers used by RAUQ. The paper uses the middle third.",
            unit="layers, counted from 0",
            folded=True,
        ),
    ] = "middle"
    heads: Annotated[
        HeadRule | tuple[tuple[int, int], ...],
        Heads(
            label="Heads",
            help="Per layer: the head with the largest mean attention, the mean of all or the top five, or fixed "
            "heads.",
            unit="pairs of layer and head, counted from 0",
            folded=True,
        ),
    ] = "max"
    update: Annotated[
        Update,
        Choice(
            label="Update",
            help="How confidence is updated from token to token. All but rauq are ablations from the paper.",
            folded=True,
            is_menu=True,
        ),
    ] = "rauq"
    token_aggregation: Annotated[
        TokenAggregation,
        Choice(
            label="Token aggregation",
            help="Combines the tokens of a layer into its uncertainty.",
            unit="nats, for the logarithmic ones",
            folded=True,
        ),
    ] = "mean_log"
    layer_aggregation: Annotated[
        LayerAggregation,
        Choice(label="Layer aggregation", help="Combines the layers into one uncertainty.", folded=True),
    ] = "max"

    def __post_init__(self) -> None:
        for name, setting in declared(type(self)).items():
            value = getattr(self, name)
            if value is not None or not setting.optional:
                object.__setattr__(self, name, setting.checked(name, value))


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
    check_name("kind", kind, get_args(Kind))
    signal = settings.signal or _PAPER_SIGNAL[kind]
    return signal, _PAPER_ALPHA[kind, signal] if settings.alpha is None else settings.alpha


def papers(settings: Settings, kind: Kind) -> Settings:
    """The paper's settings for this kind of model with the signal of these."""
    return resolve(type(settings)(signal=resolve(settings, kind).signal), kind)


def is_paper_setting(settings: Settings, kind: Kind) -> bool:
    """Whether these settings are the paper's for this kind of model, with either signal at its own alpha."""
    return resolve(settings, kind) == papers(settings, kind)


def changed(settings: Settings, kind: Kind) -> dict[str, object]:
    """By name, the values that are not the paper's for this kind of model: another signal has its own alpha."""
    usual = replace(papers(settings, kind), signal=resolve(Settings(), kind).signal)
    given = {name: getattr(resolve(settings, kind), name) for name in declared(type(settings))}
    return {name: value for name, value in given.items() if value != getattr(usual, name)}


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
            "Use all layers: layers='all' in Python, --layers all on the command line, Scoring in the app."
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


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))
