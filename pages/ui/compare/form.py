"""The line above the strips: which answer is A, which is B, the fields for a new B, and how both are scored.

Both are scored by the same settings, unless B is given its own.
"""

import math
from contextlib import suppress
from functools import partial
from typing import Any

import streamlit as st

import rauq
from pages.ui.compare import answers
from pages.ui.compare.answers import PICKER, A, Answer, B
from pages.ui.host import hosting
from pages.ui.host.jobs import Job
from pages.ui.host.request import Request
from pages.ui.host.uploads import uploaded
from pages.ui.shared import state, url_state
from pages.ui.shared.errors import printable
from pages.ui.shared.measure import measure_of_both
from pages.ui.shared.model_form import chosen_model, model_form
from pages.ui.shared.settings_form import SettingsForm, settings_form
from pages.ui.shared.state import GENERATE, READ
from pages.ui.shared.url_state import BY, DEFAULT_TOKENS, SETTINGS, update_url
from rauq.errors import InvalidInput, RauqError
from rauq.labels import running, visible
from rauq.scoring import report
from rauq.scoring.report import was_given
from rauq.scoring.score import Measure
from rauq.scoring.settings import Settings, is_paper_setting
from rauq.trace.file import LARGEST_UPLOAD
from rauq.trace.trace import Trace

_OWN_TEXT = -1  # among the ids of the alternatives
_TOKEN, _OWN, _LIMIT = "branch_token", "branch_text", "compare_max_new_tokens"
_TASK, _ANSWER = "compare_task", "compare_answer"
_UPLOADS = "_compare_uploads"


def make_another(a: Answer) -> None:
    """Draw the button that opens the fields for a new B."""
    place = st.popover(
        "Make another B", key=answers.MAKE, width="stretch", on_change="rerun", disabled=answers.job() is not None
    )
    if not place.open:  # hidden fields are not drawn; the session keeps their values
        return
    with place:
        branch, prompt, file = st.tabs(["Branch off A", "Another prompt", "Saved trace"])
        with branch:
            _branch_fields(a)
        with prompt:
            prompt_fields(a)
        with file:
            file_field()


def stop_button(job: Job) -> None:
    """Draw the button that stops a running job."""
    st.button("Stop", key="stop_making", type="primary", width="stretch", on_click=job.cancel.set)


def limit() -> int:
    """Return how many new tokens the form allows."""
    return int(st.session_state.get(_LIMIT, DEFAULT_TOKENS))


def prompt_fields(a: Answer | None) -> None:
    """Draw prompt, answer and model; the prompt is A's at first."""
    key = f"compare_prompt_{a.ref if a else ''}"
    prompt = printable(a.trace.prompt) if a else ""
    defaults = {_TASK: GENERATE, state.MODEL: hosting.first_model(), _LIMIT: DEFAULT_TOKENS, _ANSWER: ""}
    for name, value in defaults.items():
        st.session_state.setdefault(name, value)
    placeholder = "A question, or any text to continue"
    st.text_area("Prompt", prompt, key=key, height=120, placeholder=placeholder, persist_state="session")
    with st.container(horizontal=True):
        task = st.segmented_control("Answer", (GENERATE, READ), key=_TASK, required=True, persist_state="session")
        disabled, most = task == READ, hosting.limits().new_tokens
        st.number_input("Max new tokens", 1, most, key=_LIMIT, disabled=disabled, width=130, persist_state="session")
    if task == READ:
        placeholder = "The answer, exactly as the model would generate it"
        st.text_area("Answer to score", key=_ANSWER, height=80, placeholder=placeholder, persist_state="session")
    model_form()
    label = "Generate" if task == GENERATE else "Score answer"
    st.button(label, key="make_answer", type="primary", on_click=_answer_prompt, args=(key,))


def file_field() -> None:
    """Draw the field for a saved trace; it is cleared once the file is read."""
    key = f"upload_{st.session_state.get(_UPLOADS, 0)}"
    st.file_uploader(
        "A trace saved here or with trace.save",
        type="safetensors",
        key=key,
        max_upload_size=LARGEST_UPLOAD // 2**20,  # megabytes
        on_change=_open_upload,
        args=(key,),
    )


def _branch_fields(a: Answer) -> None:
    selected = answers.selected_token(a.trace)
    st.session_state[_TOKEN] = _largest_collapse(a.trace) if selected is None else selected
    st.number_input("Token of A", 0, len(a.trace.pieces) - 1, key=_TOKEN, on_change=_choose_token)
    token = st.session_state[_TOKEN]
    texts = {
        other.instead: f"{visible(other.text) or '∅'}   {math.exp(other.logprob):.3f}"
        for other in a.trace.alternatives[token]
        if other.id != a.trace.answer_ids[token]
    }
    key = f"instead_{a.ref}_{token}"
    options = [*texts, _OWN_TEXT]
    chosen = st.selectbox(
        "Instead", options, format_func=lambda o: texts.get(o, "My own text"), key=key, persist_state="session"
    )
    if chosen == _OWN_TEXT:
        placeholder = "Include the leading space if there is one"
        st.text_input("My own text", key=_OWN, placeholder=placeholder, persist_state="session")
    st.button("Generate", key="make_branch", type="primary", on_click=_branch, args=(a, token, key))


def _largest_collapse(trace: Trace) -> int:
    """Return the largest collapse under the paper's setting; the first token if that is undefined."""
    with suppress(RauqError):
        if collapse_point := report.collapse(trace, rauq.score(trace)):
            return collapse_point.token
    return 0


@url_state.by_the_user
def _choose_token() -> None:
    answers.select_token(st.session_state[_TOKEN])


def _branch(a: Answer, token: int, key: str) -> None:
    chosen = st.session_state[key]
    answers.start_branch(a, token, st.session_state.get(_OWN, "") if chosen == _OWN_TEXT else chosen, limit())


