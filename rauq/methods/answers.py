"""What methods read from a trace: its answer without the end token, and the arrays that it captured."""

from collections.abc import Sequence

import numpy as np

from rauq.trace.extras import extra_of
from rauq.trace.trace import Extra, Trace


def tokens_of(trace: Trace) -> tuple[str, ...]:
    """The texts of the answer's tokens without the end token; a stop token is a token like others."""
    return trace.answer_tokens[: _length(trace)]


def text_of(trace: Trace) -> str:
    """The answer as judges read it: without the end token and the white space around it."""
    return "".join(tokens_of(trace)).strip()


def texts_of(traces: Sequence[Trace]) -> tuple[str, ...]:
    """The answers as judges read them."""
    return tuple(map(text_of, traces))


def logprobs_of(trace: Trace) -> np.ndarray:
    """Log-probabilities (n,) in nats of the n tokens without the end token."""
    return trace.logprobs[: _length(trace)].astype(np.float64)


def sums_of(traces: Sequence[Trace]) -> np.ndarray:
    """The log-probability of each answer, end token included: (K,) nats."""
    return np.array([trace.logprobs.sum(dtype=np.float64) for trace in traces])


def captured(trace: Trace, name: Extra) -> np.ndarray:
    """An extra of the trace, as float64.

    Raises:
        NotCaptured: the trace has none of this name.
        InvalidInput: its shape is not that of the answer.
    """
    return extra_of(trace, name, _shape(trace, name)).astype(np.float64)


def _length(trace: Trace) -> int:
    return len(trace.answer_ids) - (trace.stop_reason == "eos")


def _shape(trace: Trace, name: Extra) -> tuple[int, ...]:
    num_tokens = len(trace.answer_ids)
    shapes: dict[Extra, tuple[int, ...]] = {
        "max_attention": (num_tokens, num_tokens),
        "diagonal": (-1, len(trace.prompt_ids) + num_tokens),
        "hidden": (-1,),
        "lookback": (-1, -1, num_tokens, 2),
        "focus": (num_tokens, 2),
    }
    return shapes[name]
