"""The app: `streamlit run app.py`. Page configuration and navigation; each page is a file of `pages/`."""

import streamlit as st

from pages.ui.help.documents import help_link
from pages.ui.shared.entrypoint import GOTO, SHELL, configure, enter
from pages.ui.shared.sent import job_key

PAGES = {  # `url_path` names the document of a page too: docs/inspect.md
    "inspect": st.Page("pages/inspect.py", title="Inspect", url_path="inspect"),
    "compare": st.Page("pages/compare.py", title="Compare", url_path="compare"),
    "answer_sets": st.Page("pages/answer_sets.py", title="Answer sets", url_path="answer_sets"),
    "methods": st.Page("pages/methods.py", title="Methods", url_path="methods"),
    "runs": st.Page("pages/runs.py", title="Runs", url_path="runs"),
    "learn": st.Page("pages/learn.py", title="Learn", url_path="learn"),
    "evidence": st.Page("pages/evidence.py", title="Evidence", url_path="evidence"),
}


def home() -> None:
    """Open the first page under its own address, so that links to it and to the app are the same."""
    st.switch_page(PAGES["inspect"], query_params=st.query_params.to_dict())


HELP = st.Page("pages/help.py", title="Help", url_path="help", visibility="hidden")
HIDDEN = (
    st.Page(home, title="RAUQ", default=True, visibility="hidden"),
    st.Page("pages/lesson.py", title="Lesson", url_path="lesson", visibility="hidden"),
    HELP,
)
LINKED = {**PAGES, "help": HELP}
page = st.navigation([*HIDDEN, *PAGES.values()], position="top")
enter(page.url_path)
configure()
st.session_state[SHELL] = True

query = st.query_params.to_dict()
if (goto := query.pop(GOTO, None)) in LINKED:  # only pages of this list: a link cannot lead elsewhere
    st.switch_page(LINKED[goto], query_params=query)
help_link(page.url_path)
if page is not PAGES["inspect"]:
    job_key.stay()
page.run()
