"""Arrays as the browser decodes them."""

import base64

import numpy as np


def as_base64(array: np.ndarray, dtype: str) -> str:
    """Return an array as the browser decodes it."""
    return base64.b64encode(np.ascontiguousarray(array).astype(dtype).tobytes()).decode()
