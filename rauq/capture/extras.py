"""What a capture session keeps for the extras of a trace (`rauq.trace.extras`), until each answer's part is cut out."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from rauq.capture import tap
from rauq.capture.logits import logit_lens
from rauq.errors import UnsupportedModel
from rauq.trace.file import LENS_TOKENS
from rauq.trace.prompt_parts import ANSWER_SO_FAR, PromptPart, column_names, columns_of
from rauq.trace.trace import Extra
from rauq.transformers_api import PreTrainedModel

OF_PROMPT: frozenset[Extra] = frozenset({"diagonal", "hidden", "hidden_mean"})
"""The extras that need the queries or hidden states of all tokens of the prompt, and so every one of them fed."""


@dataclass(frozen=True)
class Layout:
    """Where each sequence of a left-padded batch begins, and where its answer does: positions (B,); and its parts.

    `parts` are those of each prompt, in tokens of it; without any, none has parts.
    """

    begins: tuple[int, ...]
    answers: tuple[int, ...]
    parts: tuple[tuple[PromptPart, ...], ...] = ()

    @property
    def first(self) -> int:
        """The earliest position of an answer."""
        return min(self.answers)

    def repeat(self, times: int) -> "Layout":
        """The layout of a batch whose sequences are each repeated."""
        begins, answers = (tuple(np.repeat(places, times).tolist()) for places in (self.begins, self.answers))
        return Layout(begins, answers, tuple(parts for parts in self.parts for _ in range(times)))

    def parts_of(self, item: int) -> tuple[PromptPart, ...]:
        """The parts of one prompt."""
        return self.parts[item] if self.parts else ()

    def columns(self) -> np.ndarray:
        """The column of `part_shares` for each position up to the last answer's first: (B, T); padding has any."""
        columns = np.full((len(self.begins), max(self.answers) + 1), ANSWER_SO_FAR)
        for item, (begin, answer) in enumerate(zip(self.begins, self.answers, strict=True)):
            columns[item, begin:answer] = columns_of(self.parts_of(item), answer - begin)
        return columns


