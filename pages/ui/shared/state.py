"""The answer that the page Inspect shows, and the fields of its form: the URL names it, the session has the rest."""

from dataclasses import dataclass

import streamlit as st

from pages.ui.host import hosting
from pages.ui.shared import answer_fields, answers, url_state
from pages.ui.shared.errors import printable
from pages.ui.shared.url_state import ASKS, EXAMPLE, KEPT, NUMBER, OF_RUN, RUN, SELECTED, SETTINGS, WRONG, Asked
from rauq.atlas import recorded as atla_recorded
from rauq.atlas.recorded import Recorded
from rauq.checkpoints.named import find_named
from rauq.scoring.settings import Settings
from rauq.trace.messages import Message
from rauq.trace.trace import Kind, Trace


def recordings() -> tuple[Recorded, ...]:
    """Return the recorded generations that ship with the embedded model; the page opens on the first."""
    return atla_recorded.load_recorded() if atla_recorded.INDEX.exists() else ()


PROMPT, ANSWER, TASK, MODEL, OTHER_MODEL, LIMIT = "prompt", "answer", "task", "model", "other_model", "max_new_tokens"
SYSTEM, EARLIER, OPTIONS = "system", "_earlier", "_template_options"
JOB, UNREADABLE = "_job", "_unreadable"
GENERATE, READ = "generate", "paste"
DEVICE, DTYPE, KIND, AUTO = "device", "dtype", "kind", "auto"
ATLAS, OTHER = "atlas", "another"
_NOTICES, _IN_FORM = "_notices", "_in_form"
VERDICT = {True: "correct", False: "incorrect"}


@dataclass(frozen=True, kw_only=True)
class Shown:
    """The answer that the page shows: `name` identifies it, `note` says what to look for."""

    name: str
    trace: Trace
    note: str = ""


def current() -> Shown | None:
    """Return the answer to show: that of a job that has just ended, or the URL's, or the first recorded one.

    None if the URL asks for an answer that does not exist yet, or if there are no recordings.

    Raises:
        TraceFileError: a recorded file is damaged.
        RunError: the answer is one of a run that cannot be read.
    """
    if (finished := _finished()) is not None:
        return finished
    if RUN in st.query_params:
        if (found := answers.find_in_run(st.query_params[RUN], st.query_params.get(NUMBER, ""))) is not None:
            return _in_form(Shown(name=found.ref, trace=found.trace, note=found.note))
        url_state.drop(*OF_RUN)
        notify("The answer that the link names was not found in a run here.")
    if (name := st.query_params.get(KEPT)) is not None:
        if (trace := answers.find(name)) is not None:
            return _in_form(Shown(name=f"{KEPT}:{name}", trace=trace))
        url_state.drop(KEPT)
        notify("That answer is no longer in memory. Generate it again, or open its saved trace.")
    return None if asked() else _recorded()


def asked() -> Asked | None:
    """Return what the URL asks for if it has a prompt, and fill the form with it once; nothing is run."""
    found = url_state.read_asked(st.query_params.to_dict())
    if found is not None and st.session_state.get(_IN_FORM) != found:
        fill(found)
        limit = str(st.session_state[LIMIT])
        if st.query_params.get(url_state.LIMIT, limit) != limit:
            notify(f"The link's token limit is not allowed here; it was set to {limit}.")
        for name, usable in ((url_state.CONTEXT, found.context), (url_state.OPTIONS, found.template_options)):
            if st.query_params.get(name) and not usable:
                notify(f"The link's {name.replace('_', ' ')} cannot be used and was left out; the form has the rest.")
        if hosting.is_hosted() and found.model not in hosting.models():
            notify(f"The link's model is not offered here; {hosting.models()[0]} is used instead.")
    return found


def fill(wanted: Asked) -> None:
    """Fill the form with a prompt and its context, an answer and a model."""
    system = [message.content for message in wanted.context if message.role == "system"]
    values = {
        PROMPT: printable(wanted.prompt),
        TASK: GENERATE if wanted.answer is None else READ,
        SYSTEM: "".join(system),
        EARLIER: wanted.context[len(system) :],
        OPTIONS: wanted.template_options,
        LIMIT: min(wanted.max_new_tokens, hosting.limits().new_tokens),
    }
    how = answer_fields.filled(wanted.sampling, end=wanted.end)
    st.session_state.update(values | how | _model(wanted) | {_IN_FORM: wanted})
    if wanted.answer is not None:
        st.session_state[ANSWER] = printable(wanted.answer)


