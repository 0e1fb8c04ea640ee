"""What a hostile client sends: values of every type for any widget, and messages that no browser sends."""

import json
from collections.abc import Callable, Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import Any

from streamlit.proto.BackMsg_pb2 import (
    BackendOperationRequest,
    BackMsg,
    DataframeChunkRequestPayload,
    DeferredFileRequestPayload,
    DismissSkillsNudgeRequestPayload,
    InstallSkillsRequestPayload,
)
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.Common_pb2 import (
    ChatInputValue,
    DoubleArray,
    FileUploaderState,
    FileURLsRequest,
    SInt64Array,
    StringArray,
    StringTriggerValue,
    UploadedFileInfo,
)
from streamlit.proto.Components_pb2 import ArrowTable
from streamlit.proto.WidgetStates_pb2 import WidgetState

from tests.robustness.malformed import hostile_text, mutated_bytes, mutated_json

_DOUBLES = (float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 5e-324, -0.0, -1.0, 0.5, 1e19)
_INTEGERS = (2**63 - 1, -(2**63), 2**53 + 1, 2**31, -1, 0, 1, 7, 100_000)
_LONG, _DEEP = 30_000, 50_000  # characters: five values fit into one message
_EVENT = {
    **{"selection": {"points": [{"x": 1, "curve_number": 0}], "point_indices": [0], "rows": [3], "columns": ["a"]}},
    **{"value": {"token": 3, "head": [1, 2]}, "edited_rows": {"0": {"a": 1}}, "cells": [[0, "a"]]},
}
# Keys of the session, not ids of widgets: no client may set them.
_KEYS = ("_runs_folder", "_job", "_answers", "_checked", "prompt", "model", "", "$$ID", "$$ID-", "$$ID-x-prompt")


def hostile_state(kinds: Mapping[str, str], file: str, rng: Random) -> WidgetState:
    """A value of any type for one of these widgets, or for none; half of the values have the type of the widget.

    `kinds` are the kinds of elements by the ids of the widgets; `file` is the id of another session's upload.
    """
    name, made = _id([*filter(None, kinds)], rng), rng.random()
    if made < 0.02:
        return WidgetState(id=name)
    usual = made < 0.5 and _USUAL.get(kinds.get(name, ""))
    kind = rng.choice(usual or list(_VALUES))
    if kind == "string_value" and kinds.get(name) in _SELECTING:
        return WidgetState(id=name, string_value=_json(rng))
    return WidgetState(id=name, **{kind: _VALUES[kind](rng, file)})


def _id(ids: Sequence[str], rng: Random) -> str:
    if not ids or rng.random() < 0.1:
        return rng.choice((*_KEYS, _text(rng)))
    found = rng.choice(ids)
    return found if rng.random() < 0.95 else found[: rng.randrange(len(found))] + _text(rng)


