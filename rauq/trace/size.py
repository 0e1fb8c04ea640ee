"""How much memory a trace takes, for those who keep many: text and alternatives can take more than attention."""

from collections.abc import Iterator
from itertools import chain
from operator import itemgetter
from sys import getsizeof

from rauq.trace.file import ARRAYS
from rauq.trace.trace import Alternative, Trace

# In bytes, besides texts; the first is exact, and the others are measured.
_ENTRY = sum(map(getsizeof, (Alternative(2**20, "", -1.0), 2**20, -1.0)))
_MESSAGE = 150
_REST = 4096


def memory_bytes(trace: Trace) -> int:
    """Return about how many bytes a trace holds: its arrays, its texts and its alternatives, which are objects each."""
    entries = list(chain.from_iterable(trace.alternatives))
    texts = chain(map(itemgetter(1), entries), _texts(trace))
    arrays = (*(getattr(trace, name) for name in ARRAYS), *trace.extras.values())
    rows = (trace.answer_tokens, trace.pieces, trace.alternatives, *trace.alternatives)
    return (
        sum(array.nbytes for array in arrays)
        + sum(map(getsizeof, texts))
        + sum(map(getsizeof, rows))
        + len(entries) * _ENTRY
        + len(trace.messages) * _MESSAGE
        + _REST
    )


def _texts(trace: Trace) -> Iterator[str | bytes]:
    """Return all texts but those of the alternatives."""
    yield from (trace.prompt, trace.model, trace.revision, trace.dtype, trace.quantisation)
    yield from trace.answer_tokens
    yield from trace.pieces
    yield from (message.content for message in trace.messages)
    for name, value in trace.template_options.items():
        yield from (name, str(value))
