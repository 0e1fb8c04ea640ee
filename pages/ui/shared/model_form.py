"""The choice of a model: embedded, or another by hub id, folder or GGUF file, which can be checked before loading.

A model with a short name that is not on this machine is described with its licence and terms, and can be downloaded.
"""

import atexit
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import streamlit as st

import rauq
from pages.ui.host import hosting, models
from pages.ui.host.hosting import MOST_TOKENS, ModelChoice
from pages.ui.shared import answers, state
from pages.ui.shared.errors import show_error
from pages.ui.shared.state import ATLAS, AUTO, DEVICE, DTYPE, ENGINE, KIND, OTHER
from rauq.checkpoints.kinds import DEVICES, DTYPES, KINDS, PRESETS
from rauq.checkpoints.named import NamedModel, find_named, get_model, received
from rauq.checkpoints.names import read_name
from rauq.errors import RauqError
from rauq.labels import ENGINES, running, size
from rauq.llama_cpp.library import is_installed
from rauq.trace.trace import Trace

if TYPE_CHECKING:
    from rauq.checkpoints.model_info import ModelInfo

_DOWNLOAD = "_download"
_POLL_SECONDS = 0.5  # between checks of the progress
_EXIT_SECONDS = 5.0  # that an exiting process waits for a download to stop


@dataclass(eq=False)
class Download:
    """A download in a thread of its own. Several of one model wait for each other, also those of other processes."""

    model: NamedModel
    cancel: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)
    error: RauqError | None = None

    def run(self) -> None:
        """Fetch the model, and keep the error if that fails."""
        try:
            get_model(self.model.name, accept_terms=True, cancel=self.cancel)
        except RauqError as error:
            self.error = error
        except Exception as error:  # noqa: BLE001 - a thread has no caller: unreported, the page would show nothing
            self.error = RauqError(f"The download failed unexpectedly ({type(error).__name__}: {error}).")
        finally:
            atexit.unregister(self.stop)
            self.done.set()

    def stop(self) -> None:
        """Stop because the process exits."""
        self.cancel.set()
        self.done.wait(_EXIT_SECONDS)


def offer(model: NamedModel) -> None:
    """Describe a model, and, if it is not on this machine, offer to get it; its progress is followed."""
    if model.is_here:
        st.caption(f"{model.title}, {model.licence}, on this machine.")
        return
    download: Download | None = st.session_state.get(_DOWNLOAD)
    if download is not None and download.model == model and not download.done.is_set():
        st.fragment(_follow, run_every=_POLL_SECONDS)(download)
        return
    if download is not None and download.model == model and download.error is not None:
        show_error(download.error)
    label, key = f"I accept its terms of use: {model.terms}", f"terms_{model.name}"
    accepted = not model.terms or st.checkbox(label, key=key, persist_state="session")
    options: dict[str, Any] = {"disabled": not accepted, "on_click": _start, "args": (model,)}
    about = f"{model.title}, {model.licence}. Not on this machine yet."
    st.button(f"Get {model.name}, {size(model.num_bytes)}", key="get_model", help=about, **options)


def _start(model: NamedModel) -> None:
    download = Download(model)
    st.session_state[_DOWNLOAD] = download  # before it starts: the next click may interrupt this callback
    atexit.register(download.stop)
    threading.Thread(target=download.run, daemon=True, name="download").start()


def _follow(download: Download) -> None:
    model = download.model
    if download.done.is_set():
        st.rerun()
    done = received(model)
    st.progress(done / model.num_bytes, f"{size(done)} of {size(model.num_bytes)}")
    st.button("Stop the download", key="stop_download", on_click=download.cancel.set)


_AT_HAND, _TYPED, _CHECKED, _READ_AS = "_at_hand", "_typed", "_checked", "_read_as"
_KIND_HELP = (
    "Sets the prompt format and the paper's setting. auto: from the paper's list, the name and the chat template."
)
_ENGINE_HELP = (
    "What runs a GGUF file. llama.cpp computes with the weights as they are in the file: faster, in less memory, and "
    "without hidden states. auto: llama.cpp above 1 GB of dequantised weights."
)
_HELP = "atlas is embedded, small and synthetic. Another: a hub id, a folder or a GGUF file."


