"""How the two answers of a comparison are scored: by the same settings, unless B is given its own."""

from functools import partial

import streamlit as st

from pages.ui.shared import state, url_state
from pages.ui.shared.settings_form import SettingsForm, settings_form
from pages.ui.shared.url_state import SETTINGS, update_url
from rauq.scoring.settings import Settings, is_paper_setting
from rauq.trace.trace import Trace

BOTH, ONLY_B = "", "b_"  # what stands before the names in the URL
OWN = "b_settings"
POPOVER = "scoring"
_OF_B = (OWN, *(ONLY_B + name for name in SETTINGS))


def settings_of_both(a: Trace, b: Trace) -> tuple[Settings, Settings]:
    """The settings of A and of B; unusable settings of the URL are replaced by the paper's."""
    forms = _forms(a, b)
    return forms[0].read(), forms[-1].read()


def settings_controls(a: Trace, b: Trace) -> None:
    """The button says whether the settings are the paper's; they are drawn once it is open."""
    papers = all(is_paper_setting(s, t.kind) for s, t in zip(settings_of_both(a, b), (a, b), strict=True))
    own = _b_has_its_own()
    label = "Scoring: separate for B" if own else "Scoring: paper's setting" if papers else "Scoring: custom"
    place = st.popover(label, key=POPOVER, width="stretch", on_change="rerun")
    if place.open:
        with place:
            _all_fields(_forms(a, b), own=own)
            st.button(
                "Reset to paper's setting", key="paper", on_click=_back_to_the_papers, disabled=papers and not own
            )


def _b_has_its_own() -> bool:
    return OWN in st.query_params


def _forms(a: Trace, b: Trace) -> tuple[SettingsForm, ...]:
    """One form for both answers, or one for each."""
    if _b_has_its_own():
        return _form(BOTH, a), _form(ONLY_B, b)
    return (_form(BOTH, a, b),)


def _form(prefix: str, *answers: Trace) -> SettingsForm:
    return SettingsForm(
        answers=answers,
        read=partial(state.settings, *answers, prefix=prefix),
        write=partial(state.change_settings, prefix=prefix),
        prefix=prefix,
        suffix=" of B" if prefix else "",
    )


def _all_fields(forms: tuple[SettingsForm, ...], *, own: bool) -> None:
    st.session_state[OWN] = own
    st.toggle("Separate settings for B", key=OWN, on_change=_toggle)
    places = st.tabs(["A", "B"]) if own else [st.container()]
    for place, form in zip(places, forms, strict=True):
        with place:
            settings_form(form)


def _back_to_the_papers() -> None:
    update_url(dict.fromkeys((*SETTINGS, *_OF_B)))


@url_state.by_the_user
def _toggle() -> None:
    """B's own settings begin as those of both; without them, B is scored as A is."""
    as_both = {OWN: "own"} | {ONLY_B + name: st.query_params.get(name) for name in SETTINGS}
    update_url(as_both if st.session_state[OWN] else dict.fromkeys(_OF_B))