def fill_for_next(wanted: Asked) -> None:
    """Fill the form for the next answer; the answer shown stays and does not overwrite the form."""
    filled_by = st.session_state.get(_IN_FORM)
    fill(wanted)
    st.session_state[_IN_FORM] = filled_by


def context() -> tuple[Message, ...]:
    """Return the messages before the prompt: the form's system prompt, if any, and the conversation so far."""
    system = printable(st.session_state.get(SYSTEM) or "")
    first = (Message(role="system", content=system),) if system.strip() else ()
    earlier: tuple[Message, ...] = st.session_state.get(EARLIER, ())
    return (*first, *earlier)


def _model(wanted: Asked) -> dict[str, str]:
    """Return the values of the model fields; a host offers only the models on its list."""
    if hosting.is_hosted():
        return {MODEL: hosting.offered(wanted.model)}
    named = wanted.model == ATLAS or find_named(wanted.model) is not None
    other = {} if named else {OTHER_MODEL: printable(wanted.model)}
    return {MODEL: wanted.model if named else OTHER, KIND: wanted.kind or AUTO} | other


def show(trace: Trace) -> Shown:
    """Show a new answer, and name it in the URL, where a reload finds it.

    The selection is cleared unless a link asked for this answer and that selection.
    """
    link = url_state.read_asked(st.query_params.to_dict())
    stays = link is not None and (link.prompt, link.context) == (trace.prompt, trace.messages[:-1])
    name = answers.keep(trace)
    gone = (EXAMPLE, *OF_RUN, *ASKS, *(() if stays else (*SELECTED, WRONG)))
    url_state.write(dict.fromkeys(gone, None) | {KEPT: name})
    shown = Shown(name=f"{KEPT}:{name}", trace=trace)
    st.session_state[_IN_FORM] = shown.name  # or newer: the form led to this answer
    return shown


def open_recorded(recorded: Recorded) -> None:
    """Show a recorded generation; a running job is stopped."""
    if job := st.session_state.pop(JOB, None):
        job.cancel.set()
    url_state.forget()
    st.session_state.pop(UNREADABLE, None)
    url_state.update_url(dict.fromkeys((KEPT, *OF_RUN, *ASKS, *SELECTED, WRONG), None) | {EXAMPLE: recorded.id})


def open_trace(trace: Trace) -> None:
    """Show an answer from a file; a running job is stopped."""
    if job := st.session_state.pop(JOB, None):
        job.cancel.set()
    st.session_state.pop(UNREADABLE, None)
    url_state.drop(*ASKS, *SELECTED, WRONG)
    show(trace)
    st.session_state.pop(_IN_FORM)  # so that the form is filled from it


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


def _finished() -> Shown | None:
    """Return the answer of a job that has just ended."""
    job = st.session_state.get(JOB)
    if job is None or job.trace is None:
        return None
    shown = show(job.trace)
    del st.session_state[JOB]  # last: if this script run is interrupted before, the next one takes the answer
    return shown


def _recorded() -> Shown | None:
    """Return the recorded answer that the URL names, or the first one."""
    at_hand = {recorded.id: recorded for recorded in recordings()}
    name = st.query_params.get(EXAMPLE)
    if name is not None and name not in at_hand:
        notify("No recorded answer has that name; the first one is shown.")
    if not at_hand:
        return None
    recorded = at_hand.get(name or "") or next(iter(at_hand.values()))
    url_state.update_url({EXAMPLE: recorded.id})
    note = (
        f"Recorded; the answer is {VERDICT[recorded.correct]}. {recorded.what_to_see} New to RAUQ? Start with Lesson."
    )
    return _in_form(Shown(name=f"{EXAMPLE}:{recorded.id}", trace=recorded.trace(), note=note))


def _in_form(shown: Shown) -> Shown:
    """Fill the form once with the request that led to an answer."""
    if st.session_state.get(_IN_FORM) != shown.name:
        fill(url_state.asking(shown.trace))
        st.session_state[_IN_FORM] = shown.name
    return shown
