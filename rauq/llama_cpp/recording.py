"""What is read of each graph while llama.cpp computes it: attention weights, and which cell of the cache holds a key.

Columns of the softmax are cells of the cache and not positions. Each layer writes its keys to cells that its SET_ROWS
node names, so the cell of every position is known, whatever was removed, copied or overwritten before.
"""

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from rauq.llama_cpp.library import Library
from rauq.llama_cpp.tensors import OPERATION, SOURCES, Tensor, array, at, layer_of

KEYS = b"cache_k_l"
WEIGHTS = b"kq_soft_max"  # a mixture of experts has other softmaxes
_KEY_INDICES = SOURCES + ctypes.sizeof(ctypes.c_void_p)  # the second source of SET_ROWS


@dataclass(frozen=True, eq=False)
class Tokens:
    """What one decoding step runs: ids, positions and sequences (n,), and which of them are rows to capture (n,)."""

    ids: np.ndarray
    positions: np.ndarray
    sequences: np.ndarray
    rows: np.ndarray


class Parts(NamedTuple):
    """How rows of attention are summed: the column of each position of each sequence (S, T), and how many there are."""

    columns: np.ndarray
    number: int


def columns(places: np.ndarray, tokens: Tokens, offsets: int) -> np.ndarray:
    """Cells (n, K) of the K nearest positions of each row, from `places` (S, T); any cell before the sequence.

    The cache of a sliding window uses cells again, but not those of the last `MOST_BANDS` tokens: beside the window, it
    has room for one part of a prompt.
    """
    rows = tokens.rows
    positions = tokens.positions[rows, None] - np.arange(offsets)
    cells: np.ndarray = places[tokens.sequences[rows, None], positions.clip(min=0)]
    return cells


