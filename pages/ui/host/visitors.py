"""Whose a session is: on a host a visitor is an address, which the guard writes into each request."""

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.ui.host import hosting
from pages.ui.host.store import Session, store

VISITOR_HEADER = "X-Rauq-Visitor"


def session_name() -> str:
    """Return the name of this session, which no visitor sees."""
    context = get_script_run_ctx(suppress_warning=True)
    return context.session_id if context is not None else ""


def session() -> Session:
    """Return what is known of this session; a visitor stays the same when the connection breaks."""
    name, known = session_name(), store().sessions
    if (found := known.get(name)) is not None:
        return found
    new = Session(visitor=st.context.headers.get(VISITOR_HEADER, "") if hosting.is_hosted() else "")
    return known.setdefault(name, new)


def visitor() -> str:
    """Return the visitor of this session; empty where the app is not hosted: all sessions are one user's."""
    return session().visitor
