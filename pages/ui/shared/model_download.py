"""A model with a short name that is not on this machine: its licence, its terms, and its download."""

import atexit
import threading
from dataclasses import dataclass, field

import streamlit as st

from pages.ui.shared.errors import show_error
from rauq.checkpoints.named import NamedModel, get_model, received
from rauq.errors import RauqError
from rauq.labels import size

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
    st.caption(f"{model.title}, {size(model.num_bytes)}, {model.licence}. Not on this machine yet.")
    label, key = f"I accept its terms of use: {model.terms}", f"terms_{model.name}"
    accepted = not model.terms or st.checkbox(label, key=key, persist_state="session")
    st.button(f"Get {model.name}", key="get_model", disabled=not accepted, on_click=_start, args=(model,))


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
