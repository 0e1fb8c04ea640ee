"""One model in llama.cpp with one context: tokens go in, logits and bands of attention come out."""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rauq.errors import InvalidInput, ModelNotFound, OutOfMemory, Stopped, UnsupportedModel
from rauq.llama_cpp.library import AbortCallback, Batch, Library, NodeCallback, Struct, other_layout
from rauq.llama_cpp.recording import Parts, Recorder, Tokens, stacked
from rauq.llama_cpp.tensors import FLOAT16, FLOAT32

MOST_SEQUENCES = 64
FLASH_AUTO, FLASH_OFF = -1, 0
_CELLS = 256  # the cache grows by so many at least
_ROWS = 64  # rows captured at a time: (heads, rows, cells) is the largest tensor that is read
PROMPT = 512  # tokens run at a time where nothing is captured; what is cancelled of them leaves nothing in the cache
_ABORTED, _NO_ROOM = 2, 1
CANCELLED = "Stopped before the first token."


class Fed(NamedTuple):
    """What tokens gave: logits (R, V) of R rows in order, the layers with attention, their bands (L, H, R, K).

    `shares` (L, H, R, G) are the sums of the rows, empty where no parts were set.
    """

    logits: np.ndarray
    layers: tuple[int, ...]
    band: np.ndarray
    shares: np.ndarray


