"""Who a session belongs to: on a host a visitor is an address, which the guard writes into each request."""

import streamlit as st

VISITOR_HEADER = "X-Rauq-Visitor"


def visitor() -> str:
    """Return the visitor of this session; empty without a guard, where all sessions are one user's."""
    return st.context.headers.get(VISITOR_HEADER, "")
