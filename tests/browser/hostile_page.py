"""A page for the browser tests: an answer whose every text is an attack, as a strange model could write it."""

import streamlit as st

from pages.ui.state import Shown
from pages.ui.views import show_answer
from rauq import Settings
from rauq.trace import Alternative
from tests.traces import make_trace

ATTACK = "<img src=x onerror=\"document.title='owned'\"> ![](http://evil.example/a.png) <b>bold</b> $x$"

pieces = [ATTACK.encode(), b" $x^2$ <sup>2</sup>", b"</text><script>document.title='owned'</script>"]
trace = make_trace(
    pieces,
    probabilities=[0.01, 0.9, 0.9],
    prompt=ATTACK,
    model=ATTACK,
    alternatives=((Alternative(0, ATTACK, -1.0),),) * len(pieces),
)
st.set_page_config(page_title="unharmed", layout="wide")
st.navigation(
    [
        st.Page(
            lambda: show_answer(Shown(name=f"kept:{ATTACK}", trace=trace, note=ATTACK), Settings()), title="hostile"
        ),
        st.Page("../../pages/compare.py", title="compare"),
    ]
).run()
