"""RAUQ: how sure was a model of its answer, read from its probabilities and from one attention head a layer.

`load_model` gives a model, the model gives a `Trace`, and `score` needs the trace alone. Whatever loads torch is
imported at its first use, so that scoring and reading traces stay light.
"""

from rauq.errors import (
    InvalidInput,
    ModelNotFound,
    NonFiniteLogits,
    NotCaptured,
    RauqError,
    TraceFileError,
    UnsupportedModel,
)
from rauq.trace import Alternative, Trace

__version__ = "0.1.0"

__all__ = [
    "Alternative",
    "InvalidInput",
    "ModelNotFound",
    "NonFiniteLogits",
    "NotCaptured",
    "RauqError",
    "Trace",
    "TraceFileError",
    "UnsupportedModel",
]
