"""The page Inspect: the request, and below it nothing yet, an answer being generated, or a scored one."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.ui.host import hosting
from pages.ui.host.jobs import Job
from pages.ui.host.looking import MOST_TOGETHER, has_moved, poll_seconds, stage
from pages.ui.host.request import Request
from pages.ui.host.store import store
from pages.ui.inspect import form, own_job
from pages.ui.inspect.answer_view import AnswerView, Shown, view_of
from pages.ui.inspect.branch import (
    act_on_branch,
    branch_job,
    branch_problem,
    continuation,
    just_ended,
    opened_in_compare,
    start_branch,
    stop_branch,
)
from pages.ui.inspect.closing import OPEN
from pages.ui.inspect.conversation import follow_up
from pages.ui.inspect.drawers import EXPORT, drawer_links, make_reference, open_drawer, print_figures
from pages.ui.inspect.form import EXAMPLES, run, take, task_name
from pages.ui.inspect.linked_views import Listener, live_views, show_views
from pages.ui.inspect.linked_views.reported import AtToken, Corrected, Judged, OtherAnswer, Replaced, Reported
from pages.ui.inspect.loop import is_left_out, loop_line, looped
from pages.ui.inspect.messages import show_messages
from pages.ui.inspect.reference import finish_reference
from pages.ui.inspect.remedies import has_template, offer_remedies
from pages.ui.inspect.settings import offer_surprisal, scoring_drawer, take_more_attention
from pages.ui.inspect.verdict import (
    apply_event,
    linked_verdict,
)
from pages.ui.shared import answers, selection, state, url_state
from pages.ui.shared.entrypoint import require_shell
from pages.ui.shared.errors import printable, show_error
from pages.ui.shared.measure import scored as measured
from pages.ui.shared.model_form import chosen_model, model_details
from pages.ui.shared.sent import own_request
from pages.ui.shared.url_state import ASKS, EXAMPLE, FROM, KEPT, NUMBER, OF_RUN, PROMPT, RUN, SAID, Asked
from rauq.checkpoints.kinds import find_preset
from rauq.checkpoints.named import find_named
from rauq.errors import RauqError
from rauq.labels import amount, running, shortened
from rauq.scoring.report import Words
from rauq.scoring.score import Score
from rauq.trace.trace import Kind, Trace

PAGE = "inspect"
_LONGEST_PROMPT = 80  # characters, where a prompt is only named
_BRANCH_SECONDS = 0.5  # between two looks at a branch that is being generated
_REFILLED = "_refilled"  # the name of the answer that is gone and whose prompt the form has again
_SPEED = "_speed_of_answer"  # the name of the latest answer, and its tokens a second


@dataclass(frozen=True, eq=False, kw_only=True)
class _Opened:
    """The answer to show, if any, and its view, or why there is none; while a job runs there is no view."""

    shown: Shown | None = None
    view: AnswerView | None = None
    problem: RauqError | None = None


def inspect_page() -> None:
    """Draw the page: the answer comes before the form, since users look for it first."""
    require_shell(PAGE)
    url_state.restore_url(PAGE)
    url_state.hold((KEPT, EXAMPLE, *OF_RUN, *ASKS, *SAID))
    form.set_defaults()
    job: Job | None = st.session_state.get(state.JOB)
    live_job = job if job is not None and job.live else None  # read once: a job that ends now is left to the next run
    opened = _opened(live=live_job is not None)
    request = form.current_request()
    refusal = job.error if job is not None and job.request == request else None  # else it may have been fixed since
    form.unfold_for(job if refusal else None)
    bar = st.container(key="inspect_bar", gap="small")
    if live_job:
        stop_branch()  # it would be ahead of the new answer, and out of sight
        follow(live_job)
    else:
        _main(opened, request, refusal, is_new=job is None)
    with bar:
        count = _bar(opened, request, live=live_job)
    own_job.remember()
    _remember(opened)
    state.show_notices()
    url_state.remember(PAGE)
    with count:
        _finish(opened, request, refusal, live=live_job is not None)


def _remember(opened: _Opened) -> None:
    """Let the browser keep what leads to this answer again; a recorded one, and one of a run, need nothing."""
    name = st.query_params.get(KEPT)
    if opened.view and opened.shown and opened.shown.name == f"{KEPT}:{name}":
        own_request.keep(name or "", url_state.asking(opened.shown.whole or opened.shown.trace))


def _opened(*, live: bool) -> _Opened:
    try:
        shown = _as_asked(current())
    except RauqError as error:
        return _Opened(problem=error)
    if shown is None or live:
        return _Opened(shown=shown)
    try:
        return _Opened(shown=shown, view=view_of(shown))
    except RauqError as error:
        return _Opened(shown=shown, problem=error)


def _finish(opened: _Opened, request: Request, refusal: RauqError | None, *, live: bool) -> None:
    """Do what may take long, once all is drawn: count tokens, and read what the answer is compared with.

    While a job is `live` the count loads no model: the job does.
    """
    trace = opened.shown.trace if opened.shown else None
    form.token_count(request, trace, shown_error=refusal, may_load=trace is not None and not live)
    if opened.view:
        finish_reference(opened.view.trace, opened.view.score)


def _as_asked(shown: Shown | None) -> Shown | None:
    """The same answer, without its loop where that is asked for, and with what a link says of it."""
    if shown is None:
        return None
    trace, loop = looped(shown.trace)
    whole = shown.trace if loop.left_out else None
    return replace(shown, trace=trace, loop=loop, whole=whole, linked=linked_verdict(shown.trace))


def _say_earlier(request: Request, shown: Trace) -> None:
    """Say which prompt failed, and that the answer below is another one."""
    done = "generated" if request.answer is None else "scored"
    prompts = (running(printable(prompt)) for prompt in (request.prompt, shown.prompt))
    failed, earlier = (shortened(prompt, longest=_LONGEST_PROMPT) for prompt in prompts)
    asked = f" for the prompt “{failed}”" if failed else ""
    st.text(f"No answer was {done}{asked}. Below is the earlier answer to “{earlier}”.")


def _say_other(request: Request, shown: Trace) -> None:
    """Say that the answer below is of another prompt or engine, or not the pasted one, where the form asks so."""
    is_pasting = request.answer is not None
    is_other = is_pasting and request.answer != printable(shown.answer)
    is_other |= request.model.engine is not None and not shown.engine.startswith(request.model.engine)
    if request.prompt.strip() and (is_other or request.prompt != printable(shown.prompt)):
        earlier = shortened(running(printable(shown.prompt)), longest=_LONGEST_PROMPT)
        st.text(f"Below is the earlier answer to “{earlier}”, until you press {task_name(request)}.")


def _main(opened: _Opened, request: Request, refusal: RauqError | None, *, is_new: bool) -> None:
    own_job.offer_other()
    for problem in filter(None, (refusal, opened.problem)):
        show_error(problem)
    if opened.shown:
        _say_which(opened.shown, request, refusal)
    if opened.view:
        show_answer(opened.view)
    elif opened.shown is None:
        _without_answer(request, is_new=is_new)


def _say_which(shown: Shown, request: Request, refusal: RauqError | None) -> None:
    if refusal:
        _say_earlier(request, shown.trace)
    else:
        _say_other(request, shown.whole or shown.trace)


def _without_answer(request: Request, *, is_new: bool) -> None:
    if asked := form.asked_by_link():
        linked_request(asked, request, is_new=is_new)
    elif KEPT in st.query_params:
        answer_gone()
    else:
        empty_state()


def _bar(opened: _Opened, request: Request, *, live: Job | None) -> DeltaGenerator:
    """Draw the form and the drawers; return the place of the token count."""
    form.request_bar(request, live=live)
    with st.container(horizontal=True, vertical_alignment="bottom", key="model_details"):
        model_details(quiet=True)
    with st.container(horizontal=True, vertical_alignment="center", key="links"):
        form.option_links()
        with st.container(width="content"):
            count = form.last_count()  # the last of its row: its length changes while an answer is written
        st.space("stretch")
        _drawers(None if live else opened.shown, opened.view)
    form.answer_fields_row(is_shown=opened.shown is not None)
    if opened.view:
        open_drawer(opened.view)
    return count


def _drawers(found: Shown | None, view: AnswerView | None) -> None:
    with st.container(key="drawer_links"):  # it is there without links too, so that what follows keeps its place
        if view:
            drawer_links(view)
    if found:
        scoring_drawer(found.trace, without_loop=found.loop.left_out)
    else:
        scoring_drawer(None, without_loop=PROMPT in st.query_params and is_left_out())


def current() -> Shown | None:
    """Return the answer to show: that of a job that has just ended, or the URL's, or the first recorded one.

    None if the URL asks for an answer that does not exist yet, or not any more, or if there are no recordings.

    Raises:
        TraceFileError: a recorded file is damaged.
        RunError: the answer is one of a run that cannot be read.
    """
    if (finished := _finished()) is not None:
        return finished
    if RUN in st.query_params:
        if (run_answer := answers.find_in_run(st.query_params[RUN], st.query_params.get(NUMBER, ""))) is not None:
            return _in_form(Shown(name=run_answer.ref, trace=run_answer.trace, note=run_answer.note))
        url_state.drop(*OF_RUN)
        state.notify("The answer that the link names was not found in a run here.")
    if (name := st.query_params.get(KEPT)) is not None and (trace := answers.find(name)) is not None:
        return _in_form(Shown(name=f"{KEPT}:{name}", trace=trace, note=_speed_of(f"{KEPT}:{name}")))
    return None if form.asked_by_link() or name is not None else _recorded()


def _finished() -> Shown | None:
    """Return the answer of a job that has just ended."""
    job = st.session_state.get(state.JOB)
    if job is None or job.trace is None:
        return None
    name = state.show(job.trace)
    st.session_state[_SPEED] = (name, job.speed)
    shown = Shown(name=name, trace=job.trace, note=_speed_of(name))
    store().keyed.release(st.session_state.get(state.JOB_KEY, ""))
    del st.session_state[state.JOB]  # last: if this script run is interrupted before, the next one takes the answer
    return shown


def _speed_of(name: str) -> str:
    """Say how fast the last answer of this session was generated; empty for any other, and where it is not known."""
    latest, speed = st.session_state.get(_SPEED, ("", math.nan))
    return f"Generated at {amount(speed, places=0)} tokens per second." if name == latest and speed > 0 else ""


def _recorded() -> Shown | None:
    """Return the recorded answer that the URL names, or the first one."""
    at_hand = {recorded.id: recorded for recorded in state.recordings()}
    name = st.query_params.get(EXAMPLE)
    if name is not None and name not in at_hand:
        state.notify("No recorded answer has that name; the first one is shown.")
    if not at_hand:
        return None
    recorded = at_hand.get(name or "") or next(iter(at_hand.values()))
    url_state.update_url({EXAMPLE: recorded.id})
    note = f"Recorded. {recorded.what_to_see}"
    return _in_form(Shown(name=f"{EXAMPLE}:{recorded.id}", trace=recorded.trace(), note=note, recorded=recorded))


def _in_form(shown: Shown) -> Shown:
    """Fill the form once with the request that led to an answer."""
    if st.session_state.get(state.IN_FORM) != shown.name:
        form.fill(url_state.asking(shown.trace))
        st.session_state[state.IN_FORM] = shown.name
    return shown


def empty_state() -> None:
    """Say what the page is for, and offer prompts to start from."""
    st.title("Where did confidence collapse?", anchor=False)
    st.write(
        "Type a prompt above. A language model answers it on this machine, and the page shows at which token "
        "confidence collapsed and which attention head shows it. Or start with one of these examples:"
    )
    for example in EXAMPLES:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(example.name, key=f"start_{example.name}", on_click=take, args=(example,), width=200)
            st.caption(example.what_to_see)


def answer_gone() -> None:
    """Say that the answer of the address is gone, and how to make it again; the address keeps its name."""
    st.title("This answer is no longer in memory", anchor=False)
    st.write(_how_again())
    if recordings := state.recordings():
        st.button("Show a recorded answer", key="leave_gone", on_click=state.open_recorded, args=(recordings[0],))
    own_request.ask(st.query_params[KEPT], on_told=_refill)


def _how_again() -> str:
    why = "The app keeps answers in memory, until it restarts or newer answers need the room. "
    if st.session_state.get(_REFILLED) == st.query_params[KEPT]:
        return f"{why}The form above has its prompt again; press *{task_name(form.current_request())}*."
    return (
        f"{why}The address above holds the name of the answer, not its prompt. To see the answer again, use the link "
        "of *Export*, *Copy link*, which holds the prompt; open its saved trace under *More*; or type the prompt above "
        "and generate it again."
    )


def _refill() -> None:
    """Fill the form with what this tab has kept for the answer that is gone."""
    if (asked := own_request.told()) is not None:
        form.fill(asked)
        st.session_state[_REFILLED] = st.query_params.get(KEPT)


def linked_request(asked: Asked, request: Request, *, is_new: bool) -> None:
    """Show the prompt of a link, which only the user can run; `is_new`: it has not been run yet."""
    is_gone = KEPT in st.query_params
    st.title(
        "The answer of this link is no longer in memory" if is_gone else "This link asks for an answer", anchor=False
    )
    untouched = "Nothing has been loaded or run. " if is_new else ""
    st.write(f"{untouched}The form above is filled with the link's request: change it, or start it here.")
    st.text(printable(f"Model {running(asked.model)}, prompt:"))
    st.code(printable(asked.prompt), language=None, wrap_lines=True)
    if asked.context:
        show_messages("Conversation before this prompt", asked.context)
    if asked.answer is not None:
        st.text("Answer to score:")
        st.code(printable(asked.answer), language=None, wrap_lines=True)
    st.button(task_name(request), key="run_link", type="primary", on_click=run)


def follow(job: Job) -> None:
    """Show the answer growing; when it is complete, run the whole page again."""
    every = poll_seconds(job)
    st.fragment(_show_partial, run_every=every)(job, waiting=job.waiting, every=every)


def _show_partial(job: Job, *, waiting: bool, every: float) -> None:
    so_far = job.so_far  # read first: a job that has ended has none any more
    if has_moved(job, waiting=waiting, every=every):
        st.rerun()
    if waiting and hosting.is_hosted():
        _show_wait(job)
        return
    source = running(printable(job.request.model.name))
    words_so_far = Words(source=source, headline=f"{stage(job)}, {source}", detail=_counted(job))
    live_views(so_far, _score_so_far(so_far), words_so_far)


def _show_wait(job: Job) -> None:
    """Say what comes first, what happens then, and what can be read until then."""
    st.subheader(stage(job), anchor=False)
    st.caption(
        f"Visitors take turns at the model, up to {MOST_TOGETHER} in one turn. Your answer appears here, even if you "
        "read another page first."
    )
    st.page_link("pages/learn.py", label="How RAUQ finds a hallucination", icon=":material/school:")


def _counted(job: Job) -> str:
    """Say how many tokens an answer has by now, how long that took, and how fast it is."""
    seconds, count = time.monotonic() - job.begun, len(job.pieces)
    took = f"{amount(seconds, places=1)} s"
    if not count:
        return f"{took} so far"
    speed = f"{amount(count / max(seconds, 1e-3), places=0)} tokens per second"
    return f"{count} of at most {job.request.max_new_tokens} tokens, {took} so far, {speed}"


def _score_so_far(trace: Trace | None) -> Score | None:
    """Return the score of an answer that is still being generated; None where it has none yet."""
    if trace is None:
        return None
    try:
        return measured(trace)
    except RauqError:
        return None


_OTHER: dict[Kind, Kind] = {"base": "instruct", "instruct": "base"}
_NAMES: dict[Kind, str] = {"base": "base model", "instruct": "chat model"}


def offer_other_kind(trace: Trace) -> None:
    """Offer to treat the model as the other kind, if its kind is not settled by the paper's list or a short name.

    Without a chat template no model can be a chat model.
    """
    listed = trace.model == state.ATLAS or bool(find_preset(trace.model) or find_named(trace.model))
    if listed or hosting.is_hosted() or chosen_model().name != trace.model:
        return
    if trace.kind == "base" and not has_template(trace):
        return
    other = _OTHER[trace.kind]
    reason = "" if st.session_state.get(state.KIND) == trace.kind else ", judging by its name and chat template"
    if trace.kind == "base" and trace.chat_applied:
        reason += "; its chat template was still applied, since messages need one"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"Treated as a {_NAMES[trace.kind]}{reason}.", width="content")
        st.button(f"Treat as {_NAMES[other]}", key="other_kind", type="tertiary", on_click=_switch, args=(other,))


def _switch(kind: Kind) -> None:
    """Treat the model as the other kind and answer again."""
    st.session_state.update({state.KIND: kind, state.KIND_OF: chosen_model().name})
    form.run()


_BRANCH, _AGAIN = "_branch", "_again"
_WAYS_BACK = {
    "answer_sets": ("pages/answer_sets.py", "Back to the answer set"),
    "methods": ("pages/methods.py", "Back to the methods of the run"),
}


def show_answer(view: AnswerView) -> None:
    """Show a scored answer."""
    trace = view.trace
    offer_remedies(trace, view.score)
    offer_other_kind(trace)
    offer_surprisal(trace, view.score)
    loop_line(view.shown.loop)
    if trace.messages[:-1]:
        show_messages("Conversation so far", trace.messages)
    poll = _BRANCH_SECONDS if branch_job(view.shown.name) else None
    st.fragment(_linked, run_every=poll)(view, view.payload())


def _linked(view: AnswerView, data: Mapping[str, Any]) -> None:
    """Rerun alone when something is selected; the views get the data they have, so they redraw nothing."""
    shown, trace = view.shown, view.trace
    if RUN in st.query_params:
        _way_back()
    if problem := branch_problem(shown.name):
        show_error(problem)
    show_views(
        dict(data) | continuation(shown.name, trace, view.score, view.reference),
        view=Listener(selection.Selected, lambda event: _apply_selection(shown, event)),
        branch=_for(shown, AtToken, lambda event: st.session_state.update({_BRANCH: event.token})),
        offer=_for(shown, Reported, lambda _: take_more_attention(trace, view.score)),
        reference=_for(shown, Reported, lambda _: make_reference()),
        judge=_for(shown, Judged | Corrected, lambda event: apply_event(shown.name, event, shown.linked)),
        go_on=_for(shown, Replaced, lambda event: start_branch(shown.name, trace, event.token, event.choice)),
        other_answer=_for(shown, OtherAnswer, lambda event: act_on_branch(event.act)),
    )
    marked = shown.marked  # by now: a mark alone does not run the whole page
    if (token := st.session_state.pop(_BRANCH, None)) is not None:
        query = url_state.comparing(shown.name, marked.wrong) | {"branch": str(token)}
        st.switch_page("pages/compare.py", query_params=query)
    if (kept := opened_in_compare(shown.name)) is not None:
        st.switch_page("pages/compare.py", query_params=url_state.comparing(shown.name, marked.wrong) | {"b": kept})
    if st.session_state.pop(_AGAIN, False) or just_ended(shown.name):
        st.rerun()
    follow_up(trace)
    print_figures(marked, view.score)
    url_state.remember(PAGE)


def _for(shown: Shown, kind: Any, act: Callable[[Any], object]) -> Listener:  # noqa: ANN401 - a class, or one of several
    """Do what was asked for in the browser, unless it is of another answer, and run the whole page again."""

    def done(event: Reported) -> None:
        if event.answer == shown.view:
            act(event)
            st.session_state[_AGAIN] = True

    return Listener(kind, done)


def _way_back() -> None:
    page, label = _WAYS_BACK.get(st.query_params.get(FROM, ""), _WAYS_BACK["answer_sets"])
    st.page_link(
        page,
        label=label,
        icon=":material/arrow_back:",
        query_params=answers.way_back(st.query_params.to_dict()),
    )


def _apply_selection(shown: Shown, event: selection.Selected) -> None:
    if event.answer == shown.view:  # a late event of the previous answer would change the selection in this one
        before = selection.store_selection(event, shown.trace)
        url_state.remember(PAGE)  # a click on a link may end this run before its own end
        after = selection.chosen(shown.trace)
        is_moved = (before.layer, before.head) != (after.layer, after.head)  # all numbers are of the head that is shown
        st.session_state[_AGAIN] = is_moved or st.session_state.get(OPEN) == EXPORT  # its link has the selection
