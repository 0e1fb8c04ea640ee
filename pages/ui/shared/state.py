"""Which answer the page Inspect shows, and the fields of its form: the URL names it, the session carries the rest."""

from dataclasses import dataclass

import streamlit as st

from pages.ui.host import hosting
from pages.ui.shared import answer_fields, answers, url_state
from pages.ui.shared.errors import printable
from pages.ui.shared.url_state import ASKS, EXAMPLE, KEPT, NUMBER, OF_RUN, RUN, SELECTED, WRONG, Asked
from rauq.atlas import recorded as atla_recorded
from rauq.atlas.recorded import Recorded
from rauq.scoring.settings import Settings
from rauq.trace.messages import Message
from rauq.trace.trace import Kind, Trace


def recordings() -> tuple[Recorded, ...]:
    """The recorded generations that ship with the embedded model, the one to open on first."""
    return atla_recorded.load_recorded() if atla_recorded.INDEX.exists() else ()


PROMPT, ANSWER, TASK, MODEL, OTHER_MODEL, LIMIT = "prompt", "answer", "task", "model", "other_model", "max_new_tokens"
SYSTEM, EARLIER, OPTIONS = "system", "_earlier", "_template_options"
JOB, UNREADABLE = "_job", "_unreadable"
GENERATE, READ = "generate", "paste"
DEVICE, DTYPE, KIND, AUTO = "device", "dtype", "kind", "auto"
ATLAS, OTHER = "atlas", "another"
_NOTICES, _LAST_QUERY, _IN_FORM = "_notices", "_last_query", "_in_form"
VERDICT = {True: "right", False: "wrong"}


@dataclass(frozen=True, kw_only=True)
class Shown:
    """The answer that the page shows: `name` tells it from others, `note` says what there is to see in it."""

    name: str
    trace: Trace
    note: str = ""


def current() -> Shown | None:
    """The answer to look into: a job's that has just ended, or the URL's, or the first recorded one.

    None where the URL asks for an answer that is not there yet, or nothing was ever recorded.

    Raises:
        TraceFileError: a recorded file is damaged.
        RunError: the answer is one of a run that cannot be read.
    """
    _take_over_finished_job()
    if RUN in st.query_params:
        if (found := answers.find_in_run(st.query_params[RUN], st.query_params.get(NUMBER, ""))) is not None:
            return _in_form(Shown(name=found.ref, trace=found.trace, note=found.note))
        _forget(*OF_RUN)
        notify("There is no such answer of a run here: another stands in its place.")
    if (name := st.query_params.get(KEPT)) is not None:
        if (trace := answers.find(name)) is not None:
            return _in_form(Shown(name=f"{KEPT}:{name}", trace=trace))
        del st.query_params[KEPT]
        notify("That answer is no longer in memory. Answer its prompt again, or open its saved trace.")
    return None if asked() else _recorded()


def asked() -> Asked | None:
    """What the URL asks for, if it brings a prompt. It is put into the form, once; nothing is run for it."""
    found = url_state.read_asked(st.query_params.to_dict())
    if found is not None and st.session_state.get(_IN_FORM) != found:
        fill(found)
        limit = str(st.session_state[LIMIT])
        if st.query_params.get(url_state.LIMIT, limit) != limit:
            notify(f"The link's limit of tokens cannot be used here; it is {limit} now.")
        for name, usable in ((url_state.CONTEXT, found.context), (url_state.OPTIONS, found.template_options)):
            if st.query_params.get(name) and not usable:
                notify(f"The link's {name.replace('_', ' ')} cannot be used; the form holds its prompt without it.")
        if hosting.is_hosted() and found.model not in hosting.models():
            notify(f"The link's model is not offered here; it is {hosting.models()[0]} now.")
    return found


def fill(wanted: Asked) -> None:
    """Put a prompt and what comes before it, an answer and a model into the form."""
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
    """Fill the form for the next answer; the answer that the page shows stays, and does not refill the form."""
    filled_by = st.session_state.get(_IN_FORM)
    fill(wanted)
    st.session_state[_IN_FORM] = filled_by


def context() -> tuple[Message, ...]:
    """The messages before the prompt: the system prompt of the form, if any, and the conversation so far."""
    system = printable(st.session_state.get(SYSTEM) or "")
    first = (Message(role="system", content=system),) if system.strip() else ()
    earlier: tuple[Message, ...] = st.session_state.get(EARLIER, ())
    return (*first, *earlier)


def _model(wanted: Asked) -> dict[str, str]:
    """What the fields of the model say; on a host they offer no more than its list."""
    if hosting.is_hosted():
        return {MODEL: hosting.offered(wanted.model)}
    other = {} if wanted.model == ATLAS else {OTHER_MODEL: printable(wanted.model)}
    return {MODEL: OTHER if other else ATLAS, KIND: wanted.kind or AUTO} | other


