"""llama.cpp's public C API by ctypes: where its library is found, what is called, and whether its structs are as known.

Structs are passed by value as blocks larger than any version of them, and fields are reached by their offsets. A field
at another place would give wrong numbers or crash, so default values are compared before anything is loaded.
"""

import ctypes
import os
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rauq.errors import MissingPackage, UnsupportedModel

VARIABLE = "RAUQ_LLAMA_LIB"
TESTED = "xllamacpp 2026.10.11549"
_DISTRIBUTIONS = MappingProxyType({"xllamacpp": "xllamacpp", "llama_cpp": "llama-cpp-python"})
_PACKAGES = (("xllamacpp", "xllamacpp.abi3.so"), ("llama_cpp", "lib/libllama.so"), ("llama_cpp", "lib/libllama.dylib"))

NodeCallback = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_bool, ctypes.c_void_p)
LogCallback = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
AbortCallback = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)
_BLOCK = 64  # words of 8 bytes: more than any version of the structs has


class Struct(ctypes.Structure):
    """A struct of parameters, of whatever length."""

    _fields_ = (("words", ctypes.c_uint64 * _BLOCK),)


class Batch(ctypes.Structure):
    """`llama_batch`."""

    _fields_ = (
        ("n_tokens", ctypes.c_int32),
        ("token", ctypes.POINTER(ctypes.c_int32)),
        ("embd", ctypes.c_void_p),
        ("pos", ctypes.POINTER(ctypes.c_int32)),
        ("n_seq_id", ctypes.POINTER(ctypes.c_int32)),
        ("seq_id", ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))),
        ("logits", ctypes.POINTER(ctypes.c_int8)),
    )


@dataclass(frozen=True)
class Field:
    """One field of a struct: where it is, its type, and its default; None: any."""

    offset: int
    kind: Any
    default: float | None = None


_INT, _UINT, _FLOAT, _BOOL, _POINTER = (
    ctypes.c_int32,
    ctypes.c_uint32,
    ctypes.c_float,
    ctypes.c_bool,
    ctypes.c_void_p,
)

MODEL_FIELDS: Mapping[str, Field] = MappingProxyType({"n_gpu_layers": Field(16, _INT, -1)})

CONTEXT_FIELDS: Mapping[str, Field] = MappingProxyType(
    {
        "n_ctx": Field(0, _UINT, 512),
        "n_batch": Field(4, _UINT, 2048),
        "n_ubatch": Field(8, _UINT, 512),
        "n_seq_max": Field(12, _UINT, 1),
        "n_threads": Field(28, _INT),
        "n_threads_batch": Field(32, _INT),
        "rope_scaling_type": Field(40, _INT, -1),
        "pooling_type": Field(44, _INT, -1),
        "attention_type": Field(48, _INT, -1),
        "flash_attn_type": Field(52, _INT, -1),
        "yarn_ext_factor": Field(64, _FLOAT, -1.0),
        "defrag_thold": Field(84, _FLOAT, -1.0),
        "cb_eval": Field(88, _POINTER),
        "cb_eval_user_data": Field(96, _POINTER),
        "type_k": Field(104, _INT, 1),
        "type_v": Field(108, _INT, 1),
        "embeddings": Field(136, _BOOL, 0),
        "offload_kqv": Field(137, _BOOL, 1),
        "op_offload": Field(139, _BOOL, 1),
        "swa_full": Field(140, _BOOL, 1),
        "kv_unified": Field(141, _BOOL, 0),
    }
)

_I32, _U32, _TEXT = ctypes.c_int32, ctypes.c_uint32, ctypes.c_char_p
_FUNCTIONS: Mapping[str, tuple[Any, Sequence[Any]]] = MappingProxyType(
    {
        "llama_backend_init": (None, ()),
        "llama_log_set": (None, (LogCallback, _POINTER)),
        "llama_model_default_params": (Struct, ()),
        "llama_context_default_params": (Struct, ()),
        "llama_model_load_from_file": (_POINTER, (_TEXT, Struct)),
        "llama_init_from_model": (_POINTER, (_POINTER, Struct)),
        "llama_free": (None, (_POINTER,)),
        "llama_model_free": (None, (_POINTER,)),
        "llama_model_get_vocab": (_POINTER, (_POINTER,)),
        "llama_model_is_recurrent": (_BOOL, (_POINTER,)),
        "llama_model_is_hybrid": (_BOOL, (_POINTER,)),
        "llama_vocab_n_tokens": (_I32, (_POINTER,)),
        "llama_tokenize": (_I32, (_POINTER, _TEXT, _I32, ctypes.POINTER(_I32), _I32, _BOOL, _BOOL)),
        "llama_n_ctx": (_U32, (_POINTER,)),
        "llama_n_ctx_seq": (_U32, (_POINTER,)),
        "llama_set_abort_callback": (None, (_POINTER, AbortCallback, _POINTER)),
        "llama_get_memory": (_POINTER, (_POINTER,)),
        "llama_memory_clear": (None, (_POINTER, _BOOL)),
        "llama_memory_seq_rm": (_BOOL, (_POINTER, _I32, _I32, _I32)),
        "llama_memory_seq_pos_min": (_I32, (_POINTER, _I32)),
        "llama_memory_seq_cp": (None, (_POINTER, _I32, _I32, _I32, _I32)),
        "llama_decode": (_I32, (_POINTER, Batch)),
        "llama_get_logits_ith": (ctypes.POINTER(_FLOAT), (_POINTER, _I32)),
        "llama_version": (_TEXT, ()),
        "ggml_op_name": (_TEXT, (ctypes.c_int,)),
    }
)
_MOST_OPERATIONS = 200
_IS_ERROR, _ERRORS = 4, 3  # a level of ggml's log, and how many are kept