class ExtraCollector(ABC):
    """Tensors with the batch in front, one block after another."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.blocks: list[Tensor] = []

    def repeat(self, times: int) -> None:
        """Follow a batch that was repeated."""
        self.layout = self.layout.repeat(times)
        self.blocks = [block.repeat_interleave(times, dim=0) for block in self.blocks]

    @abstractmethod
    def cut(self, item: int, num_tokens: int) -> np.ndarray:
        """What belongs to one answer."""


class RowCollector(ExtraCollector):
    """Something of every row of attention, gathered layer by layer."""

    def __init__(self, layout: Layout) -> None:
        super().__init__(layout)
        self.layers: list[Tensor] = []

    @abstractmethod
    def reduce(self, weights: Tensor, first_key: int) -> Tensor:
        """What to keep of the weights (B, H, n, T) of one layer on the keys from `first_key` on."""

    def add(self, layer: Tensor) -> None:
        """Note what `reduce` gave of the next layer."""
        self.layers.append(layer.cpu())

    def close(self) -> None:
        """All layers have given these rows."""
        self.blocks.append(torch.stack(self.layers, dim=1))
        self.layers = []

    def rows(self, item: int, num_tokens: int) -> slice:
        """The rows that predict the tokens of one answer."""
        first = self.layout.answers[item] - self.layout.first
        return slice(first, first + num_tokens)


class Lookback(RowCollector):
    """Sums of the weights on the prompt's keys and on the answer's: blocks (B, L, H, n, 2)."""

    def reduce(self, weights: Tensor, first_key: int) -> Tensor:
        """See `RowCollector`."""
        answers = torch.tensor(self.layout.answers, device=weights.device)
        of_answer = first_key + torch.arange(weights.shape[-1], device=weights.device) >= answers[:, None]
        sides = torch.stack([~of_answer, of_answer], dim=-1).to(weights.dtype)
        return weights @ sides[:, None]  # (B, H, n, T) @ (B, 1, T, 2)

    def cut(self, item: int, num_tokens: int) -> np.ndarray:
        """Means a key, (L, H, N, 2)."""
        sums = torch.cat([block[item] for block in self.blocks], dim=2)[:, :, self.rows(item, num_tokens)].numpy()
        counts = np.empty((num_tokens, 2), dtype=np.float32)
        counts[:, 0] = self.layout.answers[item] - self.layout.begins[item]
        counts[:, 1] = [np.nan, *range(1, num_tokens)]  # row 0 has no key of the answer
        means: np.ndarray = sums / counts
        return means


class PartShares(RowCollector):
    """Sums of the weights by column of `part_shares`: blocks (B, L, H, n, G), G being the most columns of the batch."""

    def __init__(self, layout: Layout) -> None:
        super().__init__(layout)
        self.columns = torch.from_numpy(layout.columns())
        self.num_columns = max(len(column_names(layout.parts_of(item))) for item in range(len(layout.begins)))

    def reduce(self, weights: Tensor, first_key: int) -> Tensor:
        """See `RowCollector`."""
        positions = first_key + torch.arange(weights.shape[-1])
        columns = self.columns[:, positions.clamp(max=self.columns.shape[1] - 1)].to(weights.device)
        sides = (columns[..., None] == torch.arange(self.num_columns, device=weights.device)).to(weights.dtype)
        return weights @ sides[:, None]  # (B, H, n, T) @ (B, 1, T, G)

    def repeat(self, times: int) -> None:
        """See `ExtraCollector`."""
        super().repeat(times)
        self.columns = self.columns.repeat_interleave(times, dim=0)

    def cut(self, item: int, num_tokens: int) -> np.ndarray:
        """The shares (L, H, N, 3 + P)."""
        rows = torch.cat([block[item] for block in self.blocks], dim=2)
        own = rows[:, :, self.rows(item, num_tokens), : len(column_names(self.layout.parts_of(item)))]
        return own.numpy().copy()


class AttentionEntropy(RowCollector):
    """Shannon and Renyi-2 entropies of the rows: blocks (B, L, H, n, 2).

    From weights and not as 2 lse(s) - lse(2s) from scores s: at scores of several hundred a logarithm of sums has no
    digits left.
    """

    def reduce(self, weights: Tensor, first_key: int) -> Tensor:  # noqa: ARG002 - keys that are gone weigh 0
        """See `RowCollector`."""
        shares = weights / weights.sum(dim=-1, keepdim=True)  # less than 1 where a sink takes the rest
        shannon = -torch.xlogy(shares, shares).sum(dim=-1)
        return torch.stack([shannon, -shares.square().sum(dim=-1).log()], dim=-1)

    def cut(self, item: int, num_tokens: int) -> np.ndarray:
        """The entropies (L, H, N, 2)."""
        rows = torch.cat([block[item] for block in self.blocks], dim=2)
        return rows[:, :, self.rows(item, num_tokens)].numpy().copy()


class MaxAttention(RowCollector):
    """The largest weights on the answer's keys: blocks (B, 1, 1, n, keys so far)."""

    def reduce(self, weights: Tensor, first_key: int) -> Tensor:
        """See `RowCollector`."""
        first = self.layout.first - first_key  # negative where a window has dropped keys of the answer
        return pad(weights[..., max(0, first) :].amax(dim=1, keepdim=True), (max(0, -first), 0))

    def add(self, layer: Tensor) -> None:
        """Keep only what is larger than in the layers before."""
        self.layers = [torch.maximum(self.layers[0], layer.cpu()) if self.layers else layer.cpu()]

    def cut(self, item: int, num_tokens: int) -> np.ndarray:
        """The largest weights (N, N)."""
        own = self.rows(item, num_tokens)
        width = max(own.stop, self.blocks[-1].shape[-1])
        rows = torch.cat([pad(block[item, 0, 0], (0, width - block.shape[-1])) for block in self.blocks])
        return rows[own, own].numpy().copy()


class Diagonal(ExtraCollector):
    """The weights of the tokens on themselves at the middle layer: blocks (B, H, n)."""

    def add(self, weights: Tensor) -> None:
        """Note the next tokens."""
        self.blocks.append(weights.cpu())

    def cut(self, item: int, num_tokens: int) -> np.ndarray:
        """The weights (H, M + N) of one sequence."""
        own = slice(self.layout.begins[item], self.layout.answers[item] + num_tokens)
        return torch.cat([block[item] for block in self.blocks], dim=1)[:, own].numpy().copy()


