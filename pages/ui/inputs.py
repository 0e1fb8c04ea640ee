"""The sidebar's upper part: what to answer, and by which model."""

import streamlit as st

from pages.ui import cache, state
from pages.ui.errors import printable
from pages.ui.examples import EXAMPLES, Example
from pages.ui.jobs import Request, refused, start
from pages.ui.recorded import recordings
from rauq.atlas.recorded import Recorded
from rauq.errors import InvalidInput, RauqError
from rauq.trace import Trace

ATLAS, OTHER = "atlas", "another"
GENERATE, READ = "generate", "paste"
MOST_TOKENS = 1024

_EXAMPLE = "_example"
_MODEL_HELP = "atlas is embedded: small, and ready without a network. Another: a hub id, or a local folder."


def request_form() -> Request:
    """Prompt, answer and model, as the user has them now."""
    for key, value in {state.TASK: GENERATE, state.MODEL: ATLAS, state.LIMIT: 128}.items():
        st.session_state.setdefault(key, value)
    for key in (state.ANSWER, state.OTHER_MODEL):  # else Streamlit forgets a field while it is not drawn
        st.session_state[key] = st.session_state.get(key, "")
    st.text_area("Prompt", key=state.PROMPT, height=150, placeholder="A question, or any text to go on from")
    examples: tuple[Recorded | Example, ...] = (*recordings(), *EXAMPLES)
    st.selectbox(
        "Example",
        examples,
        index=None,
        format_func=_name,
        key=_EXAMPLE,
        on_change=_take_example,
        placeholder="Start from an example",
        label_visibility="collapsed",
    )
    with st.container(horizontal=True):
        task = st.segmented_control("Answer", (GENERATE, READ), key=state.TASK, required=True)
        st.number_input("Most tokens", 1, MOST_TOKENS, key=state.LIMIT, disabled=task == READ, width=130)
    if task == READ:
        placeholder = "The answer, as the model would write it"
        st.text_area("Answer to score", key=state.ANSWER, height=80, placeholder=placeholder)
        _hint_at_space()
    st.segmented_control("Model", (ATLAS, OTHER), key=state.MODEL, required=True, help=_MODEL_HELP)
    if st.session_state[state.MODEL] == OTHER:
        st.text_input("Hub id or folder", key=state.OTHER_MODEL, placeholder="organisation/model, or a folder's path")
    return current_request()


def current_request() -> Request:
    """The request that the session's widgets describe."""
    values = st.session_state
    other = values.get(state.MODEL) == OTHER
    return Request(
        model=values.get(state.OTHER_MODEL, "").strip() if other else ATLAS,
        prompt=values.get(state.PROMPT, ""),
        answer=values.get(state.ANSWER, "") if values.get(state.TASK) == READ else None,
        max_new_tokens=values.get(state.LIMIT, 128),
    )


def run_buttons(request: Request, *, live: bool) -> None:
    """Generate or score, and stop; a missing prompt does not disable them, for this click is what sends it."""
    with st.container(horizontal=True):
        label = "Generate" if request.answer is None else "Score it"
        st.button(label, key="run", type="primary", on_click=run, disabled=live, width="stretch")
        st.button("Stop", key="stop", on_click=stop, disabled=not live)


def take(example: Example) -> None:
    """Put an example into the form, and begin to answer it."""
    st.session_state.update({state.PROMPT: example.prompt, state.TASK: GENERATE, state.MODEL: ATLAS})
    run()


def run() -> None:
    """Start a job for what the widgets say, unless one is at work: five clicks are one generation."""
    job = st.session_state.get(state.JOB)
    if job is None or not job.live:
        request = current_request()
        missing = _missing(request)
        st.session_state[state.JOB] = refused(request, InvalidInput(missing)) if missing else start(request)


def stop() -> None:
    """Ask the job to end; what it has so far is kept."""
    st.session_state[state.JOB].cancel.set()


def token_count(request: Request, shown: Trace | None, *, told: RauqError | None) -> None:
    """Say how long the prompt is and how long it may be; nothing is loaded for an answer that is already shown.

    `told` is the error that the page shows already.
    """
    in_memory = cache.if_loaded(request.model) is not None
    if not request.prompt.strip():
        st.caption("No prompt yet: its tokens are counted here.")
    elif shown and not in_memory and (shown.model, shown.prompt) == (request.model, request.prompt):
        st.caption(_room(len(shown.prompt_ids), None))
    elif in_memory or request.model == ATLAS:
        _count(request, told)
    else:
        st.caption("The token count appears once the model is loaded.")


def _count(request: Request, told: RauqError | None) -> None:
    try:
        lm = cache.model(request.model)
        st.caption(_room(len(lm.encode(request.prompt).ids), lm.context_length))
    except RauqError as error:
        if str(error) != str(told):
            st.text(printable(str(error)))


def _room(tokens: int, limit: int | None) -> str:
    return f"{tokens} prompt tokens" + (f" of {limit} with the answer" if limit else "")


def _missing(request: Request) -> str | None:
    if not request.prompt.strip():
        return "There is no prompt. Type one, or start from an example."
    if request.answer is not None and not request.answer:
        return "There is no answer to score. Paste one, or let the model generate it."
    return None if request.model else "No model is named. Give a hub id or a folder, or choose atlas."


def _take_example() -> None:
    example = st.session_state[_EXAMPLE]
    st.session_state[_EXAMPLE] = None  # so that the same one can be chosen again
    if isinstance(example, Recorded):
        st.session_state.update({state.TASK: GENERATE, state.MODEL: ATLAS})
        state.open_recorded(example)
    elif example is not None:
        take(example)


def _hint_at_space() -> None:
    """A pasted answer often lacks the space that the model would have begun with."""
    prompt, answer = st.session_state.get(state.PROMPT, ""), st.session_state[state.ANSWER]
    if answer and prompt and not (answer[0].isspace() or prompt[-1].isspace()):
        st.caption("This answer begins without a space: to most models that is another text.")
        st.button("Add a space", key="add_space", on_click=_add_space)


def _add_space() -> None:
    st.session_state[state.ANSWER] = f" {st.session_state[state.ANSWER]}"


def _name(example: Example | Recorded) -> str:
    return f"{example.name} (recorded)" if isinstance(example, Recorded) else example.name
