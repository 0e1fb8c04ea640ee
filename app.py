"""The app, for `streamlit run app.py`: its server and its navigation. Each page is a file of `pages/`."""

import streamlit as st
from streamlit.navigation.page import StreamlitPage
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.ui.help.documents import help_link
from pages.ui.serving.local import graceful_shutdown
from pages.ui.serving.middleware import MIDDLEWARE
from pages.ui.shared.entrypoint import GOTO, SHELL, configure, enter
from pages.ui.shared.sent import job_key


def listed_pages() -> dict[str, StreamlitPage]:
    """Return the pages by their addresses; `url_path` names the document of a page too: docs/inspect.md."""
    return {
        "inspect": st.Page("pages/inspect.py", title="Inspect", url_path="inspect"),
        "compare": st.Page("pages/compare.py", title="Compare", url_path="compare"),
        "answer_sets": st.Page("pages/answer_sets.py", title="Answer sets", url_path="answer_sets"),
        "methods": st.Page("pages/methods.py", title="Methods", url_path="methods"),
        "runs": st.Page("pages/runs.py", title="Runs", url_path="runs"),
        "learn": st.Page("pages/learn.py", title="Learn", url_path="learn"),
        "evidence": st.Page("pages/evidence.py", title="Evidence", url_path="evidence"),
    }


def show() -> None:
    """Show the page at this address, or the one that a link asks for."""
    linked = listed_pages() | {"help": st.Page("pages/help.py", title="Help", url_path="help", visibility="hidden")}
    first = linked["inspect"]

    def home() -> None:
        """Open the first page under its own address, so that links to it and to the app are the same."""
        st.switch_page(first, query_params=st.query_params.to_dict())

    hidden = (
        st.Page(home, title="RAUQ", default=True, visibility="hidden"),
        st.Page("pages/lesson.py", title="Lesson", url_path="lesson", visibility="hidden"),
    )
    page = st.navigation([*hidden, *linked.values()], position="top")
    enter(page.url_path)
    configure()
    st.session_state[SHELL] = True

    query = st.query_params.to_dict()
    if (goto := query.pop(GOTO, None)) in linked:  # only pages of this list: a link cannot lead elsewhere
        st.switch_page(linked[goto], query_params=query)
    help_link(page.url_path)
    if page is not first:
        job_key.stay()
    page.run()


if get_script_run_ctx(suppress_warning=True) is None:  # imported once, for the server, which then runs it for each page
    app = st.App(__file__, middleware=MIDDLEWARE, lifespan=graceful_shutdown)
else:
    show()
