"""The fields of `Settings`: how answers are scored. All of it re-scores at once, without the model."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, get_args

import streamlit as st

import rauq
from pages.ui.shared import selection, state, url_state
from pages.ui.shared.selection import Chosen
from pages.ui.shared.url_state import (
    ALIGNMENT,
    ALPHA,
    HEADS,
    LAYERS,
    OVER_LAYERS,
    PART,
    SIGNAL,
    TOKEN_AGGREGATION,
    UPDATE,
)
from rauq.errors import InvalidInput, RauqError
from rauq.scoring.settings import (
    HeadRule,
    LayerAggregation,
    LayerRule,
    Settings,
    Signal,
    TokenAggregation,
    Update,
    resolve,
    window,
)
from rauq.trace.trace import Alignment, Kind, Part, Trace

FIXED, RANGE, PAPERS = "fixed", "range", "paper's"
_ALIGNMENT = Path(__file__).with_name("alignment.html")


class _Field(NamedTuple):
    label: str
    choices: tuple[Any, ...]
    help: str | None = None


_FIELDS: Mapping[str, _Field] = MappingProxyType(
    {
        SIGNAL: _Field(
            "Signal",
            get_args(Signal),
            "How confident the model is in a token: its probability, or log V − entropy, which is not bounded by 1.",
        ),
        ALPHA: _Field(
            "alpha: weight of the signal",
            tuple(step / 20 for step in range(21)),
            "c = alpha · signal + (1 − alpha) · attention · previous c (paper, equation 2).",
        ),
        PART: _Field(
            "Part of the answer",
            get_args(Part),
            "The part is scored as if it were the whole answer. What comes before it counts as prompt.",
        ),
        ALIGNMENT: _Field("Alignment", get_args(Alignment)),
        LAYERS: _Field(
            "Layers",
            (*get_args(LayerRule), RANGE),
            "The layers used by RAUQ. The paper uses the middle third.",
        ),
        HEADS: _Field(
            "Heads",
            (*get_args(HeadRule), FIXED),
            "Per layer: the head with the largest mean attention, the mean of all or the top five, or fixed heads.",
        ),
        UPDATE: _Field(
            "Update",
            get_args(Update),
            "How confidence is updated from token to token. All but rauq are ablations from the paper.",
        ),
        TOKEN_AGGREGATION: _Field(
            "Token aggregation", get_args(TokenAggregation), "Combines the tokens of a layer into its uncertainty."
        ),
        OVER_LAYERS: _Field(
            "Layer aggregation", get_args(LayerAggregation), "Combines the layers into one uncertainty."
        ),
    }
)


@dataclass(frozen=True, kw_only=True)
class SettingsForm:
    """The fields for the settings of `answers`, or of none yet, whose model will be of `kind`.

    `read` gives the settings as they are now, `write` takes the changed ones and the kinds of model that they are for.
    `prefix` and `suffix` tell the keys and the labels of two forms apart. `selected`: the head that the page has
    selected, where it selects any.
    """

    answers: tuple[Trace, ...]
    kind: Kind = "base"
    read: Callable[[], Settings]
    write: Callable[..., None]
    prefix: str = ""
    suffix: str = ""
    selected: Callable[[], Chosen] | None = None

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of model that the answers come from, each once."""
        return tuple(dict.fromkeys(answer.kind for answer in self.answers)) or (self.kind,)

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers whose attention every answer has."""
        first = self.answers[0].layers if self.answers else ()
        return tuple(layer for layer in first if all(layer in answer.layers for answer in self.answers))

    def change(self, settings: Settings) -> None:
        """Hand over changed settings."""
        self.write(settings, *self.kinds)

    def key(self, name: str) -> str:
        """The key of a field."""
        return f"settings_{self.prefix}{name}"


def settings_form(form: SettingsForm) -> None:
    """Draw the fields."""
    settings = form.read()
    has_parts = any(answer.thinking is not None for answer in form.answers)
    for name in (SIGNAL, ALPHA, *([PART] if has_parts else []), ALIGNMENT):
        _field(form, settings, name)
    key = f"{form.prefix}alignment"
    explanation = st.expander("What does alignment mean?", key=key, type="compact", on_change="rerun")
    if explanation.open:
        explanation.html(_ALIGNMENT)
    key = f"{form.prefix}more_settings"
    more = st.expander("Layers, heads, update, aggregation", key=key, on_change="rerun")
    if more.open:  # what is folded away is not drawn: the first picture comes sooner
        with more:
            _more(form, settings)


@url_state.by_the_user
def change_signal(form: SettingsForm, signal: Signal | None) -> None:
    """With another signal, alpha becomes the paper's for it; None: the paper's signal for each kind of model."""
    settings = replace(form.read(), signal=signal, alpha=None)
    if len(form.kinds) == 1:
        chosen = resolve(settings, *form.kinds)
        state.notify(f"alpha is now {chosen.alpha:g}, the paper's for {chosen.signal}.")
    form.change(settings)


def _more(form: SettingsForm, settings: Settings) -> None:
    _field(form, settings, LAYERS)
    if isinstance(settings.layers, tuple) and len(form.layers) > 1:
        st.session_state[form.key(RANGE)] = (min(settings.layers), max(settings.layers))
        options: dict[str, Any] = {"key": form.key(RANGE), "on_change": _change_range, "args": (form,)}
        st.slider(f"From layer to layer{form.suffix}", min(form.layers), max(form.layers), **options)
    _field(form, settings, HEADS)
    if isinstance(settings.heads, tuple) and form.answers:
        st.caption(", ".join(f"layer {layer}: head {head}" for layer, head in settings.heads))
        if form.selected is not None:
            st.button("Use selected head", key="put_head", on_click=_put_head, args=(form, form.selected))
    for name in (UPDATE, TOKEN_AGGREGATION, OVER_LAYERS):
        _field(form, settings, name)


def _field(form: SettingsForm, settings: Settings, name: str) -> None:
    """One setting; what only a link can choose stands among the choices while it is chosen."""
    key, label, value = form.key(name), _FIELDS[name].label + form.suffix, _shown(form, settings, name)
    st.session_state[key] = value
    choices = tuple(dict.fromkeys((*_choices(form, name), value)))
    options: dict[str, Any] = {"key": key, "help": _FIELDS[name].help, "format_func": _in_words}
    options |= {"on_change": _change, "args": (form, name)}
    if name == ALPHA:
        st.select_slider(label, sorted(choices, key=lambda alpha: -1 if alpha == PAPERS else alpha), **options)
    elif name == UPDATE:
        st.selectbox(label, choices, **options)
    else:
        disabled = name in {LAYERS, HEADS} and not form.answers
        st.segmented_control(label, choices, required=True, disabled=disabled, **options)


def _shown(form: SettingsForm, settings: Settings, name: str) -> Any:  # noqa: ANN401 - any field of Settings
    """What a field says: the same for every kind of model, or else the paper's for each."""
    values = {getattr(resolve(settings, kind), name) for kind in form.kinds}
    value = PAPERS if len(values) > 1 else values.pop()
    return {LAYERS: RANGE, HEADS: FIXED}[name] if isinstance(value, tuple) else value


