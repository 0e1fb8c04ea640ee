"""The fields of `Settings`: how answers are scored. All of it re-scores at once, without the model."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import streamlit as st

import rauq
from pages.ui.shared import selection, state, url_state
from pages.ui.shared.selection import Chosen
from pages.ui.shared.url_state import PART, SIGNAL
from rauq.errors import InvalidInput, RauqError
from rauq.scoring.declaration import Choice, Heads, Layers, Setting, Share, declared
from rauq.scoring.settings import Settings, Signal, resolve, window
from rauq.trace.trace import Kind, Trace

FIXED, RANGE, PAPERS = "fixed", "range", "paper's"
_ALIGNMENT = Path(__file__).with_name("alignment.html")


_SHARES = tuple(step / 20 for step in range(21))
_OF_A_TUPLE: Mapping[type[Setting], str] = MappingProxyType({Layers: RANGE, Heads: FIXED})


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
    shown = {name: one for name, one in declared(type(settings)).items() if has_parts or name != PART}
    for name, setting in shown.items():
        if not setting.folded:
            _field(form, settings, name, setting)
    key = f"{form.prefix}alignment"
    explanation = st.expander("What does alignment mean?", key=key, type="compact", on_change="rerun")
    if explanation.open:
        explanation.html(_ALIGNMENT)
    key = f"{form.prefix}more_settings"
    folded = {name: setting for name, setting in shown.items() if setting.folded}
    title = ", ".join(setting.label.lower() for setting in folded.values())
    more = st.expander(title.capitalize(), key=key, on_change="rerun")
    if more.open:  # what is folded away is not drawn: the first picture comes sooner
        with more:
            _more(form, settings, folded)


@url_state.by_the_user
def change_signal(form: SettingsForm, signal: Signal | None) -> None:
    """With another signal, alpha becomes the paper's for it; None: the paper's signal for each kind of model."""
    settings = replace(form.read(), signal=signal, alpha=None)
    if len(form.kinds) == 1:
        chosen = resolve(settings, *form.kinds)
        state.notify(f"alpha is now {chosen.alpha:g}, the paper's for {chosen.signal}.")
    form.change(settings)


def _more(form: SettingsForm, settings: Settings, folded: Mapping[str, Setting]) -> None:
    for name, setting in folded.items():
        _field(form, settings, name, setting)
        if isinstance(getattr(settings, name), tuple):
            _OF_SEVERAL[type(setting)](form, settings)


def _range(form: SettingsForm, settings: Settings) -> None:
    """The first and the last layer of a range."""
    if isinstance(settings.layers, tuple) and len(form.layers) > 1:
        st.session_state[form.key(RANGE)] = (min(settings.layers), max(settings.layers))
        options: dict[str, Any] = {"key": form.key(RANGE), "on_change": _change_range, "args": (form,)}
        st.slider(f"From layer to layer{form.suffix}", min(form.layers), max(form.layers), **options)


def _fixed(form: SettingsForm, settings: Settings) -> None:
    """The fixed heads, and the button that changes one of them."""
    if isinstance(settings.heads, tuple) and form.answers:
        st.caption(", ".join(f"layer {layer}: head {head}" for layer, head in settings.heads))
        if form.selected is not None:
            st.button("Use selected head", key="put_head", on_click=_put_head, args=(form, form.selected))


_OF_SEVERAL: Mapping[type[Setting], Callable[[SettingsForm, Settings], None]] = MappingProxyType(
    {Layers: _range, Heads: _fixed}
)


def _field(form: SettingsForm, settings: Settings, name: str, setting: Setting) -> None:
    """One setting; what only a link can choose stands among the choices while it is chosen."""
    key, label, value = form.key(name), setting.label + form.suffix, _shown(form, settings, name, setting)
    st.session_state[key] = value
    choices = tuple(dict.fromkeys((*_choices(form, setting), value)))
    options: dict[str, Any] = {"key": key, "help": setting.about, "format_func": _in_words}
    options |= {"on_change": _change, "args": (form, name)}
    if isinstance(setting, Share):
        st.select_slider(label, sorted(choices, key=lambda share: -1 if share == PAPERS else share), **options)
    elif isinstance(setting, Choice) and setting.is_menu:
        st.selectbox(label, choices, **options)
    else:
        disabled = type(setting) in _OF_A_TUPLE and not form.answers
        st.segmented_control(label, choices, required=True, disabled=disabled, **options)


def _shown(form: SettingsForm, settings: Settings, name: str, setting: Setting) -> Any:  # noqa: ANN401 - of any kind
    """What a field says: the same for every kind of model, or else the paper's for each."""
    values = {getattr(resolve(settings, kind), name) for kind in form.kinds}
    value = PAPERS if len(values) > 1 or None in values else values.pop()
    return _OF_A_TUPLE[type(setting)] if isinstance(value, tuple) else value


def _choices(form: SettingsForm, setting: Setting) -> tuple[Any, ...]:
    papers = (PAPERS,) if setting.optional and len(form.kinds) > 1 else ()
    names = _SHARES if isinstance(setting, Share) else setting.names
    nothing_shared = form.answers and not form.layers
    several = () if nothing_shared or type(setting) not in _OF_A_TUPLE else (_OF_A_TUPLE[type(setting)],)
    return (*papers, *names, *several)


@url_state.by_the_user
def _change(form: SettingsForm, name: str) -> None:
    """Take over one changed setting."""
    if (said := st.session_state[form.key(name)]) is None:  # a browser sent a choice that is not offered
        return
    value: Any = None if said == PAPERS else said
    if name == SIGNAL:
        change_signal(form, value)
    elif isinstance(declared(type(form.read()))[name], Layers):
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
