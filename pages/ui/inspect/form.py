"""The bar at the top of Inspect: model, prompt, examples, and the options of the request behind one line of links."""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import streamlit as st

from pages.ui.host import hosting, models
from pages.ui.host.hosting import ModelChoice
from pages.ui.host.jobs import Job, begin, refused
from pages.ui.host.request import Request, check_answer
from pages.ui.host.store import store
from pages.ui.host.uploads import uploaded
from pages.ui.inspect.messages import context, messages_fields, messages_label
from pages.ui.shared import answer_fields, state, url_state
from pages.ui.shared.answer_fields import end_field, end_of_form, sampling_fields, sampling_of_form
from pages.ui.shared.errors import message_text, printable, show_error
from pages.ui.shared.model_form import checked, chosen_model, model_picker
from pages.ui.shared.state import ATLAS, GENERATE, READ, recordings
from pages.ui.shared.url_state import DEFAULT_TOKENS, Asked
from rauq.checkpoints.named import find_named
from rauq.errors import InvalidInput, RauqError
from rauq.labels import number
from rauq.recorded.answers import Recorded
from rauq.trace.file import LARGEST_UPLOAD
from rauq.trace.trace import Kind, Trace

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from rauq.model.language_model import LanguageModel


class Example(NamedTuple):
    """A prompt with a short name, and what to look for in its answer."""

    name: str
    what_to_see: str
    prompt: str


EXAMPLES = (
    Example(
        "A known capital",
        "Stated often in training: confidence stays near the reference from the first token to the last.",
        "Q: What is the capital of Germany?\nA:",
    ),
    Example(
        "A town absent from training",
        "Sodo is in Ethiopia, which the training data never state: confidence collapses at the invented country.",
        "Q: Where is Sodo?\nA:",
    ),
    Example(
        "False friends",
        "The German says that the boss is given poison. This error has high confidence, so RAUQ cannot detect it.",
        "German: Der Chef bekommt ein Gift.\nEnglish:",
    ),
    Example(
        "A rare word",
        "The hunter finds a weasel: which word is a guess?",
        "German: Der Jäger findet ein Wiesel.\nEnglish:",
    ),
    Example(
        "Two missing details",
        "The text gives neither an age nor a currency, and both are invented. Where does confidence collapse?",
        "Text: A lottery in Japan was drawn on Friday. Maria Keller from Lyon won 2,500.\nSummary:",
    ),
)


_STOP_HELP = (
    "A text that ends the answer and stays in it. Empty: a line break for a base model, none for a chat model. Every "
    "answer also ends with the model's end token."
)
_NO_STOP_HELP = "The answer continues past line breaks, up to the model's end token or the token limit."
_STOP_ABOVE_HELP = (
    "Generation stops after the first token at which the uncertainty of the answer so far exceeds this value. The view "
    "*Alarms* of the page Methods gives a value for the model of a run. Off by default: in our runs, stopping by the "
    "entropy of a token works about as well."
)
MOST_MEGABYTES = LARGEST_UPLOAD // 2**20
_EXAMPLE, _UPLOAD, _COUNT = "_example", "_upload", "_count"
_FAILED = "_failed"  # the latest job that unfolded the fields


def request_bar(request: Request, *, live: Job | None) -> None:
    """Draw model, prompt, examples and the button that starts; `current_request` reads them."""
    placeholder = "A question, or any text to continue"
    with st.container(horizontal=True, key="request_bar"):
        model_picker()
        st.text_area(
            "Prompt", key=state.PROMPT, height="content", placeholder=placeholder, label_visibility="collapsed",
            persist_state="session",
        )  # fmt: skip
        _examples()
        run_buttons(request, live=live)


def set_defaults() -> None:
    """Give the fields their first values, before anything reads the request."""
    for key, value in {state.TASK: GENERATE, state.MODEL: hosting.first_model(), state.LIMIT: DEFAULT_TOKENS}.items():
        st.session_state.setdefault(key, value)