def show(trace: Trace) -> None:
    """Show an answer that has just come. What was selected goes, unless a link asked for this answer and for that."""
    link = url_state.read_asked(st.query_params.to_dict())
    stays = link is not None and (link.prompt, link.context) == (trace.prompt, trace.messages[:-1])
    name = answers.keep(trace)
    gone = (EXAMPLE, *OF_RUN, *ASKS, *(() if stays else (*SELECTED, WRONG)))
    url_state.write(dict.fromkeys(gone, None) | {KEPT: name})
    st.session_state[_IN_FORM] = f"{KEPT}:{name}"  # or newer: the form is where it came from


def open_recorded(recorded: Recorded) -> None:
    """Show a recorded generation; a job at work is stopped."""
    if job := st.session_state.pop(JOB, None):
        job.cancel.set()
    url_state.forget()
    st.session_state.pop(UNREADABLE, None)
    url_state.update_url(dict.fromkeys((KEPT, *OF_RUN, *ASKS, *SELECTED, WRONG), None) | {EXAMPLE: recorded.id})


def open_trace(trace: Trace) -> None:
    """Show an answer that came as a file; a job at work is stopped."""
    if job := st.session_state.pop(JOB, None):
        job.cancel.set()
    st.session_state.pop(UNREADABLE, None)
    _forget(*ASKS, *SELECTED, WRONG)
    show(trace)
    st.session_state.pop(_IN_FORM)  # what led to it belongs into the form


def wrong_tokens(trace: Trace) -> tuple[int, ...]:
    """The tokens that the user marked as wrong: those of the URL, or else those that the trace came with."""
    text = st.query_params.get(WRONG)
    if text is None:
        return trace.wrong
    marked, usable = url_state.read_wrong(text, len(trace.pieces))
    if not usable:
        notify("Some tokens that the link marks as wrong are not in this answer; they are left out.")
        st.query_params[WRONG] = url_state.written_wrong(marked)
    return marked


def settings(captured: url_state.Captured | None) -> Settings:
    """The settings of the URL. What cannot be used is taken out of it, and the user is told."""
    found, wrong = url_state.read_settings(st.query_params.to_dict())
    if captured is not None:
        found, unfit = url_state.fitted(found, captured)
        wrong += unfit
    if wrong:
        notify(f"The link's {' and '.join(wrong)} cannot be used here: the paper's setting takes its place.")
        _forget(*wrong)
    return found


def change_settings(chosen: Settings, kind: Kind) -> None:
    """Write settings to the URL, leaving out what is the paper's for this kind of model anyway."""
    url_state.update_url(url_state.written_settings(chosen, kind))


def bring_back_url() -> None:
    """A switch of pages empties the URL: bring back what it said when this page was left.

    While an answer is shown, the URL names it, so it is empty at no other time.
    """
    if not st.query_params and (last := st.session_state.get(_LAST_QUERY)):
        st.query_params.from_dict(last)
    url_state.hold((KEPT, EXAMPLE, *OF_RUN, *ASKS))


def remember_url() -> None:
    """Keep the URL for `bring_back_url`."""
    st.session_state[_LAST_QUERY] = st.query_params.to_dict()


def notify(text: str) -> None:
    """Tell the user something in this run, or in the next."""
    st.session_state[_NOTICES] = [*st.session_state.get(_NOTICES, []), text]


def tell_notices() -> None:
    """Show what `notify` was given."""
    for text in st.session_state.pop(_NOTICES, []):
        st.toast(text)


def _take_over_finished_job() -> None:
    job = st.session_state.get(JOB)
    if job is not None and job.trace is not None:
        show(job.trace)
        del st.session_state[JOB]  # last: a run that is cut short before it leaves the answer to the next


def _recorded() -> Shown | None:
    """The recorded answer that the URL names, or the first one."""
    at_hand = {recorded.id: recorded for recorded in recordings()}
    name = st.query_params.get(EXAMPLE)
    if name is not None and name not in at_hand:
        notify("There is no recorded answer of that name; this is the first one.")
    if not at_hand:
        return None
    recorded = at_hand.get(name or "") or next(iter(at_hand.values()))
    if st.query_params.get(EXAMPLE) != recorded.id:
        st.query_params[EXAMPLE] = recorded.id
    note = (
        f"Recorded; the answer is {VERDICT[recorded.correct]}. {recorded.what_to_see} New to RAUQ? Start with Lesson."
    )
    return _in_form(Shown(name=f"{EXAMPLE}:{recorded.id}", trace=recorded.trace(), note=note))


def _in_form(shown: Shown) -> Shown:
    """Fill the form with what led to an answer, once."""
    if st.session_state.get(_IN_FORM) != shown.name:
        fill(url_state.asking(shown.trace))
        st.session_state[_IN_FORM] = shown.name
    return shown


def _forget(*names: str) -> None:
    url_state.update_url(dict.fromkeys(names))