def _text(rng: Random) -> str:
    """A hostile text, without the lone surrogates that no message can have."""
    text = hostile_text(rng)
    if rng.random() < 0.02:
        text = (text or "x") * (_LONG // len(text or "x"))
    return text.encode("utf-8", "replace").decode()


def _json(rng: Random) -> str:
    made = rng.random()
    if made < 0.2:
        return _text(rng)
    if made < 0.25:
        return "[" * _DEEP
    return json.dumps(mutated_json(_EVENT, rng)).encode("utf-8", "replace").decode()


def _files(rng: Random, file: str) -> FileUploaderState:
    ids = (file, _text(rng), f"../{file}", "")
    made = [
        UploadedFileInfo(name=_text(rng), size=rng.choice((0, 7, 2**64 - 1)), file_id=rng.choice(ids)) for _ in range(2)
    ]
    return FileUploaderState(uploaded_file_info=made[: rng.randrange(3)])


def _several(make: Callable[[Random], Any], rng: Random) -> list[Any]:
    made = [make(rng) for _ in range(rng.randrange(4))]
    return made * (_LONG // len(str(made)) if rng.random() < 0.02 else 1)


_VALUES: Mapping[str, Callable[[Random, str], Any]] = MappingProxyType(
    {
        "trigger_value": lambda rng, _: rng.random() < 0.9,
        "bool_value": lambda rng, _: rng.random() < 0.5,
        "double_value": lambda rng, _: rng.choice(_DOUBLES),
        "int_value": lambda rng, _: rng.choice(_INTEGERS),
        "string_value": lambda rng, _: _text(rng),
        "double_array_value": lambda rng, _: DoubleArray(data=_several(lambda any_: any_.choice(_DOUBLES), rng)),
        "int_array_value": lambda rng, _: SInt64Array(data=_several(lambda any_: any_.choice(_INTEGERS), rng)),
        "string_array_value": lambda rng, _: StringArray(data=_several(hostile_label, rng)),
        "json_value": lambda rng, _: _json(rng),
        "json_trigger_value": lambda rng, _: _json(rng),
        "bytes_value": lambda rng, _: rng.randbytes(rng.choice((0, 1, 1000))),
        "arrow_value": lambda rng, _: ArrowTable(data=rng.randbytes(64), index=b"\0", columns=b"ARROW1"),
        "file_uploader_state_value": _files,
        "string_trigger_value": lambda rng, _: StringTriggerValue(data=_text(rng)),
        "chat_input_value": lambda rng, file: ChatInputValue(data=_text(rng), file_uploader_state=_files(rng, file)),
    }
)


# The types of the values of each kind of element.
_USUAL: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **dict.fromkeys(("button", "download_button", "menu_button"), ("trigger_value",)),
        **dict.fromkeys(("selectbox", "text_area", "text_input", "plotly_chart", "dataframe"), ("string_value",)),
        **dict.fromkeys(("button_group", "multiselect"), ("string_array_value",)),
        "slider": ("double_array_value", "string_array_value"),
        "number_input": ("double_value", "int_value"),
        "checkbox": ("bool_value",),
        "bidi_component": ("json_value", "json_trigger_value"),
        "file_uploader": ("file_uploader_state_value",),
    }
)
_SELECTING = frozenset({"plotly_chart", "dataframe"})  # their text is JSON


def hostile_label(rng: Random) -> str:
    """A text, short in most cases, that may be the label of an option."""
    return _text(rng) if rng.random() < 0.5 else rng.choice(("0", "0.05", "own", "entropy", "all", "None", "atlas"))


def hostile_frame(session: str, rng: Random) -> bytes | str:
    """A frame that asks for no run of a page: garbage, texts, and each kind of message; `session` is another's."""
    made = rng.random()
    if made < 0.1:
        return _text(rng)
    if made < 0.25:
        return rng.randbytes(rng.choice((0, 1, 30, 5_000)))
    if made < 0.27:
        return bytes(3 * 2**20)
    message = rng.choice(_MESSAGES)(rng, session).SerializeToString()
    return mutated_bytes(message, rng) if made < 0.5 else message


def _operation(rng: Random, session: str) -> BackMsg:
    name, other = _text(rng), rng.choice((session, ""))
    payload: dict[str, Any] = rng.choice(
        (
            {"deferred_file": DeferredFileRequestPayload(file_id=name)},
            {"dataframe_chunk": DataframeChunkRequestPayload(source_id=name, offset=2**31 - 1, limit=2**31 - 1)},
            {"install_skills": InstallSkillsRequestPayload()},
            {"dismiss_skills_nudge": DismissSkillsNudgeRequestPayload()},
        )
    )
    return BackMsg(backend_operation_request=BackendOperationRequest(request_id=name, session_id=other, **payload))


def _file_urls(rng: Random, session: str) -> BackMsg:
    names = [_text(rng) for _ in range(rng.choice((0, 1, 1000)))]
    return BackMsg(file_urls_request=FileURLsRequest(request_id=_text(rng), session_id=session, file_names=names))


def _fragment(rng: Random, _session: str) -> BackMsg:
    return BackMsg(rerun_script=ClientState(fragment_id=_text(rng) or "none", is_auto_rerun=True))


_MESSAGES: tuple[Callable[[Random, str], BackMsg], ...] = (
    *(_operation, _file_urls, _fragment),
    *(
        lambda _rng, _session, kind=kind: BackMsg(**{kind: True})
        for kind in (
            *("clear_cache", "set_run_on_save", "stop_script", "load_git_info", "app_heartbeat"),
            *("debug_disconnect_websocket", "debug_shutdown_runtime"),
        )
    ),
)
