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
_ANSWER_HELP = "Most models begin an answer with a space: a text without it is another text to them."


def request_form() -> Request:
    """Prompt, answer and model, as the user has them now."""
    for key, value in {state.TASK: GENERATE, state.MODEL: ATLAS, state.LIMIT: 128}.items():
        st.session_state.setdefault(key, value)
    st.text_area("Prompt", key=state.PROMPT, height=150, placeholder="A question, or any text to go on from")
    examples: tuple[Recorded | Example, ...] = (*recordings(), *EXAMPLES)
    example = st.selectbox(
        "Example",
        examples,
        index=None,
        format_func=_name,
        key=_EXAMPLE,
        on_change=_take_example,
        placeholder="Start from an example",
        label_visibility="collapsed",
    )
    if isinstance(example, Example):  # of a recorded one the page says it beside the answer
        st.text(example.what_to_see)
    with st.container(horizontal=True):
        task = st.segmented_control("Answer", (GENERATE, READ), key=state.TASK, required=True)
        st.number_input("Most tokens", 1, MOST_TOKENS, key=state.LIMIT, disabled=task == READ, width=130)
    if task == READ:
        placeholder = "The answer, as the model would write it"
        st.text_area("Answer to score", key=state.ANSWER, height=80, placeholder=placeholder, help=_ANSWER_HELP)
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


def token_count(request: Request, shown: Trace | None) -> None:
    """Say how long the prompt is and how long it may be; nothing is loaded for an answer that is already shown."""
    in_memory = cache.if_loaded(request.model) is not None
    if not request.prompt.strip():
        st.caption("No prompt yet: its tokens are counted here.")
    elif shown and not in_memory and (shown.model, shown.prompt) == (request.model, request.prompt):
        st.caption(_room(len(shown.prompt_ids), None))
    elif in_memory or request.model == ATLAS:
        _count(request)
    else:
        st.caption("The token count appears once the model is loaded.")


def _count(request: Request) -> None:
    try:
        lm = cache.model(request.model)
        st.caption(_room(len(lm.encode(request.prompt).ids), lm.context_length))
    except RauqError as error:
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
    if isinstance(example, Recorded):
        state.open_recorded(example)
    elif example is not None:
        st.session_state[state.PROMPT] = example.prompt


def _name(example: Example | Recorded) -> str:
    return f"{example.name} (recorded)" if isinstance(example, Recorded) else example.name
