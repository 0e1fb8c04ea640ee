"""What a session may send: runs of pages, with values that the page's widgets can have, and nothing that concerns others.

Streamlit reads the values before any code of ours, and a value that it cannot read makes every later run of that session
fail.
"""

from google.protobuf.message import DecodeError
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime import get_instance
from streamlit.runtime.state import SessionState
from streamlit.runtime.state.common import unpack_widget_state_value

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


def _leave_out_others(states: WidgetStates, session: str) -> None:
    found = get_instance().get_app_session(session)
    kept = [state for state in states.widgets if found is not None and _can_have(found.session_state, state)]
    del states.widgets[:]
    states.widgets.extend(kept)


def _can_have(session: SessionState, state: WidgetState) -> bool:
    """Return whether the session has drawn that widget, and the widget can have that value."""
    widget, kind = session.get_widget_metadata(state.id), state.WhichOneof("value")
    if widget is None or kind not in (None, widget.value_type):
        return False
    try:
        widget.deserializer(unpack_widget_state_value(state))
    except Exception:  # noqa: BLE001 - the readers of the widgets raise what they like
        return False
    return True
