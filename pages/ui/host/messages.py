"""What a session may send: runs of pages, with values that its widgets can have, and nothing that concerns others.

Streamlit reads the values before any code of ours, and one that it cannot read makes every later run of that session
fail.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from google.protobuf.message import DecodeError
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime import get_instance
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner_utils.script_run_context_attr import SCRIPT_RUN_CONTEXT_ATTR_NAME
from streamlit.runtime.state.common import unpack_widget_state_value
from streamlit.runtime.uploaded_file_manager import DeletedFile

LARGEST_MESSAGE = 2**20  # bytes that a session may send at once
_SENT = frozenset({"stop_script", "file_urls_request", "app_heartbeat"})
_OPERATIONS = frozenset({"deferred_file", "dataframe_chunk"})


def allowed(content: bytes, session: str) -> bytes | None:
    """Return what the server is told of a message; None if the session may not send it.

    Values are left out that the widgets of the session cannot have.
    """
    message = _read(content)
    match kind := message.WhichOneof("type"):
        case "rerun_script":
            _leave_out_others(message.rerun_script.widget_states, session)
            return message.SerializeToString()
        case "backend_operation_request":
            may = message.backend_operation_request.WhichOneof("payload") in _OPERATIONS
        case _:
            may = kind in _SENT
    return content if may else None


def _read(content: bytes) -> BackMsg:
    """Return a message; an empty one if it is too large or malformed."""
    try:
        return BackMsg.FromString(content) if len(content) <= LARGEST_MESSAGE else BackMsg()
    except DecodeError:
        return BackMsg()


def _leave_out_others(states: WidgetStates, name: str) -> None:
    session = get_instance().get_app_session(name)
    kept: list[WidgetState] = []
    if session is not None and states.widgets:
        with _as_in_a_script(session):
            kept = [state for state in states.widgets if _can_have(session, state)]
    del states.widgets[:]
    states.widgets.extend(kept)


@contextmanager
def _as_in_a_script(session: AppSession) -> Iterator[None]:
    """Let the readers of widgets find their session in the body, which must not wait for anything."""
    thread, context = threading.current_thread(), session.create_detached_script_run_ctx
    setattr(thread, SCRIPT_RUN_CONTEXT_ATTR_NAME, context(query_string="", context_info=None))
    try:
        yield
    finally:
        delattr(thread, SCRIPT_RUN_CONTEXT_ATTR_NAME)


def _can_have(session: AppSession, state: WidgetState) -> bool:
    """Return whether the page has that widget now, and the widget can have that value."""
    widget, kind = session.session_state.get_widget_metadata(state.id), state.WhichOneof("value")
    if widget is None or kind not in (None, widget.value_type):
        return False
    try:
        session.session_state.get_widget_value(state.id)  # a page that is left has no values, but its widgets are known
        value = widget.deserializer(unpack_widget_state_value(state))
    except Exception:  # noqa: BLE001 - the readers of widgets raise what they like
        return False
    return not any(isinstance(file, DeletedFile) for file in (value if isinstance(value, list) else [value]))