def model_form() -> None:
    """Draw the choice; `chosen_model` reads it."""
    if hosting.is_hosted():
        st.selectbox("Model", hosting.models(), key=state.MODEL, persist_state="session")
    else:
        st.segmented_control("Model", _names(), key=state.MODEL, required=True, help=_HELP, persist_state="session")
        if has_engines():
            _one_of("Engine", (AUTO, *ENGINES), ENGINE, help=_ENGINE_HELP)
    model_details()


def model_picker() -> None:
    """Draw the choice as one narrow list; `model_details` draws what belongs to it."""
    names = hosting.models() if hosting.is_hosted() else _names()
    options: dict[str, Any] = {"label_visibility": "collapsed", "width": 170, "persist_state": "session"}
    st.selectbox("Model", names, key=state.MODEL, **options)
    if has_engines():
        st.session_state.setdefault(ENGINE, AUTO)
        st.selectbox("Engine", (AUTO, *ENGINES), key=ENGINE, format_func=_engine_label, **(options | {"width": 140}))


def has_engines() -> bool:
    """Return whether the chosen model is one of the packaged GGUF files, and llama.cpp is there to run it."""
    named = find_named(st.session_state.get(state.MODEL, ATLAS))
    return not hosting.is_hosted() and named is not None and named.is_here and is_installed()


def _engine_label(name: str) -> str:
    return "Engine: auto" if name == AUTO else name


def _names() -> tuple[str, ...]:
    return (ATLAS, *(model.name for model in rauq.NAMED_MODELS), OTHER)


def model_details(*, quiet: bool = False) -> None:
    """Draw what belongs to the chosen model; `quiet`: nothing of a named one that is on this machine."""
    if hosting.is_hosted():
        st.caption(hosting.in_words())
        return
    if (named := find_named(st.session_state[state.MODEL])) is not None and not (quiet and named.is_here):
        offer(named)
    if st.session_state[state.MODEL] == OTHER:
        _other_model()


def _other_model() -> None:
    """Draw the field for a hub id, a folder or a file, with the models found here, and the check."""
    st.session_state[state.OTHER_MODEL] = st.session_state.get(
        state.OTHER_MODEL, ""
    )  # kept while the field is not drawn
    placeholder = "organisation/model, or a path"
    typed = st.text_input(
        "Hub id, folder or GGUF file",
        key=state.OTHER_MODEL,
        on_change=_type,
        placeholder=placeholder,
        persist_state="session",
    )
    read, note = st.session_state.get(_READ_AS, ("", ""))
    if note and read == typed:
        st.text(running(note))
    labels = _available_models(typed)
    if typed in labels and typed not in labels[typed]:  # Ollama's files are named by digests
        st.text(labels[typed])
    st.selectbox(
        "Available models",
        list(labels),
        index=None,
        format_func=lambda name: labels.get(name, name),
        key=_AT_HAND,
        on_change=_take,
        placeholder="Or choose one",
        label_visibility="collapsed",
    )
    with st.expander("Engine, device, precision, kind" if is_installed() else "Device, precision, kind"):
        if is_installed():
            _one_of("Engine", (AUTO, *ENGINES), ENGINE, help=_ENGINE_HELP)
        _one_of("Device", DEVICES, DEVICE)
        _one_of("Precision", DTYPES, DTYPE)
        _one_of("Kind", KINDS, KIND, help=_KIND_HELP, on_change=_own_kind)
    choice = chosen_model()
    if st.button(
        "Check model", key="check", disabled=not typed, help="Reads the model's configuration, not its weights."
    ):
        _check(choice)
    if (candidate := checked(choice)) is not None:
        from rauq.checkpoints.model_info import model_lines

        found = model_lines(candidate, tokens=MOST_TOKENS, beside=models.in_use())
        st.text("\n".join(map(running, found)))


def chosen_model() -> ModelChoice:
    """Return the model that the session's widgets name; the name is empty if none is given yet."""
    if hosting.is_hosted():
        return ModelChoice(name=_said(state.MODEL, hosting.models()[0]))
    engine = None if (chosen := _said(ENGINE, AUTO)) == AUTO else chosen
    if (name := _said(state.MODEL, ATLAS)) != OTHER:
        return ModelChoice(name=name, engine=engine if has_engines() else None)
    name = _said(state.OTHER_MODEL, "").strip()
    kind = _said(KIND, AUTO)
    return ModelChoice(
        name=name,
        device=_said(DEVICE, AUTO),
        dtype=_said(DTYPE, AUTO),
        kind=None if kind == AUTO or st.session_state.get(state.KIND_OF, name) != name else kind,
        engine=engine,
    )