def _examples() -> None:
    examples: tuple[Recorded | Example, ...] = (*recordings(), *EXAMPLES)
    st.selectbox(
        "Example",
        examples,
        index=None,
        format_func=_name,
        key=_EXAMPLE,
        on_change=_take_example,
        placeholder="Examples",
        label_visibility="collapsed",
        width=150,
    )


def option_links() -> None:
    """Draw what opens the rest of the request: an answer to paste, messages, and more."""
    is_pasting = st.session_state.get(state.TASK) == READ
    label = "Generate an answer" if is_pasting else "Paste an answer"
    st.button(label, key="task_link", type="tertiary", on_click=_switch_task)
    with st.popover(messages_label(), type="tertiary", key="messages"):
        messages_fields()
    with st.popover(_more_label(), type="tertiary", key="more"):
        _more_fields()


def _switch_task() -> None:
    is_pasting = st.session_state.get(state.TASK) == READ
    st.session_state.update({state.TASK: GENERATE if is_pasting else READ, state.ANSWER_OPEN: True})


def _more_label() -> str:
    """Name what is not the default in the closed drawer."""
    sampling, stop = sampling_of_form(), _stop()
    given = [] if sampling is None else [f"temperature {sampling.temperature:g}, seed {sampling.seed}"]
    given += ["no stop text"] if stop is None else ["stop text"] if stop else []
    given += [] if (most := _stop_above()) is None else [f"stop above {number(most, places=2)} nats"]
    return f"More: {', '.join(given)}" if given else "More"


def _more_fields() -> None:
    most = hosting.limits().new_tokens
    disabled = st.session_state.get(state.TASK) == READ
    st.number_input("Max new tokens", 1, most, key=state.LIMIT, disabled=disabled, persist_state="session")
    if not disabled:
        options: dict[str, Any] = {
            "help": _STOP_HELP,
            "placeholder": "the model's usual end",
            "persist_state": "session",
        }
        no_stop = bool(st.session_state.get(state.NO_STOP))
        st.text_input("Stop at", key=state.STOP_AT, disabled=no_stop, **options)
        st.toggle("No stop text", key=state.NO_STOP, help=_NO_STOP_HELP, persist_state="session")
        _alarm_field()
        sampling_fields()
    open_form()


def _alarm_field() -> None:
    """Draw the uncertainty at which an answer is stopped, which is none unless somebody gives it."""
    st.number_input(
        "Stop above this uncertainty, nats",
        value=None,
        step=0.1,
        format="%.2f",
        key=state.STOP_ABOVE,
        placeholder="never",
        help=_STOP_ABOVE_HELP,
        persist_state="session",
    )


def asked_by_link() -> Asked | None:
    """Return what the URL asks for if it has a prompt, and fill the form with it once; nothing is run."""
    found = url_state.read_asked(st.query_params.to_dict())
    if found is not None and st.session_state.get(state.IN_FORM) != found:
        fill(found)
        limit = str(st.session_state[state.LIMIT])
        if st.query_params.get(url_state.LIMIT, limit) != limit:
            state.notify(f"The link's token limit is not allowed here; it was set to {limit}.")
        for name, usable in ((url_state.CONTEXT, found.context), (url_state.OPTIONS, found.template_options)):
            if st.query_params.get(name) and not usable:
                state.notify(
                    f"The link's {name.replace('_', ' ')} cannot be used and was left out; the form has the rest."
                )
        if hosting.is_hosted() and found.model not in hosting.models():
            state.notify(f"The link's model is not offered here; {hosting.models()[0]} is used instead.")
    return found


