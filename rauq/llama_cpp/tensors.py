"""ggml's tensors, read in place while a graph is computed."""

import ctypes
from typing import Any

import numpy as np

FLOAT32, FLOAT16, INT32, INT64 = 0, 1, 26, 27  # enum ggml_type
DTYPES: dict[int, Any] = {FLOAT32: np.float32, FLOAT16: np.float16, INT32: np.int32, INT64: np.int64}


class Tensor(ctypes.Structure):
    """`ggml_tensor`."""


Tensor._fields_ = (
    ("type", ctypes.c_int),
    ("buffer", ctypes.c_void_p),
    ("ne", ctypes.c_int64 * 4),
    ("nb", ctypes.c_size_t * 4),
    ("op", ctypes.c_int),
    ("op_params", ctypes.c_int32 * 16),
    ("flags", ctypes.c_int32),
    ("src", ctypes.c_void_p * 10),
    ("view_src", ctypes.c_void_p),
    ("view_offs", ctypes.c_size_t),
    ("data", ctypes.c_void_p),
    ("name", ctypes.c_char * 64),
)

OPERATION: int = Tensor.op.offset
SOURCES: int = Tensor.src.offset
DATA: int = Tensor.data.offset


def at(address: int) -> Tensor:
    """The tensor at an address."""
    return Tensor.from_address(address)


def source(tensor: Tensor, place: int) -> Tensor | None:
    """One of the tensors that a node is computed from; None: there is none."""
    address = tensor.src[place]
    return at(address) if address else None


def layer_of(tensor: Tensor) -> int:
    """The layer in the name of a node, such as kq_soft_max-3, or of a cache, such as cache_k_l3 (view)."""
    name = tensor.name.decode().removesuffix(" (view)")
    digits = name[len(name.rstrip("0123456789")) :]
    return int(digits) if digits else -1


def array(tensor: Tensor) -> np.ndarray:
    """The numbers of a tensor in main memory, a view with ggml's axes in reverse: (ne3, ne2, ne1, ne0)."""
    dtype = np.dtype(DTYPES[tensor.type])
    shape, strides = tuple(tensor.ne)[::-1], tuple(tensor.nb)[::-1]
    length = dtype.itemsize + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))
    memory = (ctypes.c_char * length).from_address(tensor.data)
    return np.ndarray(shape, dtype, buffer=memory, strides=strides)
