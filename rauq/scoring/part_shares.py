"""How much of its attention each answer token gives to each part of the prompt, the answer so far, and the sink."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rauq.errors import InvalidInput
from rauq.scoring.settings import Settings, window
from rauq.trace.extras import extra_of
from rauq.trace.prompt_parts import FIXED, PromptPart, column_names, whole_parts
from rauq.trace.trace import Trace


@dataclass(frozen=True, eq=False, kw_only=True)
class PartShares:
    """The attention of each answer token by what it goes to, in the query that predicts the token.

    N answer tokens, L layers that have attention, H heads, G = 3 + the number of parts.

    Attributes:
        names: G names: first token, answer so far, other (the rest of the prompt), and the parts in order. By passage,
            the name of a part stands once for each.
        parts: Where the parts are, in tokens of the prompt.
        layers: Absolute indices of the L layers.
        window: The layers that `mean` is over unless others are named.
        shares: (L, H, N, G) float32 from 0 to 1. They sum to 1 over the last axis, less what a learned sink takes. The
            first token of the prompt, which many heads use as a sink, is in no part.
    """

    names: tuple[str, ...]
    parts: tuple[PromptPart, ...]
    layers: tuple[int, ...]
    window: tuple[int, ...]
    shares: np.ndarray

    def mean(self, layers: Sequence[int] | None = None) -> np.ndarray:
        """The mean over all heads of these layers, or else of the window: (N, G).

        Raises:
            InvalidInput: none, or a layer without attention.
        """
        chosen = (
            self.window
            if layers is None
            else window(Settings(layers=tuple(layers)), captured=self.layers, num_layers=None)
        )
        rows = [self.layers.index(layer) for layer in chosen]
        means: np.ndarray = self.shares[rows].mean(axis=(0, 1), dtype=np.float64)
        return means

    def of_head(self, layer: int, head: int) -> np.ndarray:
        """The shares of one head: (N, G).

        Raises:
            InvalidInput: no such layer or head.
        """
        num_heads = self.shares.shape[1]
        if layer not in self.layers or not 0 <= head < num_heads:
            message = (
                f"Got layer {layer}, head {head}; the layers with attention are {', '.join(map(str, self.layers))}, "
                f"with heads 0 to {num_heads - 1}."
            )
            raise InvalidInput(message)
        return self.shares[self.layers.index(layer), head]

    def of_part(self, name: str) -> np.ndarray:
        """What goes to one part, with all its passages, or to another of the names: (L, H, N).

        Raises:
            InvalidInput: no such name.
        """
        if name not in self.names:
            message = f"There is no part {name!r}; there are {', '.join(map(repr, self.names))}."
            raise InvalidInput(message)
        return self.shares[..., [one == name for one in self.names]].sum(axis=-1)


def part_shares(trace: Trace, settings: Settings | None = None, *, by_passage: bool = False) -> PartShares:
    """The shares of attention of an answer that was generated or read with extras=("part_shares",).

    `settings` say which layers `mean` is over; by default the middle ones. `by_passage`: each passage of a part is a
    part of its own, in a trace that has them.

    Raises:
        NotCaptured: the trace has no such extra.
        InvalidInput: no attention in the layers of the settings.

    Example:
        >>> prompt = "<document>Kyoto is in Japan.</document> In which country is Kyoto?"
        >>> how = {"extras": ("part_shares",), "prompt_parts": ("document",)}
        >>> shares = rauq.part_shares(rauq.load_model("atlas").read(prompt, " Japan", **how))
        >>> shares.names
        ('first token', 'answer so far', 'other', 'document')
    """
    names = column_names(trace.prompt_parts)
    shares = extra_of(trace, "part_shares", (len(trace.layers), trace.num_heads, len(trace.answer_ids), len(names)))
    parts = trace.prompt_parts if by_passage else whole_parts(trace.prompt_parts)
    if len(parts) < len(trace.prompt_parts):
        firsts = np.searchsorted([one.start for one in trace.prompt_parts], [part.start for part in parts])
        shares = np.add.reduceat(shares, [*range(len(FIXED)), *(len(FIXED) + firsts)], axis=-1)
    return PartShares(
        names=column_names(parts),
        parts=parts,
        layers=trace.layers,
        window=window(settings or Settings(), captured=trace.layers, num_layers=trace.num_layers),
        shares=shares,
    )