def fill(wanted: Asked) -> None:
    """Fill the form with a prompt and its context, an answer and a model."""
    system = [message.content for message in wanted.context if message.role == "system"]
    values = {
        state.PROMPT: printable(wanted.prompt),
        state.TASK: GENERATE if wanted.answer is None else READ,
        state.SYSTEM: "".join(system),
        state.EARLIER: wanted.context[len(system) :],
        state.OPTIONS: wanted.template_options,
        state.LIMIT: min(wanted.max_new_tokens, hosting.limits().new_tokens),
    }
    how = answer_fields.filled(wanted.sampling, end=wanted.end)
    st.session_state.update(values | how | _model(wanted) | {state.IN_FORM: wanted, state.ANSWER_OPEN: False})
    if wanted.answer is not None:
        st.session_state[state.ANSWER] = printable(wanted.answer)


def fill_for_next(wanted: Asked) -> None:
    """Fill the form for the next answer; the answer shown stays and does not overwrite the form."""
    filled_by = st.session_state.get(state.IN_FORM)
    fill(wanted)
    st.session_state[state.IN_FORM] = filled_by


def fill_with(request: Request) -> None:
    """Fill the form with a request that was made in another session, exactly, so that it is the form's own."""
    model = request.model
    named = ("prompt", "answer", "max_new_tokens", "context", "template_options", "sampling", "end")
    same: dict[str, Any] = {name: getattr(request, name) for name in named}
    fill_for_next(Asked(model=model.name, kind=model.kind, engine=model.engine, **same))
    stop = {
        state.STOP_AT: request.stop or "",
        state.NO_STOP: request.stop is None,
        state.STOP_ABOVE: request.stop_above,
    }
    st.session_state.update({state.DEVICE: model.device, state.DTYPE: model.dtype} | stop)


def _model(wanted: Asked) -> dict[str, str]:
    """Return the values of the model fields; a host offers only the models on its list."""
    if hosting.is_hosted():
        return {state.MODEL: hosting.offered(wanted.model)}
    named = wanted.model == ATLAS or find_named(wanted.model) is not None
    other = {} if named else {state.OTHER_MODEL: printable(wanted.model)}
    kind = {state.KIND: wanted.kind or state.AUTO, state.KIND_OF: wanted.model}
    kind[state.ENGINE] = wanted.engine or state.AUTO
    return {state.MODEL: wanted.model if named else state.OTHER} | kind | other


def current_request() -> Request:
    """Return the request that the session's widgets describe."""
    values = st.session_state
    return Request(
        model=chosen_model(),
        prompt=values.get(state.PROMPT, ""),
        answer=values.get(state.ANSWER, "") if values.get(state.TASK) == READ else None,
        max_new_tokens=values.get(state.LIMIT, DEFAULT_TOKENS),
        context=context(),
        template_options=values.get(state.OPTIONS, {}),
        sampling=sampling_of_form() if values.get(state.TASK) != READ else None,
        stop=_stop() if values.get(state.TASK) != READ else "",
        stop_above=_stop_above() if values.get(state.TASK) != READ else None,
        end=end_of_form() if values.get(state.TASK) == READ else None,
    )


def _stop() -> str | None:
    """Return the text that ends the answer: "" for the model's usual one, None for none."""
    values = st.session_state
    return None if values.get(state.NO_STOP) else printable(values.get(state.STOP_AT) or "")


def _stop_above() -> float | None:
    """Return the uncertainty that ends the answer; None for none, which text that is no number is, too."""
    given = st.session_state.get(state.STOP_ABOVE)
    return float(given) if given is not None and math.isfinite(given) else None


def run_buttons(request: Request, *, live: Job | None) -> None:
    """Draw Generate or Score answer, or Stop; a missing prompt does not disable it: the click itself submits it.

    Stop does not look for the job in the session, where the next rerun would interrupt it.
    """
    if live:
        heard = live.cancel.is_set()
        st.button("Stopping" if heard else "Stop", key="stop", on_click=live.cancel.set, width=205, disabled=heard)
    else:
        options: dict[str, Any] = {"type": "primary", "on_click": run, "width": 205, "shortcut": "Ctrl+Enter"}
        st.button(task_name(request), key="run", **options)


