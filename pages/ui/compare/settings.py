"""How the two answers are scored: by the same settings, unless B is given its own. Both live in the URL.

What is not named there follows the paper, for each answer's own kind of model.
"""

from collections.abc import Sequence

import streamlit as st

from pages.ui import state
from pages.ui.settings_link import ALPHA, SETTINGS, SIGNAL, fitted, read_settings
from rauq.settings import Settings
from rauq.trace import Trace

BOTH, ONLY_B = "", "b_"  # what stands before the names in the URL
OWN = "b_settings"


def settings_of_both(a: Trace, b: Trace) -> tuple[Settings, Settings]:
    """The settings of A and of B; what the URL asks for and an answer cannot follow gives way to the paper's."""
    if b_has_its_own():
        return _usable(BOTH, [a]), _usable(ONLY_B, [b])
    both = _usable(BOTH, [a, b])
    return both, both


def b_has_its_own() -> bool:
    """Whether B is scored by settings of its own."""
    return OWN in st.query_params


def written(prefix: str) -> dict[str, str]:
    """The settings that the URL names for both, or for B alone, as they stand there."""
    return {name: st.query_params[prefix + name] for name in SETTINGS if prefix + name in st.query_params}


def write(prefix: str, name: str, value: str | None) -> None:
    """Write one setting to the URL, None for the paper's; with another signal, alpha becomes the paper's for it."""
    forget(prefix, [name, ALPHA] if name == SIGNAL else [name])
    if value is not None:
        st.query_params[prefix + name] = value


def give_b_its_own() -> None:
    """B's own settings begin as those of both."""
    st.query_params.update({OWN: "own"} | {ONLY_B + name: value for name, value in written(BOTH).items()})


def take_from_b_its_own() -> None:
    """Score B as A is scored."""
    forget(ONLY_B, SETTINGS)
    st.query_params.pop(OWN, None)


def back_to_the_papers() -> None:
    """Score both as the paper does."""
    forget(BOTH, SETTINGS)
    take_from_b_its_own()


def forget(prefix: str, names: Sequence[str]) -> None:
    """Take settings out of the URL."""
    for name in names:
        st.query_params.pop(prefix + name, None)


def _usable(prefix: str, traces: Sequence[Trace]) -> Settings:
    """The chosen settings, once the URL names none that one of the answers cannot follow."""
    settings, wrong = read_settings(written(prefix))
    unfit = {name for trace in traces for name in fitted(settings, trace).wrong}
    if names := [name for name in SETTINGS if name in {*wrong, *unfit}]:
        forget(prefix, names)
        state.notify(f"The link's {' and '.join(names)} cannot be used here: the paper's setting takes its place.")
        return _usable(prefix, traces)  # heads may suit the layers that were asked for, and not the paper's
    return settings
