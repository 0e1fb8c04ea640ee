"""Stub."""

from rauq.trace.trace import Trace


def memory_bytes(trace: Trace) -> int:
    """Bytes."""
    return sum(array.nbytes for array in (trace.attention, *trace.extras.values()))
