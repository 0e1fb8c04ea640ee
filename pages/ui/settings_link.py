"""Settings as text in a URL: written where they are not the paper's, read back, and mended where a link is wrong."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, get_args

from rauq.errors import InvalidInput
from rauq.settings import LayerRule, Settings, resolve, window
from rauq.trace import Kind

ALPHA, SIGNAL, ALIGNMENT, LAYERS, HEADS = "alpha", "signal", "alignment", "layers", "heads"
UPDATE, TOKENS, OVER_LAYERS, PART = "update", "token_aggregation", "layer_aggregation", "part"
SETTINGS = (SIGNAL, ALPHA, ALIGNMENT, LAYERS, HEADS, UPDATE, TOKENS, OVER_LAYERS, PART)

_ALPHA = re.compile(r"0(\.\d{1,4})?|1(\.0{1,4})?", re.ASCII)
_LAYERS = re.compile(r"\d{1,4}([.]\d{1,4}){0,255}", re.ASCII)
_HEADS = re.compile(r"\d{1,4}-\d{1,4}([.]\d{1,4}-\d{1,4}){0,255}", re.ASCII)


class ReadSettings(NamedTuple):
    """The settings that a link asks for, and what in it cannot be used: there the paper's stand in."""

    settings: Settings
    wrong: tuple[str, ...]


class Captured(Protocol):
    """What settings have to suit: a trace, or all answers of a run."""

    @property
    def layers(self) -> tuple[int, ...]:
        """Absolute indices of the layers whose attention is there."""

    @property
    def num_layers(self) -> int:
        """All layers of the model."""

    @property
    def num_heads(self) -> int:
        """Heads of a layer."""


def read_settings(query: Mapping[str, str]) -> ReadSettings:
    """Settings from URL parameters; those that are missing follow the paper."""
    settings, wrong = Settings(), []
    for name, parse in _PARSERS.items():
        if name in query:
            try:
                settings = replace(settings, **{name: parse(query[name])})
            except (InvalidInput, ValueError):
                wrong.append(name)
    return ReadSettings(settings, tuple(wrong))


def written_settings(settings: Settings, kind: Kind) -> dict[str, str | None]:
    """URL parameters for settings; None for what is the paper's for this kind of model anyway."""
    paper = resolve(Settings(signal=settings.signal), kind)
    own = resolve(settings, kind)
    written = {name: _text(getattr(own, name)) for name in _PARSERS if getattr(own, name) != getattr(paper, name)}
    if own.signal != resolve(Settings(), kind).signal:
        written[SIGNAL] = str(own.signal)
    return {name: written.get(name) for name in _PARSERS}


def fitted(settings: Settings, captured: Captured) -> ReadSettings:
    """The settings as far as what was captured can follow: layers and heads that it lacks give way to the paper's."""
    wrong = []
    if isinstance(settings.layers, tuple):
        inside = tuple(layer for layer in settings.layers if layer in captured.layers)
        if inside != settings.layers:
            wrong.append(LAYERS)
            settings = replace(settings, layers=inside or "middle")
    if isinstance(settings.heads, tuple) and not _has_heads(dict(settings.heads), settings, captured):
        wrong.append(HEADS)
        settings = replace(settings, heads="max")
    return ReadSettings(settings, tuple(wrong))


def _has_heads(named: Mapping[int, int], settings: Settings, captured: Captured) -> bool:
    try:
        layers = window(settings, captured=captured.layers, num_layers=captured.num_layers)
    except InvalidInput:  # no layer with attention in the middle, say
        return False
    return set(layers) <= set(named) and max(named.values()) < captured.num_heads


def _text(value: Any) -> str:  # noqa: ANN401 - any field of Settings
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, tuple):
        return ".".join("-".join(map(str, item)) if isinstance(item, tuple) else str(item) for item in value)
    return str(value)


def _alpha(text: str) -> float:
    return float(_matched(_ALPHA, text))


def _layers(text: str) -> str | tuple[int, ...]:
    return text if text in get_args(LayerRule) else tuple(map(int, _matched(_LAYERS, text).split(".")))


def _heads(text: str) -> str | tuple[tuple[int, ...], ...]:
    if text in {"max", "mean", "top5"}:
        return text
    return tuple(tuple(map(int, pair.split("-"))) for pair in _matched(_HEADS, text).split("."))


def _matched(pattern: re.Pattern[str], text: str) -> str:
    if not pattern.fullmatch(text):
        message = f"{text!r} is not of the form {pattern.pattern}"
        raise ValueError(message)
    return text


_PARSERS: Mapping[str, Callable[[str], Any]] = MappingProxyType(
    {
        SIGNAL: str,
        ALPHA: _alpha,
        ALIGNMENT: str,
        LAYERS: _layers,
        HEADS: _heads,
        UPDATE: str,
        TOKENS: str,
        OVER_LAYERS: str,
        PART: str,
    }
)
