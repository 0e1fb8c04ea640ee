"""What a session may send: runs of pages and what they need, and nothing that concerns others."""

from google.protobuf.message import DecodeError
from streamlit.proto.BackMsg_pb2 import BackMsg

LARGEST_MESSAGE = 2**20  # bytes that a session may send at once
_MOST_FILES = 20  # names in one message, each of which is answered with addresses
_SENT = frozenset({"rerun_script", "stop_script", "app_heartbeat"})
_EXPORT = 10  # messages that one export stands for: the threads that make it are everybody's


def cost(content: bytes) -> int:
    """Return how many messages this one counts as; 0 if the session may not send it."""
    message = _read(content)
    match kind := message.WhichOneof("type"):
        case "file_urls_request":
            return int(len(message.file_urls_request.file_names) <= _MOST_FILES)
        case "backend_operation_request":
            payload = message.backend_operation_request.WhichOneof("payload")
            return _EXPORT if payload == "deferred_file" else int(payload == "dataframe_chunk")
        case _:
            return int(kind in _SENT)


def _read(content: bytes) -> BackMsg:
    """Return a message; an empty one if it is too large or malformed."""
    try:
        return BackMsg.FromString(content) if len(content) <= LARGEST_MESSAGE else BackMsg()
    except DecodeError:
        return BackMsg()
