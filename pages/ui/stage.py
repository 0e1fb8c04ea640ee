"""What stands in the middle of the page before there is an answer to look into, and while one is being written."""

import streamlit as st

from pages.ui.examples import EXAMPLES
from pages.ui.inputs import take
from pages.ui.jobs import Job
from pages.ui.token_strip import live_strip
from pages.ui.words import Words
from rauq.labels import running


def empty_stage() -> None:
    """Say what the page is for, and offer prompts to start from."""
    st.title("Where did the model stop knowing?", anchor=False)
    st.write(
        "Give a prompt on the left. A language model answers it on this machine, and the page shows at which token its "
        "confidence collapsed, and which attention head shows it. Or start with one of these:"
    )
    for example in EXAMPLES:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(example.name, key=f"start_{example.name}", on_click=take, args=(example,), width=200)
            st.caption(example.what_to_see)


@st.fragment(run_every=0.2)
def follow(job: Job) -> None:
    """Show the answer growing; when it is complete, run the whole page again."""
    if not job.live:
        st.rerun()
    counted = f"{len(job.pieces)} of at most {job.request.max_new_tokens} tokens" if job.pieces else ""
    live_strip(list(job.pieces), Words(source=running(job.request.model), headline=f"{job.stage} …", detail=counted))
