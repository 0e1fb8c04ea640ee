"""What a browser sends for a field: a value that the field cannot have is ignored, with one line in the log.

Streamlit calls a field's callback with any text, and fails on a number that is none. What arrives is looked at where it
arrives, and then the field keeps the value that it had.
"""

import logging
from functools import cache
from typing import Any

from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.runtime.state.common import WidgetMetadata, unpack_widget_state_value
from streamlit.runtime.state.session_state import WStates

_log = logging.getLogger(__name__)
_COMPARED = frozenset({"double_value", "double_array_value", "string_array_value"})


@cache  # once in a process
def check_all() -> None:
    """From now on let Streamlit take only the values that a field can have."""
    take = WStates.set_widget_from_proto

    def take_if_possible(self: WStates, widget_state: WidgetState) -> None:
        field = self.widget_metadata.get(widget_state.id)
        if field is None or is_possible(field, widget_state):
            take(self, widget_state)
        else:
            _log.warning("Ignored what a browser sent for a field (%s): it cannot have that value.", field.value_type)

    WStates.set_widget_from_proto = take_if_possible  # type: ignore[method-assign]  # no hook


def is_possible(field: WidgetMetadata[Any], sent: WidgetState) -> bool:
    """Return whether a field can have a value: of its type, readable, and of its options where it has any."""
    if sent.WhichOneof("value") not in {None, field.value_type}:
        return False
    try:
        given = unpack_widget_state_value(sent)
        read = field.deserializer(given)
    except Exception:  # noqa: BLE001 - Streamlit's own reader raises whatever it meets
        return False
    return _is_taken(field, given, read) and _is_offered(field, given) and _can_be_selected(field, read)


def _is_taken(field: WidgetMetadata[Any], given: Any, read: Any) -> bool:  # noqa: ANN401 - of any type
    """Return whether it is read as what it is: Streamlit takes the default for a number out of range."""
    if given is None or field.value_type not in _COMPARED:
        return True
    back = field.serializer(read)
    return list(back) == list(given) if field.value_type.endswith("_array_value") else bool(back == given)


def _is_offered(field: WidgetMetadata[Any], given: Any) -> bool:  # noqa: ANN401 - of any type
    if field.formatted_options is None:
        return True
    options = [given] if isinstance(given, str) else list(given or ())
    if not options:  # a group of the app needs a choice, unless it allows several
        return field.clearable and field.max_array_length != 1
    return all(one in field.formatted_options for one in options)


def _can_be_selected(field: WidgetMetadata[Any], read: Any) -> bool:  # noqa: ANN401 - of any type
    """Return whether what is selected in a table or a figure has the parts that Streamlit describes."""
    if not isinstance(read, dict) or "selection" not in read:
        return True
    found = read["selection"]
    if not all(isinstance(found.get(part), list) for part in field.deserializer(None)["selection"]):
        return False
    kinds = {"rows": int, "points": dict}
    return all(isinstance(one, kind) for part, kind in kinds.items() for one in found.get(part, ()))