@dataclass(eq=False)
class Recorder:
    """The callback of one context; `band` has the weights (H, n, K) of each layer after a step with rows.

    Where `parts` are given, `shares` has the sums (H, n, G) of each row as well, by column of these.
    `kinds` are the caches in the order in which a graph writes to them, since layers with a sliding window have one of
    their own: for each the cells (S, T) of the positions of all sequences, -1 where there is none. An error in the
    callback cannot pass through llama.cpp: it is kept, and raised after the step.
    """

    library: Library
    num_sequences: int
    num_cells: int
    offsets: int
    kinds: list[np.ndarray] = field(default_factory=list)
    band: dict[int, np.ndarray] = field(default_factory=dict)
    parts: Parts | None = None
    shares: dict[int, np.ndarray] = field(default_factory=dict)
    error: Exception | None = None
    tokens: Tokens | None = None
    _watch: Callable[[Tensor], None] | None = None
    _watched: frozenset[int] = frozenset()
    _seen: dict[int, int] = field(default_factory=dict)
    _current: int = 0
    _has_rows: bool = False
    _rows: np.ndarray = field(default_factory=lambda: np.empty((0, 1), np.intp))
    _before: np.ndarray | None = None
    _columns: dict[int, np.ndarray] = field(default_factory=dict)
    _sides: dict[int, list[tuple[np.ndarray, np.ndarray]]] = field(default_factory=dict)

    def begin(self, tokens: Tokens) -> None:
        """The next step runs these tokens."""
        self.tokens, self.band, self.shares, self.error = tokens, {}, {}, None
        self._seen, self._columns, self._sides = {}, {}, {}
        self._rows = tokens.rows.nonzero()[0][:, None]
        self._has_rows = len(self._rows) > 0
        before = tokens.positions[self._rows] < np.arange(self.offsets)  # no key is so far back
        self._before = before if before.any() else None

    def watch(self, note: Callable[[Tensor], None] | None, operations: set[int]) -> None:
        """From now on, show all nodes of these operations to a function as well."""
        self._watch, self._watched = note, frozenset(operations)

    def current_columns(self) -> np.ndarray:
        """Of the cache of the layer that is computed: see `columns`."""
        assert self.tokens is not None  # noqa: S101 - a step runs
        if self._current not in self._columns:
            self._columns[self._current] = columns(self.kinds[self._current], self.tokens, self.offsets)
        return self._columns[self._current]

    def end(self) -> None:
        """Raise what went wrong in the callback.

        Raises:
            Exception: as it was raised there.
        """
        if self.error is not None:
            raise self.error

    def callback(self) -> Callable[[int, bool, object], bool]:
        """The function that llama.cpp calls for every node of a graph: first whether it is wanted, then with it.

        It is called about a thousand times a token, so nothing is looked up that can be bound here.
        """
        softmax, write = self.library.operations["SOFT_MAX"], self.library.operations["SET_ROWS"]
        number_at = ctypes.c_int.from_address

        def wanted(address: int) -> bool:
            operation = number_at(address + OPERATION).value
            if operation == write:
                self._note_cells(address)
            is_weights = operation == softmax and self._has_rows and at(address).name.startswith(WEIGHTS)
            return is_weights or operation in self._watched

        def on_node(address: int, ask: bool, _data: object) -> bool:  # noqa: FBT001 - llama.cpp calls it by position
            try:
                if ask:
                    return wanted(address)
                self._note(at(address), softmax)
            except Exception as error:  # noqa: BLE001 - it must not unwind through C
                self.error = self.error or error
                return False
            return True

        return on_node

    def clear(self) -> None:
        """The cache is empty."""
        for kind in self.kinds:
            kind[:] = -1

    def copy(self, source_: int, target: int, length: int) -> None:
        """Another sequence shares the first positions of one."""
        for kind in self.kinds:
            kind[target, :length] = kind[source_, :length]
            kind[target, length:] = -1
        if self.parts is not None:
            self.parts.columns[target] = self.parts.columns[source_]

    def _note_cells(self, address: int) -> None:
        pointer = ctypes.c_void_p.from_address(address + _KEY_INDICES).value or 0
        if pointer in self._seen:
            self._current = self._seen[pointer]
            return
        node, indices, tokens = at(address), at(pointer), self.tokens
        if tokens is None or not node.name.startswith(KEYS) or indices.ne[0] != len(tokens.ids):
            return
        number = len([kind for kind in self._seen.values() if kind >= 0])
        self._seen[pointer], self._current = number, number
        if number == len(self.kinds):
            self.kinds.append(np.full((self.num_sequences, self.num_cells), -1, np.int32))
        self.kinds[number][tokens.sequences, tokens.positions] = array(indices).reshape(-1)

    def _note(self, node: Tensor, softmax: int) -> None:
        if node.op == softmax and self._has_rows and node.name.startswith(WEIGHTS):
            self._note_weights(node)
        if self._watch is not None:
            self._watch(node)

    def _note_weights(self, node: Tensor) -> None:
        weights, layer = array(node)[0], layer_of(node)  # (H, n, T)
        band = weights[:, self._rows, self.current_columns()]
        if self._before is not None:
            band[:, self._before] = np.nan
        self.band[layer] = band
        if self.parts is not None:
            self.shares[layer] = self._summed(weights, self.parts)

    def _summed(self, weights: np.ndarray, parts: Parts) -> np.ndarray:
        """Sums (H, n, G) of the rows among the weights (H, n, T) of a layer; cells that hold no key weigh 0."""
        rows = self._rows[:, 0]
        sums = np.empty((len(weights), len(rows), parts.number), np.float32)
        for which, sides in self._current_sides(weights.shape[-1], parts):
            sums[:, which] = weights[:, rows[which]] @ sides
        return sums

    def _current_sides(self, num_cells: int, parts: Parts) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each sequence its rows (r,), and which cells are in which column (T, G), of the layer's cache."""
        assert self.tokens is not None  # noqa: S101 - a step runs
        if self._current not in self._sides:
            rows = self._rows[:, 0]
            sequences, positions = self.tokens.sequences[rows], self.tokens.positions[rows]
            self._sides[self._current] = [
                (which, self._sides_of(int(sequence), int(positions[which].max()) + 1, num_cells, parts))
                for sequence in np.unique(sequences)
                for which in [np.flatnonzero(sequences == sequence)]
            ]
        return self._sides[self._current]

    def _sides_of(self, sequence: int, length: int, num_cells: int, parts: Parts) -> np.ndarray:
        cells, columns = self.kinds[self._current][sequence, :length], parts.columns[sequence, :length]
        sides = np.zeros((num_cells, parts.number), np.float32)
        owners = np.full(num_cells, -1)
        owners[cells] = columns  # a cell that a window uses again belongs to its last position
        held = np.flatnonzero(owners >= 0)
        sides[held, owners[held]] = 1
        return sides


def stacked(by_layer: Mapping[int, np.ndarray]) -> np.ndarray:
    """The bands (L, H, n, K) or sums (L, H, n, G) of all layers in order."""
    layers = [by_layer[layer] for layer in sorted(by_layer)]
    return np.stack(layers) if layers else np.empty((0, 0, 0, 0), np.float32)
