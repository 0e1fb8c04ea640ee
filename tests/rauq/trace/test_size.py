"""The estimate of a trace's memory, against what Python allocates when the trace is read."""

import gc
import tracemalloc

import numpy as np
import pytest

from rauq.trace.messages import Message
from rauq.trace.trace import Alternative, Trace, memory_bytes
from tests.traces import make_trace


def with_alternatives(num_tokens, count, text="word", **changes):
    rows = tuple(
        tuple(Alternative(1000 + place, f"{text}{place}", -1.0 - place) for place in range(count))
        for _ in range(num_tokens)
    )
    changes = {"num_layers": 1, "num_heads": 1} | changes
    return make_trace((b" more",) * num_tokens, alternatives=rows, vocab_size=10_000, **changes)


MESSAGES = tuple(Message(role="user", content=f"Where is {number}?") for number in range(500))
CALL = {"type": "function", "id": "abc", "function": {"name": "weather", "arguments": {"city": "Lisbon", "days": 3}}}
CALLS = tuple(
    message
    for day in range(200)
    for message in (
        Message(role="user", content=f"The weather in {day} days?"),
        Message(role="assistant", content="", fields={"tool_calls": [CALL]}),
        Message(role="tool", content=f"{day} degrees", fields={"tool_call_id": "abc"}),
    )
)
TRACES = {
    "small": with_alternatives(3, 10),
    "usual": with_alternatives(200, 10, num_layers=16, num_heads=16),
    "alternatives": with_alternatives(500, 100),
    "wide text": with_alternatives(100, 10, "早上好" * 20),
    "prompt": make_trace(prompt="x" * 10**6, prompt_ids=np.arange(10**5) % 100),
    "conversation": make_trace(messages=MESSAGES, prompt=MESSAGES[-1].content, prompt_form="messages"),
    "tool calls": make_trace(messages=CALLS, prompt=CALLS[-1].content, prompt_form="messages"),
    "extras": make_trace(extras={"another": np.zeros(10**6)}),
    "options": make_trace(template_options={f"option_{number}": "x" * 4000 for number in range(10)}),
}


def allocated(path):
    """The bytes that a trace holds once it is read."""
    gc.collect()
    tracemalloc.start()
    try:
        trace = Trace.load(path)
        gc.collect()
        return tracemalloc.get_traced_memory()[0], trace
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", TRACES)
def test_the_estimate_is_what_is_allocated(name, tmp_path):
    TRACES[name].save(tmp_path / "trace")
    measured, trace = allocated(tmp_path / "trace")
    assert memory_bytes(trace) == pytest.approx(measured, rel=0.25)
