"""The line above the picture: which answer is A, which is B, how B is made anew, and how both are scored."""

import streamlit as st

from pages.ui import told
from pages.ui.compare import answers_at_hand, making
from pages.ui.compare.answers_at_hand import PICKER, A, Answer, B
from pages.ui.compare.fields import make_another, stop_button
from pages.ui.compare.settings_controls import settings_controls


def pickers(a: Answer, b: Answer) -> None:
    """Choose the two answers; make another; change the settings."""
    left, between, right, make, scoring = st.columns([8, 2, 8, 4, 4], gap="small", vertical_alignment="bottom")
    with left:
        _picker(A, a, b)
    with between:
        st.button("Swap", key="swap", width="stretch", on_click=_swap, args=(a, b))
    with right:
        _picker(B, b, a)
    with make:
        make_another(a)
    with scoring:
        if making.job() is None:
            settings_controls(a.trace, b.trace)
        else:
            stop_button()


def _picker(side: str, chosen: Answer, other: Answer) -> None:
    """All answers at hand, and the two of the URL, which may be another session's."""
    of_the_url = {answer.ref: answers_at_hand.in_short(answer.trace) for answer in (chosen, other)}
    names = {**answers_at_hand.at_hand()}
    names |= {ref: name for ref, name in of_the_url.items() if ref not in names}
    key = PICKER + side
    st.session_state[key] = chosen.ref
    st.selectbox(
        side.upper(),
        list(names),
        format_func=lambda ref: names.get(ref, ""),
        key=key,
        on_change=_choose,
        args=(side, key),
    )


def _swap(a: Answer, b: Answer) -> None:
    making.refuse(None)
    answers_at_hand.swap(a, b)


@told.by_the_user
def _choose(side: str, key: str) -> None:
    making.refuse(None)
    answers_at_hand.choose(side, st.session_state[key])
