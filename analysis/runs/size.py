"""How much room a run takes, before it is begun."""

from analysis.runs.manifest import StoredLayers
from analysis.runs.shard import ALIGNMENTS, NUM_BANDS, OFFSETS
from rauq.settings import Settings, window

_HALF, _SINGLE = 2, 4  # bytes of a number
_TABLE = 160  # bytes a token, packed: its text, ids and alternatives; measured on the embedded model


def bytes_per_answer(num_tokens: int, *, num_layers: int, num_heads: int, stored_layers: StoredLayers) -> int:
    """About how many bytes an answer takes on disk, if all layers have attention and some token carries a fact."""
    stored = window(Settings(layers=stored_layers), captured=tuple(range(num_layers)), num_layers=num_layers)
    bands = NUM_BANDS * len(stored) * num_heads * (num_tokens + 1) * _HALF
    means = 2 * len(ALIGNMENTS) * len(OFFSETS) * num_layers * num_heads * _HALF  # of all tokens, and of the fact's
    picks = len(ALIGNMENTS) * num_layers * _HALF
    return bands + means + picks + num_tokens * (2 * _SINGLE + _TABLE)
