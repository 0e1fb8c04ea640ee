"""The choice of a view of a run: first what a reader wants to find out, then one of the views that help with it."""

from collections.abc import Mapping
from typing import NamedTuple

import streamlit as st

from pages.ui.shared.run_views.page import key_of, put, write
from pages.ui.shared.url_state import VIEW, by_the_user, update_url

_TOPIC = "answers_topic"


class Listed(NamedTuple):
    """A view in the list of its topic."""

    topic: str
    title: str


def view_picker(views: Mapping[str, Listed], chosen: str, *, usual: str) -> None:
    """Choose a topic, which leads to the first of its views, or another view of the topic at hand."""
    with st.container(horizontal=True, vertical_alignment="center"):
        _topics(views, views[chosen].topic, usual)
        _views_of_topic(views, chosen, usual)


def _topics(views: Mapping[str, Listed], topic: str, usual: str) -> None:
    first = {one.topic: view for view, one in reversed(tuple(views.items()))}
    st.session_state[_TOPIC] = topic
    st.segmented_control(
        "Topic",
        list(dict.fromkeys(one.topic for one in views.values())),
        key=_TOPIC,
        required=True,
        on_change=_to_topic,
        args=(first, usual),
        label_visibility="collapsed",
    )


def _views_of_topic(views: Mapping[str, Listed], chosen: str, usual: str) -> None:
    put(VIEW, chosen)
    st.pills(
        "View",
        [view for view, one in views.items() if one.topic == views[chosen].topic],
        key=key_of(VIEW),
        required=True,
        format_func=lambda view: views[view].title,
        on_change=write,
        args=(VIEW, usual),
        label_visibility="collapsed",
    )


@by_the_user
def _to_topic(first: Mapping[str, str], usual: str) -> None:
    view = first.get(st.session_state[_TOPIC], usual)  # none, if a browser sent another topic
    update_url({VIEW: None if view == usual else view})