def _said(key: str, usual: str) -> Any:  # noqa: ANN401 - one of the names that a field offers
    """Return the value of a field, or the usual one if nothing is chosen, which only a modified client sends."""
    return st.session_state.get(key) or usual


def model_of(trace: Trace) -> ModelChoice:
    """Return the model and the engine that a trace names: the form's choice if it fits, else these with its kind."""
    usual = (chosen_model(), ModelChoice(name=trace.model))
    exact = ModelChoice(name=trace.model, kind=trace.kind, engine=trace.engine_name)
    return next((choice for choice in usual if _gives(choice, trace)), exact)


def _gives(choice: ModelChoice, trace: Trace) -> bool:
    """Whether a choice is the model of a trace, as far as it is known before it is loaded."""
    loaded = models.if_loaded(choice)
    if choice.name != trace.model:
        return False
    if loaded is None:
        return choice.engine in (None, trace.engine_name)
    return loaded.kind == trace.kind and loaded.engine.about.startswith(trace.engine_name or "")


def checked(choice: ModelChoice) -> "ModelInfo | None":
    """Return what is known of a model if the user has checked it, else None; nothing is looked up."""
    found: tuple[ModelChoice, ModelInfo] | None = st.session_state.get(_CHECKED)
    return found[1] if found is not None and found[0] == choice else None


def _available_models(typed: str) -> dict[str, str]:
    """Labels of models by name: from the typed folder, this session, other programs, the hub cache and the paper.

    A folder named by a link is not listed.
    """
    inside = map(str, rauq.local_models(typed)) if typed == st.session_state.get(_TYPED) else ()
    installed = {model.name: model.label for model in rauq.installed_models()}
    cached = {name: f"{name} (hub cache)" for name in rauq.cached_models()}
    papers = {preset.hub_id: f"{preset.hub_id} (in the paper; must be downloaded)" for preset in PRESETS}
    used = {trace.model: f"{trace.model} (used in this session)" for trace in answers.mine().values()}
    known = {ATLAS, *(model.name for model in rauq.NAMED_MODELS)}
    labels = papers | cached | used | installed
    names = (*inside, *used, *installed, *cached, *papers)
    return {name: running(labels.get(name, name)) for name in names if name not in known}


def _type() -> None:
    _understand(st.session_state[state.OTHER_MODEL] or "")
    st.session_state[_TYPED] = st.session_state[state.OTHER_MODEL]
    st.session_state[KIND] = AUTO  # it was chosen for the previous model


def _understand(typed: str) -> None:
    """Replace what was typed by the name that it stands for, and note that; an unreadable name stays, to be refused."""
    st.session_state[_READ_AS] = ("", "")
    try:
        found = read_name(typed) if typed.strip() else None
    except RauqError:
        return
    if found is not None and (note := found.note(typed.strip())):
        name = f"{found.source}@{found.revision}" if found.revision else found.source
        st.session_state[state.OTHER_MODEL] = name
        st.session_state[_READ_AS] = (name, note)


def _take() -> None:
    if (chosen := st.session_state[_AT_HAND]) is not None:
        st.session_state[state.OTHER_MODEL] = chosen
        st.session_state[KIND] = AUTO
        st.session_state[_AT_HAND] = None


def _check(choice: ModelChoice) -> None:
    try:
        with st.spinner("Reading the model's configuration"):
            candidate = models.inspect_model(choice, tokens=MOST_TOKENS)
    except rauq.RauqError as error:
        show_error(error)
        return
    st.session_state[_CHECKED] = (choice, candidate)


def _own_kind() -> None:
    st.session_state[state.KIND_OF] = (st.session_state[state.OTHER_MODEL] or "").strip()


def _one_of(label: str, options: tuple[str, ...], key: str, **more: Any) -> None:  # noqa: ANN401 - of the widget
    st.session_state.setdefault(key, AUTO)  # not the widget's default: a link may have set it
    st.segmented_control(label, options, key=key, required=True, persist_state="session", **more)