@dataclass(frozen=True, eq=False)
class Library:
    """The loaded library: its functions by name, and the numbers of ggml's operations by theirs.

    `errors` are the last lines that it wrote as such.
    """

    path: Path
    call: Mapping[str, Callable[..., Any]]
    operations: Mapping[str, int]
    errors: deque[str]
    listener: Any  # the callback for them, which has to live as long as the library

    def model_parameters(self, **values: Any) -> Struct:
        """llama_model_params with its defaults, but for these fields."""
        return changed(self.call["llama_model_default_params"](), MODEL_FIELDS, values)

    def context_parameters(self, **values: Any) -> Struct:
        """llama_context_params with its defaults, but for these fields."""
        return changed(self.call["llama_context_default_params"](), CONTEXT_FIELDS, values)


def find_library() -> Path:
    """The file of the library: what the variable RAUQ_LLAMA_LIB names, else that of xllamacpp or llama-cpp-python.

    Raises:
        MissingPackage: there is none.
    """
    if named := os.environ.get(VARIABLE):
        return Path(named)
    for package, file in _PACKAGES:
        spec = find_spec(package)
        if spec is not None and spec.origin and (found := Path(spec.origin).parent / file).is_file():
            return found
    message = (
        f"llama.cpp is not installed. Install it with `pip install xllamacpp`, or name the file of its library in "
        f"{VARIABLE}."
    )
    raise MissingPackage(message)


def is_installed() -> bool:
    """Whether a library of llama.cpp is found; it is not loaded."""
    try:
        return find_library().is_file()
    except MissingPackage:
        return False


def name_of(path: Path) -> str:
    """What traces and messages call the library: its package with its version, or its file."""
    package = next((package for folder, package in _DISTRIBUTIONS.items() if folder in path.parts), "")
    return f"{package} {version(package)}" if package else path.name


def load_library(path: Path) -> Library:
    """Load the library, and compare its structs with what is known of them.

    Raises:
        UnsupportedModel: it cannot be loaded, lacks a function, or has another layout.
    """
    try:
        loaded = ctypes.CDLL(str(path))
        call = {name: _declared(loaded, name) for name in _FUNCTIONS}
    except (OSError, AttributeError) as error:
        message = f"{path} is no library of llama.cpp that can be used here ({error}). Tested is {TESTED}."
        raise UnsupportedModel(message) from error
    errors: deque[str] = deque(maxlen=_ERRORS)
    listener = _listener(errors)
    call["llama_log_set"](listener, None)
    call["llama_backend_init"]()
    library = Library(path, call, _operations(call["ggml_op_name"]), errors, listener)
    _check_defaults("llama_model_params", call["llama_model_default_params"](), MODEL_FIELDS, path)
    _check_defaults("llama_context_params", call["llama_context_default_params"](), CONTEXT_FIELDS, path)
    return library


def other_layout(path: Path, what: str) -> UnsupportedModel:
    """The error for a library whose structs are not where they are looked for."""
    message = (
        f"{name_of(path)} has another layout than the tested version: {what}. Install {TESTED.replace(' ', '==')}."
    )
    return UnsupportedModel(message)


def _declared(loaded: ctypes.CDLL, name: str) -> Callable[..., Any]:
    function = getattr(loaded, name)
    function.restype, function.argtypes = _FUNCTIONS[name][0], list(_FUNCTIONS[name][1])
    found: Callable[..., Any] = function
    return found


def _listener(errors: deque[str]) -> Any:
    """A callback that keeps the library's errors, writes them to the standard error, and leaves out all else."""

    def note(level: int, text: bytes, _data: object) -> None:
        if level == _IS_ERROR and (said := text.decode(errors="replace").strip()):
            errors.append(said)
            sys.stderr.write(f"{said}\n")

    return LogCallback(note)


def _operations(name_of_operation: Callable[[int], bytes | None]) -> dict[str, int]:
    """Numbers of the operations that are looked for, by name; asking beyond the last one would read foreign memory."""
    found: dict[str, int] = {}
    for number in range(_MOST_OPERATIONS):
        name = name_of_operation(number) or b""
        found[name.decode()] = number
        if name == b"GLU":  # the last of them
            break
    return found


def _check_defaults(struct: str, given: Struct, fields: Mapping[str, Field], path: Path) -> None:
    for name, field in fields.items():
        value = field.kind.from_address(ctypes.addressof(given) + field.offset).value or 0
        if field.default is not None and value != field.default:
            raise other_layout(path, f"{struct}.{name} is {value!r}, and {field.default!r} was expected")


def changed(struct: Struct, fields: Mapping[str, Field], values: Mapping[str, Any]) -> Struct:
    """The struct, with these values in its fields."""
    for name, value in values.items():
        field = fields[name]
        field.kind.from_address(ctypes.addressof(struct) + field.offset).value = value
    return struct
