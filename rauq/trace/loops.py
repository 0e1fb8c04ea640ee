"""Answers that end in a loop, the same tokens over and over, and the answer without it."""

from collections.abc import Sequence

from rauq.trace.parts import first_tokens
from rauq.trace.trace import Trace

FEWEST_TIMES = 3  # that the tokens of a loop occur, one after the other
FEWEST_TOKENS = 12  # of a loop in all: "no, no, no" is none


def loop_start(trace: Trace) -> int | None:
    """The token at which the answer begins to repeat what is before it, to its end; None where it does not.

    The tokens before it hold what is repeated once. An end token may follow; the loop may stop within a repetition.
    """
    ids = trace.answer_ids.tolist()
    is_ended = trace.stop_reason == "eos" and not trace.answer_tokens[-1].strip()
    return repeats_from(ids[:-1] if is_ended else ids)


def repeats_from(ids: Sequence[int]) -> int | None:
    """Of token ids: where the first repetition begins that lasts until the end; None without one."""
    count = len(ids)
    found = []
    for period in range(1, count // FEWEST_TIMES + 1):
        start = count
        while start > period and ids[start - 1] == ids[start - 1 - period]:
            start -= 1
        looped = count - start + period  # what is repeated is a part of the loop
        if looped >= max(FEWEST_TIMES * period, FEWEST_TOKENS):
            found.append(start)
    return min(found, default=None)


def without_loop(trace: Trace) -> Trace:
    """The answer up to its loop, as if the limit of tokens had ended it there; the same answer where it has none."""
    start = loop_start(trace)
    return trace if start is None else first_tokens(trace, start)