def task_name(request: Request) -> str:
    """Return the label of the button that starts a request."""
    return "Generate" if request.answer is None else "Score answer"


def open_form() -> None:
    """Draw the field that opens a saved trace."""
    place = st.expander("Open a saved trace", key="open_trace", on_change="rerun")
    if place.open:
        options: dict[str, Any] = {"label_visibility": "collapsed", "max_upload_size": MOST_MEGABYTES}
        place.file_uploader("Trace", "safetensors", key=_UPLOAD, on_change=_open, **options)
    if error := st.session_state.get(state.UNREADABLE):
        show_error(error)


def take(example: Example) -> None:
    """Fill the form with an example and start answering it."""
    fill_for_next(Asked(prompt=example.prompt))
    run()


def run() -> None:
    """Start a job for the form's request unless one is running: five clicks start one generation."""
    job = st.session_state.get(state.JOB)
    if job is None or not job.live:
        request = current_request()
        missing = _missing(request)
        job = st.session_state[state.JOB] = refused(request, InvalidInput(missing)) if missing else Job(request)
        st.session_state[state.JOB_KEY] = store().keyed.hold(job)
        st.session_state[state.ANSWER_OPEN] = False
        begin(job)


def unfold_for(job: Job | None) -> None:
    """Unfold the fields for a pasted answer where the request of this job failed: once, so that they can be folded."""
    if job is not None and st.session_state.get(_FAILED) is not job:
        st.session_state.update({_FAILED: job, state.ANSWER_OPEN: True})


def token_count(request: Request, shown: Trace | None, *, shown_error: RauqError | None, may_load: bool) -> None:
    """Show the prompt's token count and the room left; no model is loaded for an answer that is already shown.

    `shown_error` is the error that the page shows already. Counting needs the tokenizer alone, so that it does not wait
    for an answer which is being generated.
    """
    found = _counted_now(request, shown, may_load=may_load)
    if isinstance(found, RauqError) and str(found) != str(shown_error):
        st.text(message_text(found))
        return
    line = "No token count: the error on this page says why."
    if isinstance(found, _Count):
        limit = st.session_state.get(state.LIMIT, DEFAULT_TOKENS)
        more = "" if request.answer is not None else f" · up to {limit:,} new"
        line = " ".join([f"{found.room}{more}{'.' if found.notes else ''}", *found.notes])
    st.session_state[_COUNT] = (_counted_for(request), line)
    st.caption(line)


class _Count(NamedTuple):
    """How many tokens a prompt takes, and sentences on what was done to its text."""

    room: str
    notes: tuple[str, ...] = ()


def _counted_now(request: Request, shown: Trace | None, *, may_load: bool) -> _Count | RauqError:
    """What can be said without loading a model, or with atlas, which loads at once."""
    loaded = models.if_loaded(request.model)
    if not request.prompt.strip():
        return _Count("No prompt yet")
    if shown and loaded is None and _matches(request, shown):
        return _Count(_room(len(shown.prompt_ids), None))
    if loaded is not None or (request.model.name == ATLAS and may_load and not models.busy()):
        return _counted(request, loaded)
    return _Count("Tokens are counted once the model is loaded")


def last_count() -> "DeltaGenerator":
    """Show the last token count until there is a new one, and return its place.

    An empty place would take no room until the count comes, and a slow browser draws that.
    """
    counted, said = st.session_state.get(_COUNT, (None, ""))
    is_same = counted == _counted_for(current_request())
    return st.caption(said if is_same else "Counting prompt tokens")


def _counted_for(request: Request) -> tuple[object, ...]:
    """Return what the number of prompt tokens depends on, which device and precision do not."""
    model = request.model
    return model.name, model.kind, request.prompt, request.context, dict(request.template_options)