def _choices(form: SettingsForm, name: str) -> tuple[Any, ...]:
    choices = _FIELDS[name].choices
    if name in {SIGNAL, ALPHA} and len(form.kinds) > 1:
        return (PAPERS, *choices)
    nothing_shared = form.answers and not form.layers
    return tuple(choice for choice in choices if not (nothing_shared and choice in {RANGE, FIXED}))


@url_state.by_the_user
def _change(form: SettingsForm, name: str) -> None:
    """Take over one changed setting."""
    said = st.session_state[form.key(name)]
    value: Any = None if said == PAPERS else said
    if name == SIGNAL:
        change_signal(form, value)
    elif name == LAYERS:
        form.change(_with_layers(form.read(), _middle(form) if value == RANGE else value))
    elif value == FIXED:
        _fix_heads(form)
    else:
        form.change(replace(form.read(), **{name: value}))


def _middle(form: SettingsForm) -> tuple[int, ...]:
    """Where a range begins: the paper's window, or all layers of a model that has no attention in the middle."""
    try:
        return window(Settings(), captured=form.layers, num_layers=form.answers[0].num_layers)
    except InvalidInput:
        return form.layers


@url_state.by_the_user
def _change_range(form: SettingsForm) -> None:
    first, last = st.session_state[form.key(RANGE)]
    inside = tuple(layer for layer in form.layers if first <= layer <= last)
    form.change(_with_layers(form.read(), inside or (selection.nearest(form.layers, first),)))


def _with_layers(before: Settings, layers: Any) -> Settings:  # noqa: ANN401 - as Settings has it
    """Fixed heads name one head a layer, so they go when the layers change."""
    return replace(before, layers=layers, heads="max" if isinstance(before.heads, tuple) else before.heads)


def _fix_heads(form: SettingsForm) -> None:
    """Fix the heads that were selected in the first answer."""
    settings = form.read()
    try:
        score = rauq.score(form.answers[0], replace(settings, heads="max"))
    except RauqError:
        state.notify("Heads can be fixed only when there is a score. First resolve the problem that the page reports.")
    else:
        form.change(replace(settings, heads=tuple(zip(score.layers, map(int, score.heads), strict=True))))


def _put_head(form: SettingsForm, selected: Callable[[], Chosen]) -> None:
    """The selected head takes the place of the one that stood for its layer."""
    before, chosen = form.read(), selected()
    fixed = dict(before.heads) if isinstance(before.heads, tuple) else {}
    layer = min(fixed, default=0) if chosen.layer is None else chosen.layer
    head = fixed.get(layer) if chosen.head is None else chosen.head
    if layer not in fixed or head is None:
        state.notify(f"Layer {layer} is not among the layers used by RAUQ.")
        return
    form.change(replace(before, heads=tuple((fixed | {layer: head}).items())))


def _in_words(choice: str | float) -> str:
    return choice.replace("_", " ") if isinstance(choice, str) else f"{choice:g}"
