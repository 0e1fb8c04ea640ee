"""Near-duplicate questions of a run, which count as one question, and a switch to treat them as different ones."""

import streamlit as st

from analysis.questions import about_joined
from analysis.runs.files.corrections import treat_apart
from analysis.runs.library import Listed
from pages.ui.host import cache
from pages.ui.runs.new_run import attempt
from pages.ui.shared.errors import printable
from rauq.errors import RunError
from rauq.labels import shortened

_MOST, _LONGEST = 200, 300  # groups that are listed; characters of a question


def joined_questions(run: Listed) -> None:
    """Draw how many questions were joined, which in an expander, and the switch; nothing where none was."""
    if run.status is None or not run.status.saved:
        return
    try:
        found = cache.sampled(cache.run(run.folder))
    except RunError:
        return  # the list says what is wrong with it
    if not found.joined:
        return
    with st.expander(about_joined(found.joined, apart=found.apart)):
        _switch(run, apart=found.apart)
        _groups(found.joined)


def _switch(run: Listed, *, apart: bool) -> None:
    st.toggle(
        "Treat as different questions",
        value=apart,
        key=f"questions_apart_{run.name}",
        on_change=_treat,
        args=(run,),
        kwargs={"apart": not apart},
        disabled=run.read_only,
        help="Intervals, tests and folds keep answers to one question together. Kept with the run.",
    )


def _treat(run: Listed, *, apart: bool) -> None:
    attempt(lambda: treat_apart(run.folder, apart=apart), run.name)


def _groups(joined: tuple[tuple[str, ...], ...]) -> None:
    shown = joined[:_MOST]
    table = {
        "questions": [len(texts) for texts in shown],
        "joined": [" | ".join(shortened(printable(text), longest=_LONGEST) for text in texts) for texts in shown],
    }
    if len(joined) > len(shown):
        st.caption(f"The largest {len(shown):,} of {len(joined):,} groups")
    st.dataframe(
        table,
        key="joined_questions",
        hide_index=True,
        column_config={
            "questions": st.column_config.NumberColumn(width="small"),
            "joined": st.column_config.TextColumn(width=900),
        },
        alt="The near-duplicate questions that count as one, the largest groups first",
    )