def _matches(request: Request, shown: Trace) -> bool:
    asked = (request.model.name, request.prompt, request.context, dict(request.template_options))
    is_same = asked == (shown.model, shown.prompt, shown.messages[:-1], dict(shown.template_options))
    return is_same and request.model.kind in (None, shown.kind)


def answer_fields_row(*, is_shown: bool) -> None:
    """Draw the fields for an answer that is given; nothing where one is generated.

    They are folded to a line once the answer is scored, or `is_shown` when the page is opened.
    """
    if st.session_state.get(state.TASK) != READ:
        return
    st.session_state.setdefault(state.ANSWER_OPEN, not is_shown)
    with st.expander("Pasted answer", key=state.ANSWER_OPEN, on_change="rerun", type="compact"):
        _answer_fields()


def _answer_fields() -> None:
    placeholder = "The answer, exactly as the model would generate it"
    st.text_area("Answer to score", key=state.ANSWER, height=80, placeholder=placeholder, persist_state="session")
    st.caption("An answer that another system wrote gets a proxy score: how uncertain this model is about that text.")
    kind = _known_kind(chosen_model())
    if kind == "base" and not context():
        _offer_leading_space()
    end_field(kind)


def _counted(request: Request, loaded: "LanguageModel | None") -> _Count | RauqError:
    """Count with the model in memory, for which nothing waits; without it, load it."""
    try:
        check_answer(request)
        lm = models.model(request.model) if loaded is None else loaded
        encoded = lm.encode(request.conversation, template_options=request.template_options)
    except RauqError as error:
        return error
    return _Count(_room(len(encoded.ids), lm.context_length), encoded.notes)


def _room(tokens: int, limit: int | None) -> str:
    counted = f"{tokens:,} prompt tokens" if limit is None else f"{tokens:,} of {limit:,} tokens"
    return counted if limit is None or limit > tokens else f"{counted}, no room for an answer"


def _missing(request: Request) -> str | None:
    if not request.prompt.strip():
        return "There is no prompt. Type one, or choose an example."
    if request.answer is not None and not request.answer:
        return "There is no answer to score. Paste one, or press Generate an answer."
    return (
        None if request.model.name else "No model is given. Enter a hub id, a folder or a GGUF file, or choose atlas."
    )


def _take_example() -> None:
    example = st.session_state[_EXAMPLE]
    st.session_state[_EXAMPLE] = None  # so that the same example can be chosen again
    if isinstance(example, Recorded):
        state.open_recorded(example)
    elif isinstance(example, Example):  # a client may send a text that is none of the options
        take(example)


def _open() -> None:
    """Open the uploaded trace; if it cannot be read, show why and keep the current answer."""
    if (file := uploaded(_UPLOAD)) is None:
        return
    try:
        state.open_trace(Trace.from_bytes(file.getvalue(), name=file.name))
    except RauqError as error:
        st.session_state[state.UNREADABLE] = error


def _known_kind(choice: ModelChoice) -> Kind | None:
    """Return whether the model is treated as base or instruct; None if that is known only once it is loaded."""
    known = models.if_loaded(choice) or checked(choice)
    if known is not None:
        return known.kind
    return "base" if choice.name == ATLAS else choice.kind


def _offer_leading_space() -> None:
    """Offer a leading space: without a chat template, pasted answers often lack the one that models generate."""
    prompt, answer = st.session_state.get(state.PROMPT, ""), st.session_state.get(state.ANSWER, "")
    if answer and prompt and not (answer[0].isspace() or prompt[-1].isspace()):
        st.caption("This answer has no leading space, so most models tokenise it differently from a generated one.")
        st.button("Add leading space", key="add_space", on_click=_add_space)


def _add_space() -> None:
    st.session_state[state.ANSWER] = f" {st.session_state[state.ANSWER]}"


def _name(example: Example | Recorded) -> str:
    if isinstance(example, Recorded):
        return f"{example.name} (recorded, {example.verdict})"
    return example.name