def _answer_prompt(key: str) -> None:
    values = st.session_state
    request = Request(
        model=chosen_model(),
        prompt=values[key],
        answer=values[_ANSWER] if values[_TASK] == READ else None,
        max_new_tokens=limit(),
    )
    if missing := _missing(request):
        answers.refuse(InvalidInput(missing))
    else:
        answers.start(request)


def _missing(request: Request) -> str:
    if not request.prompt.strip():
        return "There is no prompt. Type one."
    if request.answer == "":
        return "There is no answer to score. Paste one, or choose generate."
    return "" if request.model.name else "No model is given. Enter a hub id, a folder or a GGUF file, or choose atlas."


def _open_upload(key: str) -> None:
    if (file := uploaded(key)) is not None:
        st.session_state[_UPLOADS] = st.session_state.get(_UPLOADS, 0) + 1
        answers.open_file(file.getvalue(), running(file.name))


def pickers(a: Answer, b: Answer) -> None:
    """Draw the choice of the two answers, the fields for a new one, and the settings."""
    left, between, right, make, scoring = st.columns([15, 4, 15, 8, 10], gap="small", vertical_alignment="bottom")
    with left:
        _picker(A, a, b)
    with between:
        st.button("Swap", key="swap", width="stretch", on_click=_swap, args=(a, b))
    with right:
        _picker(B, b, a)
    with make:
        make_another(a)
    with scoring:
        if (job := answers.job()) is None:
            _settings_controls(a.trace, b.trace)
        else:
            stop_button(job)


def _picker(side: str, chosen: Answer, other: Answer) -> None:
    """Draw the list of available answers, and those of the URL, which may come from another session."""
    of_the_url = {answer.ref: answers.in_short(answer.trace) for answer in (chosen, other)}
    names = {**answers.available_answers()}
    names |= {ref: name for ref, name in of_the_url.items() if ref not in names}
    key = PICKER + side
    st.session_state[key] = chosen.ref
    st.selectbox(
        side.upper(),
        list(names),
        format_func=lambda ref: names.get(ref, ""),
        key=key,
        on_change=_choose,
        args=(side, key),
    )


def _swap(a: Answer, b: Answer) -> None:
    answers.refuse(None)
    answers.swap(a, b)


@url_state.by_the_user
def _choose(side: str, key: str) -> None:
    answers.refuse(None)
    answers.choose(side, st.session_state[key])


_BOTH, _ONLY_B = "", "b_"  # what stands before the names in the URL
_B_ALONE = "b_settings"
_POPOVER = "scoring"
_OF_B = (_B_ALONE, *(_ONLY_B + name for name in SETTINGS))


def settings_of_both(a: Trace, b: Trace) -> tuple[Settings, Settings]:
    """The settings of A and of B; unusable settings of the URL are replaced by the paper's."""
    forms = _forms(a, b)
    return forms[0].read(), forms[-1].read()


def _settings_controls(a: Trace, b: Trace) -> None:
    """The button says whether the settings are the paper's; they are drawn once it is open."""
    by_rauq = measure_of_both(a, b) == "rauq"
    papers = by_rauq and all(is_paper_setting(s, t.kind) for s, t in zip(settings_of_both(a, b), (a, b), strict=True))
    own = _b_has_its_own()
    label = "separate for B" if own else "paper's setting" if papers else "custom" if by_rauq else "largest surprisal"
    place = st.popover(f"Scoring: {label}", key=_POPOVER, width="stretch", on_change="rerun")
    if place.open:
        with place:
            _all_fields(_forms(a, b), own=own)
            given: Measure | None = "rauq" if was_given(a) and was_given(b) else None
            options: dict[str, Any] = {"on_click": _back_to_the_papers, "args": (given,)}
            st.button("Reset to paper's setting", key="paper", disabled=papers and not own, **options)
            if given and by_rauq:
                _offer_surprisal()


def _b_has_its_own() -> bool:
    return _B_ALONE in st.query_params


def _forms(a: Trace, b: Trace) -> tuple[SettingsForm, ...]:
    """One form for both answers, or one for each."""
    if _b_has_its_own():
        return _form(_BOTH, a), _form(_ONLY_B, b)
    return (_form(_BOTH, a, b),)


def _form(prefix: str, *answers: Trace) -> SettingsForm:
    return SettingsForm(
        answers=answers,
        read=partial(state.settings, *answers, prefix=prefix),
        write=partial(state.change_settings, prefix=prefix),
        prefix=prefix,
        suffix=" of B" if prefix else "",
    )


def _all_fields(forms: tuple[SettingsForm, ...], *, own: bool) -> None:
    st.session_state[_B_ALONE] = own
    st.toggle("Separate settings for B", key=_B_ALONE, on_change=_toggle)
    places = st.tabs(["A", "B"]) if own else [st.container()]
    for place, form in zip(places, forms, strict=True):
        with place:
            settings_form(form)


def _back_to_the_papers(by: Measure | None) -> None:
    """Score both by RAUQ with the paper's setting; given answers, if `by` is rauq, too."""
    update_url(dict.fromkeys((*SETTINGS, *_OF_B)) | {BY: by})


def _offer_surprisal() -> None:
    """The way back to what finds errors in given answers."""
    st.button("Score by the largest surprisal", key="by_surprisal", on_click=_back_to_the_papers, args=(None,))


@url_state.by_the_user
def _toggle() -> None:
    """B's own settings begin as those of both; without them, B is scored as A is."""
    as_both = {_B_ALONE: "own"} | {_ONLY_B + name: st.query_params.get(name) for name in SETTINGS}
    update_url(as_both if st.session_state[_B_ALONE] else dict.fromkeys(_OF_B))