@dataclass(eq=False)
class Context:
    """A model, and the cache of its sequences. Weights are on the CPU alone; flash attention is off.

    `is_cancelled` is asked between the nodes of a prompt. `full_window` gives layers with a sliding window as much room
    as the others, which several sequences share; `half_cache` holds keys and values in float16.
    """

    library: Library
    model: int
    threads: int
    is_cancelled: Callable[[], bool]
    full_window: bool = True
    half_cache: bool = True
    recorder: Recorder = field(init=False)
    handle: int | None = None
    num_cells: int = 0
    _on_node: Any = None
    _on_abort: Any = None

    def begin(self, cells: int, *, offsets: int) -> None:
        """Empty the cache, make room for so many tokens of all sequences together, and capture so many keys back.

        Nothing of the prompts before is kept: products with quantised weights depend on how many tokens are run at
        once, so an answer would depend on them.

        Raises:
            OutOfMemory: there is no room.
        """
        if self.handle is not None and cells <= self.num_cells:
            self.library.call["llama_memory_clear"](self.library.call["llama_get_memory"](self.handle), False)  # noqa: FBT003 - C
            self.recorder.clear()
            self.recorder.offsets, self.recorder.parts = offsets, None
            return
        self.close()
        self._on_abort = None
        self.num_cells = -(-cells // _CELLS) * _CELLS
        self.recorder = Recorder(self.library, MOST_SEQUENCES, self.num_cells, offsets)
        call = self.library.call
        self.handle = call["llama_init_from_model"](self.model, self.parameters())
        if not self.handle:
            message = f"llama.cpp has no memory for {self.num_cells:,} tokens. Shorten the prompt or the answer."
            raise OutOfMemory(message)
        if call["llama_n_ctx_seq"](self.handle) != call["llama_n_ctx"](self.handle):
            raise other_layout(self.library.path, "llama_context_params.kv_unified is not where it was")

    def close(self) -> None:
        """Free the context, if there is one."""
        if self.handle is not None:
            self.library.call["llama_free"](self.handle)
            self.handle = None

    def copy(self, source: int, target: int, length: int) -> None:
        """Let another sequence, which holds nothing, begin as this one does."""
        memory = self.library.call["llama_get_memory"](self.handle)
        self.library.call["llama_memory_seq_cp"](memory, source, target, 0, length)
        self.recorder.copy(source, target, length)

    def copy_whole(self, source: int, target: int, length: int) -> bool:
        """Copy, unless the first keys of a sequence are gone: false then, and nothing is copied.

        Where a sliding window no longer reaches a key, the cache of its layers may use the cell again.
        """
        memory = self.library.call["llama_get_memory"](self.handle)
        is_whole: bool = self.library.call["llama_memory_seq_pos_min"](memory, source) == 0
        if is_whole:
            self.copy(source, target, length)
        return is_whole

    def remove(self, sequence: int) -> None:
        """Free the cells of a sequence, which begins at its first position if it is used again."""
        memory = self.library.call["llama_get_memory"](self.handle)
        self.library.call["llama_memory_seq_rm"](memory, sequence, -1, -1)

    def set_parts(self, columns: np.ndarray, *, number: int) -> None:
        """From now on, sum every row by these columns (S, T) of the positions of the first sequences, to so many sums.

        Later positions belong to the column of the last one that is given.
        """
        last = np.pad(columns, [(0, MOST_SEQUENCES - len(columns)), (0, 0)])
        wide = np.pad(last, [(0, 0), (0, max(0, self.num_cells - columns.shape[1]))], mode="edge")
        self.recorder.parts = Parts(wide, number)

    def feed(self, tokens: Tokens) -> Fed:
        """Run tokens.

        Tokens of a sequence come in order; rows are captured in small parts.

        Raises:
            Stopped: cancelled.
            OutOfMemory: the cache has no room.
        """
        logits, bands, shares = list[np.ndarray](), list[np.ndarray](), list[np.ndarray]()
        layers: tuple[int, ...] = ()
        for part in _parts(tokens, most=min(PROMPT, self.num_cells)):
            self._decode(part)
            if part.rows.any():
                logits.append(self._logits(part.rows.nonzero()[0]))
                layers = tuple(sorted(self.recorder.band))
                bands.append(stacked(self.recorder.band))
                shares.append(stacked(self.recorder.shares))
        if not logits:
            no_band = np.empty((0, 0, 0, self.recorder.offsets), np.float32)
            return Fed(np.empty((0, self.vocab_size), np.float32), (), no_band, np.empty((0, 0, 0, 0), np.float32))
        return Fed(np.concatenate(logits), layers, np.concatenate(bands, axis=2), np.concatenate(shares, axis=2))

    @property
    def vocab_size(self) -> int:
        """The number of tokens."""
        call = self.library.call
        return int(call["llama_vocab_n_tokens"](call["llama_model_get_vocab"](self.model)))

    def tokenize(self, text: str) -> list[int]:
        """The ids that llama.cpp's own tokenizer gives; marks of the chat are read as such."""
        call, raw = self.library.call, text.encode()
        found = (ctypes.c_int32 * (len(raw) + 16))()
        vocabulary = call["llama_model_get_vocab"](self.model)
        count = call["llama_tokenize"](vocabulary, raw, len(raw), found, len(found), False, True)  # noqa: FBT003 - C
        return list(found[:count])

    def parameters(self) -> Struct:
        """What the context is made with."""
        self._on_node = NodeCallback(self.recorder.callback())  # which has to live as long as the context
        return self.library.context_parameters(
            n_ctx=self.num_cells,
            n_batch=PROMPT,
            n_ubatch=PROMPT,
            n_seq_max=MOST_SEQUENCES,
            n_threads=self.threads,
            n_threads_batch=self.threads,
            flash_attn_type=FLASH_OFF,
            type_k=FLOAT16 if self.half_cache else FLOAT32,
            type_v=FLOAT16 if self.half_cache else FLOAT32,
            cb_eval=ctypes.cast(self._on_node, ctypes.c_void_p).value,
            offload_kqv=False,
            op_offload=False,
            swa_full=self.full_window,
            kv_unified=True,
        )

    def _decode(self, part: Tokens) -> None:
        self._listen(to_cancel=not part.rows.any())
        self.recorder.begin(part)
        status = self.library.call["llama_decode"](self.handle, _batch(part))
        self.recorder.end()
        if status == _ABORTED:
            raise Stopped(CANCELLED)
        if status == _NO_ROOM:
            message = f"The cache of {self.num_cells:,} tokens is full. Shorten the prompt or the answer."
            raise OutOfMemory(message)
        if status:
            message = f"llama.cpp could not run these tokens (llama_decode returned {status})."
            raise UnsupportedModel(message)

    def _listen(self, *, to_cancel: bool) -> None:
        """Ask between all nodes whether to go on, or not at all: asking takes as long as recording does."""
        if (self._on_abort is not None) != to_cancel:
            self._on_abort = AbortCallback(lambda _data: self.is_cancelled()) if to_cancel else None
            self.library.call["llama_set_abort_callback"](self.handle, self._on_abort or AbortCallback(), None)

    def _logits(self, rows: np.ndarray) -> np.ndarray:
        get, size = self.library.call["llama_get_logits_ith"], self.vocab_size
        return np.stack([np.ctypeslib.as_array(get(self.handle, int(row)), (size,)) for row in rows])


def open_model(library: Library, path: Path) -> int:
    """Load a file's weights, and return llama.cpp's handle.

    Raises:
        ModelNotFound: the file cannot be loaded.
        UnsupportedModel: it has layers of another kind than attention.
    """
    call = library.call
    model: int | None = call["llama_model_load_from_file"](str(path).encode(), library.model_parameters(n_gpu_layers=0))
    if not model:
        message = (
            f"llama.cpp cannot load {path}: it may be damaged, or of an architecture that this version lacks. "
            f"llama.cpp says: {' '.join(library.errors) or 'nothing'}"
        )
        raise ModelNotFound(message)
    if call["llama_model_is_recurrent"](model) or call["llama_model_is_hybrid"](model):
        message = f"{path} has layers without attention, which cannot be captured from llama.cpp. Use transformers."
        raise UnsupportedModel(message)
    return model


def tokens_of(ids: ArrayLike, positions: ArrayLike, sequences: ArrayLike, rows: ArrayLike) -> Tokens:
    """Tokens of equally long lists.

    Raises:
        InvalidInput: their lengths differ.
    """
    found = Tokens(
        np.asarray(ids, np.int32),
        np.asarray(positions, np.int32),
        np.asarray(sequences, np.int32),
        np.asarray(rows, bool),
    )
    if len({len(part) for part in (found.ids, found.positions, found.sequences, found.rows)}) != 1:
        message = f"Got lists of different lengths for {len(found.ids)} tokens."
        raise InvalidInput(message)
    return found


def _parts(tokens: Tokens, *, most: int) -> list[Tokens]:
    """Runs of tokens that are all rows, or none of them, each small enough for one graph."""
    borders = np.flatnonzero(np.diff(tokens.rows)) + 1
    found = []
    for run in np.split(np.arange(len(tokens.ids)), borders):
        size = _ROWS if len(run) and tokens.rows[run[0]] else most
        found += [_some(tokens, run[start : start + size]) for start in range(0, len(run), size)]
    return found


def _some(tokens: Tokens, which: np.ndarray) -> Tokens:
    return Tokens(tokens.ids[which], tokens.positions[which], tokens.sequences[which], tokens.rows[which])


def _batch(tokens: Tokens) -> Batch:
    """The tokens as `llama_batch`, with arrays that live as long as it does."""
    number = len(tokens.ids)
    own = [(ctypes.c_int32 * 1)(int(sequence)) for sequence in tokens.sequences]
    pointers = (ctypes.POINTER(ctypes.c_int32) * number)(
        *(ctypes.cast(one, ctypes.POINTER(ctypes.c_int32)) for one in own)
    )
    batch = Batch(
        number,
        (ctypes.c_int32 * number)(*tokens.ids.tolist()),
        None,
        (ctypes.c_int32 * number)(*tokens.positions.tolist()),
        (ctypes.c_int32 * number)(*[1] * number),
        pointers,
        (ctypes.c_int8 * number)(*tokens.rows.tolist()),
    )
    batch.kept_alive = own
    return batch
