"""What pages keep for the next script run: keys of the session, settings and answers in the URL, and notices."""

import streamlit as st

from pages.ui.shared import answers, url_state
from pages.ui.shared.url_state import ASKS, EXAMPLE, KEPT, OF_ANSWER, OF_RUN, SETTINGS, WRONG
from rauq.recorded import answers as recorded_answers
from rauq.recorded.answers import Recorded
from rauq.scoring.settings import Settings
from rauq.trace.trace import Kind, Trace


def recordings() -> tuple[Recorded, ...]:
    """Return the recorded generations that ship with the embedded model; the page opens on the first."""
    return recorded_answers.load_recorded() if recorded_answers.INDEX.exists() else ()


PROMPT, ANSWER, TASK, MODEL, OTHER_MODEL, LIMIT = "prompt", "answer", "task", "model", "other_model", "max_new_tokens"
STOP_AT, NO_STOP = "stop_at", "no_stop"  # the text that ends an answer, and whether none does
STOP_ABOVE = "stop_above"  # the uncertainty so far that ends it, in nats
SYSTEM, EARLIER, OPTIONS = "system", "_earlier", "_template_options"
ANSWER_OPEN = "answer_fields"  # whether the fields for a pasted answer are unfolded
JOB, UNREADABLE = "_job", "_unreadable"
JOB_KEY = "_job_key"  # by which a tab that is loaded again finds its job
IN_FORM = "_in_form"  # what the form was last filled with: a request, or the name of an answer
GENERATE, READ = "generate", "paste"
DEVICE, DTYPE, KIND, ENGINE, AUTO = "device", "dtype", "kind", "engine", "auto"
KIND_OF = "_kind_of"  # the model that the kind was chosen for: another one does not inherit it
ATLAS, OTHER = "atlas", "another"
_NOTICES = "_notices"


def show(trace: Trace) -> str:
    """Name a new answer in the URL, where a reload finds it, and return its name.

    The selection, the choice to leave out a loop, and what a link says of its answer are cleared unless a link asked
    for this answer and for them.
    """
    link = url_state.read_asked(st.query_params.to_dict())
    stays = link is not None and (link.prompt, link.context) == (trace.prompt, trace.messages[:-1])
    name = answers.keep(trace)
    gone = (EXAMPLE, *OF_RUN, *ASKS, *(() if stays else OF_ANSWER))
    url_state.write(dict.fromkeys(gone, None) | {KEPT: name})
    st.session_state[IN_FORM] = f"{KEPT}:{name}"  # or newer: the form led to this answer
    return f"{KEPT}:{name}"


def open_recorded(recorded: Recorded) -> None:
    """Show a recorded generation; a running job is stopped."""
    if job := st.session_state.pop(JOB, None):
        job.cancel.set()
    url_state.forget()
    st.session_state.pop(UNREADABLE, None)
    url_state.update_url(dict.fromkeys((KEPT, *OF_RUN, *ASKS, *OF_ANSWER), None) | {EXAMPLE: recorded.id})


def open_trace(trace: Trace) -> None:
    """Show an answer from a file; a running job is stopped."""
    if job := st.session_state.pop(JOB, None):
        job.cancel.set()
    st.session_state.pop(UNREADABLE, None)
    url_state.drop(*ASKS, *OF_ANSWER)
    show(trace)
    st.session_state.pop(IN_FORM)  # so that the form is filled from it


def wrong_tokens(trace: Trace, name: str = WRONG, *, where: str = "this answer") -> tuple[int, ...]:
    """Return the tokens marked as incorrect: those in the URL, or else those stored in the trace."""
    text = st.query_params.get(name)
    if text is None:
        return trace.wrong
    marked, usable = url_state.read_wrong(text, len(trace.pieces))
    if not usable:
        notify(f"Some tokens that the link marks as incorrect are not in {where} and were ignored.")
        url_state.update_url({name: url_state.written_wrong(marked)})
    return marked


def settings(*captured: url_state.Captured, prefix: str = "") -> Settings:
    """Return the settings in the URL that all of `captured` can follow. Unusable ones are removed; the user is told.

    `prefix` stands before their names in the URL.
    """
    found, wrong = url_state.read_settings(url_state.settings_in(st.query_params.to_dict(), prefix))
    unfit = {name for one in captured for name in url_state.fitted(found, one).wrong}
    if names := [name for name in SETTINGS if name in {*wrong, *unfit}]:
        url_state.drop(*(prefix + name for name in names))
        notify(f"The link's {' and '.join(names)} cannot be used here; the paper's setting is used instead.")
        return settings(*captured, prefix=prefix)  # heads may suit the layers that were asked for, and not the paper's
    return found


def change_settings(chosen: Settings, *kinds: Kind, prefix: str = "") -> None:
    """Write settings to the URL, without those that equal the paper's for each of these kinds of model."""
    written: dict[str, str | None] = dict.fromkeys(SETTINGS)
    for kind in kinds:
        written |= {name: text for name, text in url_state.written_settings(chosen, kind).items() if text is not None}
    url_state.update_url({prefix + name: text for name, text in written.items()})


def notify(text: str) -> None:
    """Queue a notice for this script run or the next."""
    st.session_state[_NOTICES] = [*st.session_state.get(_NOTICES, []), text]


def show_notices() -> None:
    """Show the notices queued by `notify`."""
    for text in st.session_state.pop(_NOTICES, []):
        st.toast(text)
