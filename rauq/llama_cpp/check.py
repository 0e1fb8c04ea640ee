"""The check of a context: captured weights against float64, from the same graph's queries, keys, mask, cap and sinks.

llama.cpp rounds queries to float16 before their product with keys in float16, so the reference does, too. The keys in
the cells that are read have to be those that were written for these positions, bit by bit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rauq.errors import UnsupportedModel
from rauq.llama_cpp.context import Context, tokens_of
from rauq.llama_cpp.messages import Message
from rauq.llama_cpp.recording import KEYS, WEIGHTS, Recorder, Tokens
from rauq.llama_cpp.tensors import Tensor, array, layer_of, source

EXACT = 1e-5  # tolerated at scores of ordinary size, and in proportion beyond
_ORDINARY_SCORE = 10.0
_SCORES = b"kq-"
_OFFSETS = 8  # keys back whose cells are looked at
_STEPS = 4  # tokens of the check that are run one by one, as an answer is


@dataclass(eq=False)
class Compared:
    """What is seen of a check's graphs: by layer, keys by position, and the largest difference and score so far."""

    recorder: Recorder
    keys: dict[tuple[int, int, int], np.ndarray] = field(default_factory=dict)
    products: dict[int, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    differences: dict[int, float] = field(default_factory=dict)
    largest: dict[int, float] = field(default_factory=dict)
    problem: str = ""
    num_heads: int = 0

    def note(self, node: Tensor) -> None:
        """Note a node of a graph: keys that are written, the product of queries and keys, or weights."""
        operations, tokens = self.recorder.library.operations, self.recorder.tokens
        assert tokens is not None  # noqa: S101 - a step runs
        if node.op == operations["SET_ROWS"] and node.name.startswith(KEYS):
            self._note_keys(node, tokens)
        elif node.op == operations["MUL_MAT"] and node.name.startswith(_SCORES):
            self._note_product(node)
        elif node.op == operations["SOFT_MAX"] and node.name.startswith(WEIGHTS):
            self._compare(node, tokens)

    def _note_keys(self, node: Tensor, tokens: Tokens) -> None:
        written = source(node, 0)
        assert written is not None  # noqa: S101 - SET_ROWS has a source
        rows = array(written).reshape(len(tokens.ids), -1).copy()
        for row, sequence, position in zip(rows, tokens.sequences, tokens.positions, strict=True):
            self.keys[layer_of(node), int(sequence), int(position)] = row

    def _note_product(self, node: Tensor) -> None:
        keys, queries = source(node, 0), source(node, 1)
        assert keys is not None  # noqa: S101 - a product has two sources
        assert queries is not None  # noqa: S101
        cached = array(keys)[0]
        self.products[layer_of(node)] = array(queries)[0].astype(cached.dtype).astype(np.float64), cached.copy()

    def _compare(self, node: Tensor, tokens: Tokens) -> None:
        layer = layer_of(node)
        if layer not in self.products:
            self.problem = f"no product of queries and keys was seen in layer {layer}"
            return
        queries, keys = self.products.pop(layer)
        expected, largest = recomputed(node, queries, keys.astype(np.float64), self.recorder.library.operations)
        self.num_heads = len(expected)
        off = float(np.abs(expected - array(node)[0]).max())
        self.differences[layer] = max(off, self.differences.get(layer, 0.0))
        self.largest[layer] = max(largest, self.largest.get(layer, 0.0))
        if wrong := self._wrong_cells(layer, keys, tokens):
            self.problem = wrong

    def _wrong_cells(self, layer: int, keys: np.ndarray, tokens: Tokens) -> str:
        """The error if a cell that is read holds another key (H_kv, T, D) than was written for its position."""
        cells = self.recorder.current_columns()
        for row, token in enumerate(tokens.rows.nonzero()[0]):
            for back in range(cells.shape[1]):
                position = int(tokens.positions[token]) - back
                if position < 0:
                    continue
                written = self.keys.get((layer, int(tokens.sequences[token]), position))
                cached = keys[:, cells[row, back]].reshape(-1)
                if written is not None and not np.array_equal(cached, written.astype(cached.dtype)):
                    return f"in layer {layer} the cell of position {position} holds another key"
        return ""


def recomputed(
    node: Tensor, queries: np.ndarray, keys: np.ndarray, operations: Mapping[str, int]
) -> tuple[np.ndarray, float]:
    """Weights (H, n, T) of a softmax node in float64, from queries (H, n, D) and keys (H_kv, T, D); largest score.

    Raises:
        UnsupportedModel: the graph does something else between product and softmax.
    """
    grouped = np.repeat(keys, len(queries) // len(keys), axis=0)
    scores = _capped(node, queries @ grouped.transpose(0, 2, 1), operations)
    scale, slope = np.frombuffer(bytes(node.op_params), np.float32)[:2].astype(np.float64)
    if slope:
        message = "The attention of this model has a bias by distance (ALiBi), which is not captured from llama.cpp."
        raise UnsupportedModel(message)
    scores = scores * scale
    largest = float(np.abs(scores).max())
    if (mask := source(node, 1)) is not None:
        scores = scores + array(mask)[0, 0, : queries.shape[1]].astype(np.float64)
    top = scores.max(axis=-1, keepdims=True)
    exponentials = np.exp(scores - top)
    total = exponentials.sum(axis=-1, keepdims=True)
    if (sinks := source(node, 2)) is not None:
        total = total + np.exp(array(sinks).reshape(-1, 1, 1).astype(np.float64) - top)
    return exponentials / total, largest


def _capped(node: Tensor, scores: np.ndarray, operations: Mapping[str, int]) -> np.ndarray:
    """The scores after what stands between their product and the softmax: nothing, or scale, tanh, scale."""
    chain, step = [], source(node, 0)
    while step is not None and step.op != operations["MUL_MAT"]:
        chain.append(step)
        step = source(step, 0)
    if not chain:
        return scores
    if [one.op for one in chain] != [operations["SCALE"], operations["UNARY"], operations["SCALE"]]:
        message = "The graph of this model has a step between scores and softmax that is not captured from llama.cpp."
        raise UnsupportedModel(message)
    outer, inner = (float(np.frombuffer(bytes(chain[place].op_params), np.float32)[0]) for place in (0, 2))
    capped: np.ndarray = outer * np.tanh(inner * scores)
    return capped


def checked(context: Context, ids: np.ndarray) -> Message:
    """Run these ids as a prompt and an answer, and compare every weight: differences and tolerances (L,) by layer."""
    context.begin(len(ids), offsets=_OFFSETS)
    compared = Compared(context.recorder)
    operations = context.library.operations
    context.recorder.watch(compared.note, {operations[name] for name in ("SET_ROWS", "MUL_MAT", "SOFT_MAX")})
    try:
        start = max(0, len(ids) - _STEPS)
        for part in (np.arange(start), *np.split(np.arange(start, len(ids)), len(ids) - start)):
            if len(part):
                context.feed(tokens_of(ids[part], part, np.zeros(len(part)), np.ones(len(part))))
    finally:
        context.recorder.watch(None, set())
    layers = sorted(compared.differences)
    tolerances = [EXACT * max(1.0, compared.largest[layer] / _ORDINARY_SCORE) for layer in layers]
    found = [compared.differences[layer] for layer in layers]
    return Message(
        {
            "layers": layers,
            "num_heads": compared.num_heads,
            "differences": found,
            "tolerances": tolerances,
            "problem": compared.problem,
        }
    )