class Hidden(ExtraCollector):
    """Hidden states before the middle block: those of the answer, blocks (B, n, d), and the prompt's sum (B, d)."""

    def __init__(self, layout: Layout) -> None:
        super().__init__(layout)
        self.end = 0
        self.skips = False
        self.prompt = torch.zeros(())

    def note(self, states: Tensor, *, end: int) -> None:
        """Note the states (B, n, d) of the last n positions before `end`, by reference while decoding."""
        begin = end - states.shape[1]
        self.skips, self.end = self.skips or begin > self.end, end
        if begin < max(self.layout.answers):
            self.prompt = self.prompt.to(states.device) + self._sum_of_prompt(states, begin)
        if begin >= self.layout.first:
            self.blocks.append(states)
        elif end > self.layout.first:
            self.blocks.append(states[:, self.layout.first - begin :].clone())  # a view would keep the whole prompt

    def repeat(self, times: int) -> None:
        """See `ExtraCollector`."""
        super().repeat(times)
        self.prompt = self.prompt.repeat_interleave(times, dim=0)

    def cut(self, item: int, num_tokens: int) -> np.ndarray:
        """The state (d,) that predicted the last token; of an answer of one token, the mean over the prompt."""
        if num_tokens > 1:
            states = torch.cat([block[item] for block in self.blocks])
            return states[self.layout.answers[item] - self.layout.first + num_tokens - 2].float().cpu().numpy()
        mean = self.prompt[item] / (self.layout.answers[item] - self.layout.begins[item])
        return (mean * torch.nan if self.skips else mean).cpu().numpy()

    def _sum_of_prompt(self, states: Tensor, begin: int) -> Tensor:
        positions = begin + torch.arange(states.shape[1], device=states.device)
        begins, answers = torch.tensor([self.layout.begins, self.layout.answers], device=states.device)[..., None]
        others = (positions < begins) | (positions >= answers)
        return states.float().masked_fill(others[..., None], 0.0).sum(dim=1)


class HiddenMean(Hidden):
    """Hidden states before the middle block, as `Hidden` keeps them, for their mean over all positions."""

    def cut(self, item: int, num_tokens: int) -> np.ndarray:
        """The mean (d,) over the prompt and all tokens of the answer but the last, which is not fed."""
        total, first = self.prompt[item], self.layout.answers[item] - self.layout.first
        if num_tokens > 1:
            states = torch.cat([block[item] for block in self.blocks])
            total = total + states[first : first + num_tokens - 1].float().sum(dim=0)
        mean = total / (self.layout.answers[item] - self.layout.begins[item] + num_tokens - 1)
        return (mean * torch.nan if self.skips else mean).cpu().numpy()


class HiddenLayers(ExtraCollector):
    """The hidden states that predicted the answer: for each k from 0 to l, blocks (B, n, d)."""

    def __init__(self, layout: Layout) -> None:
        super().__init__(layout)
        self.states: dict[int, list[Tensor]] = {}

    def note(self, layer: int, states: Tensor, *, end: int) -> None:
        """Note h_k (B, n, d), k = `layer`, of the last n positions before `end`, by reference while decoding."""
        if states.ndim != 3:
            message = f"This model has {states.ndim - 1} dimensions of hidden states a sequence, and extras hold two."
            raise UnsupportedModel(message)
        no_rows = self.layout.first - 1 - (end - states.shape[1])  # positions before the first that predicts
        rows = states if no_rows <= 0 else states[:, no_rows:].clone()  # a view would keep the whole prompt
        self.states.setdefault(layer, []).append(rows)

    def repeat(self, times: int) -> None:
        """See `ExtraCollector`."""
        super().repeat(times)
        for layer in self.states:
            self.states[layer] = [self._joined(layer).repeat_interleave(times, dim=0)]

    def of(self, item: int, num_tokens: int) -> Tensor:
        """The states (l + 1, N, d) of one answer, as the model gave them."""
        first = self.layout.answers[item] - self.layout.first
        layers = [self._joined(layer)[item, first : first + num_tokens] for layer in sorted(self.states)]
        if len(widths := {layer.shape[-1] for layer in layers}) > 1:
            message = f"The hidden states of this model have different widths ({sorted(widths)}); extras hold one."
            raise UnsupportedModel(message)
        return torch.stack([layer.to(layers[-1]) for layer in layers])

    def cut(self, item: int, num_tokens: int) -> np.ndarray:
        """The states (l + 1, N, d)."""
        return self.of(item, num_tokens).float().cpu().numpy()

    def _joined(self, layer: int) -> Tensor:
        """All rows of a layer, which from then on are one block."""
        if len(self.states[layer]) > 1:
            self.states[layer] = [torch.cat(self.states[layer], dim=1)]
        return self.states[layer][0]


class NoteStates(Protocol):
    """Something that keeps hidden states."""

    def __call__(self, states: Tensor, *, end: int) -> None:
        """Note hidden states (B, n, d) of the last n positions before `end`."""


def without_states(model: PreTrainedModel) -> frozenset[Extra]:
    """The extras of hidden states that a model cannot give."""
    blocks, modules = tap.blocks_of(model), tap.modules_of_states(model)
    if not blocks:
        return frozenset({"hidden", "hidden_mean", "hidden_layers", "logit_lens"})
    if len(modules) == len(blocks):
        return frozenset({"hidden_layers", "logit_lens"})
    return frozenset() if _has_lens(model) else frozenset({"logit_lens"})


def _has_lens(model: PreTrainedModel) -> bool:
    """Whether the head takes the states of every block, and the input embeddings know all its tokens."""
    head: Any = model.get_output_embeddings()
    embeddings: Any = model.get_input_embeddings()
    width, vocabulary = getattr(head, "in_features", 0), getattr(head, "out_features", 0)
    known = getattr(embeddings, "num_embeddings", 0)
    own_width = getattr(model.config.get_text_config(decoder=True), "hidden_size", width)
    return bool(width == own_width and LENS_TOKENS <= vocabulary <= known)


class Kept:
    """The keepers of one session, for the extras that were asked for; the model is for those that ask its head."""

    def __init__(self, names: Collection[Extra], layout: Layout, *, model: PreTrainedModel | None = None) -> None:
        self.names, self.model = frozenset(names), model
        self.max_attention = MaxAttention(layout) if "max_attention" in names else None
        self.lookback = Lookback(layout) if "lookback" in names else None
        self.part_shares = PartShares(layout) if "part_shares" in names else None
        self.attention_entropy = AttentionEntropy(layout) if "attention_entropy" in names else None
        self.diagonal = Diagonal(layout) if "diagonal" in names else None
        self.hidden = Hidden(layout) if "hidden" in names else None
        self.hidden_mean = HiddenMean(layout) if "hidden_mean" in names else None
        self.hidden_layers = HiddenLayers(layout) if self.names & {"hidden_layers", "logit_lens"} else None

    @property
    def rows(self) -> tuple[RowCollector, ...]:
        """Those that need every row of attention."""
        return tuple(keeper for keeper in self._all().values() if isinstance(keeper, RowCollector))

    def of_states(self, layer: int, *, middle: int) -> list[NoteStates]:
        """What keeps the hidden states h_k, k = `layer`."""
        notes: list[NoteStates] = [
            keeper.note for keeper in (self.hidden, self.hidden_mean) if keeper is not None and layer == middle
        ]
        return notes if self.hidden_layers is None else [*notes, partial(self.hidden_layers.note, layer)]

    def repeat(self, times: int) -> None:
        """Follow a batch that was repeated."""
        for keeper in self._all().values():
            keeper.repeat(times)

    def cut(self, item: int, ids: Sequence[int]) -> dict[str, np.ndarray]:
        """The extras of one answer with these ids (N,)."""
        kept = self._all()
        extras: dict[str, np.ndarray] = {
            name: keeper.cut(item, len(ids)) for name, keeper in kept.items() if name in self.names
        }
        if "logit_lens" in self.names and self.hidden_layers is not None and self.model is not None:
            extras["logit_lens"] = logit_lens(self.model, self.hidden_layers.of(item, len(ids)), ids).numpy()
        return extras

    def _all(self) -> Mapping[str, ExtraCollector]:
        return {name: keeper for name, keeper in vars(self).items() if isinstance(keeper, ExtraCollector)}


NOTHING = Kept((), Layout((), ()))
