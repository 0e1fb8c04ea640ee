"""Models of the paper's size on this machine: files of random weights in the shapes of Llama 3.2 1B and Llama 3.1 8B.

Weights are Q4_0 blocks drawn at random, the tokenizer that of smollm2 with as many more entries as the shape has. Each
file is opened, checked and asked as any other is, by llama.cpp; how fast a model of another size is follows from the
bytes that a token reads. Then llama.cpp alone answers in turn with it, round by round, each in a process of its own:
with its attention captured, a file answers at .95 of the speed without, at least.
"""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import gguf
import numpy as np

from analysis.evidence.record import Cell, Record
from benchmarks import engine_speed
from benchmarks.engine_speed import peak_of
from benchmarks.support.paired import Ratio, ratio
from benchmarks.support.processes import apart
from benchmarks.support.random_model import Shape
from benchmarks.support.recording import at_least, at_most, interval, measured, tell
from rauq import load_model, score
from rauq.checkpoints.memory import bytes_per_second
from rauq.checkpoints.named import file_of, find_named
from rauq.model.engines.llama_engine import cpu_threads

SHAPES = {
    "Llama 3.2 1B": Shape(hidden=2048, inner=8192, layers=16, heads=32, key_heads=8, vocabulary=128_256),
    "Llama 3.1 8B": Shape(hidden=4096, inner=14_336, layers=32, heads=32, key_heads=8, vocabulary=128_256),
}
OTHERS = {"3B": 2.0, "14B": 9.0}  # gigabytes of a Q4_K_M file
PROMPT, NEW_TOKENS = "Who wrote the novel The Master and Margarita?", 16
_IDS = tuple(range(1000, 1032))
ROUNDS, LEAST_OF_ALONE = 5, 0.95
MOST = 1.0  # seconds that a file which was opened before takes to load, beyond those of llama.cpp alone
_BLOCK, _BLOCK_BYTES = 32, 18  # weights and bytes of Q4_0
_SCALE = 0.004  # of a block: weights have a standard deviation of about .02
COLUMNS = (
    "shape",
    "GB in the file",
    "load s",
    "again s",
    "again, alone s",
    "first token s",
    "tokens/s",
    "peak GiB",
    "of one core's reading",
    "relative to alone",
    "low",
    "high",
)


class Found(NamedTuple):
    """Seconds to load for the first time and again and to the first token, tokens a second, and GiB at most.

    `alone`: seconds in which llama.cpp alone loads the file, when it has been read before.
    """

    load: float
    again: float
    alone: float
    first: float
    rate: float
    memory: float


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A shape: GB of its file, what it took, the share of one core's reading, and its speed relative to alone."""

    name: str
    gigabytes: float
    found: Found
    share: float
    of_alone: Ratio


def measure() -> Record:
    """Write and ask one file after the other."""
    return record_of(list(_shapes()))


def _shapes() -> Iterator[Measured]:
    reading = bytes_per_second()
    with TemporaryDirectory() as folder:
        for name, shape in SHAPES.items():
            file = Path(folder) / f"{name.replace(' ', '-').lower()}.gguf"
            tell(f"{name}: writing random weights")
            write(file, shape)
            tell(f"{name}: {file.stat().st_size / 1e9:.1f} GB, answering {NEW_TOKENS} tokens")
            first = apart(loaded, str(file))
            alone = apart(loaded_alone, str(file))
            found, gigabytes = apart(answered, str(file), first, alone), file.stat().st_size / 1e9
            of_alone = compared(str(file))
            file.unlink()
            share = found.rate * gigabytes * 1e9 / reading
            yield Measured(name=name, gigabytes=gigabytes, found=found, share=share, of_alone=of_alone)


def compared(file: str, *, rounds: int = ROUNDS) -> Ratio:
    """Tokens a second with attention, relative to llama.cpp alone, which has its turn in every round."""
    with ExitStack() as stack:
        ours, alone = (stack.enter_context(ProcessPoolExecutor(1, mp_context=get_context("spawn"))) for _ in range(2))
        pairs = []
        for turn in range(-1, rounds):  # the first round loads the file
            tell(f"round {turn + 1} of {rounds}")
            pair = ours.submit(_our_rate, file).result(), alone.submit(_rate_alone, file).result()
            pairs += [pair] if turn >= 0 else []
    return ratio(*zip(*pairs, strict=True))


@cache
def _ours(file: str) -> Any:  # noqa: ANN401 - a model
    return load_model(file, engine="llama.cpp", kind="instruct")


@cache
def _alone(file: str) -> Any:  # noqa: ANN401 - a context
    return engine_speed.alone(Path(file), cpu_threads())


def _our_rate(file: str) -> float:
    times = list[float]()
    _ours(file).generate(
        _IDS, max_new_tokens=NEW_TOKENS, stop=(), on_token=lambda *_: times.append(time.perf_counter())
    )
    return _rate(times)


def _rate_alone(file: str) -> float:
    return _rate(engine_speed.times_alone(_alone(file), list(_IDS), NEW_TOKENS))


def _rate(times: Sequence[float]) -> float:
    """Tokens a second after the first."""
    return (len(times) - 1) / (times[-1] - times[0])


def loaded(file: str) -> float:
    """Seconds to load a file in this process."""
    begin = time.perf_counter()
    load_model(file, engine="llama.cpp", kind="instruct")
    return time.perf_counter() - begin


def loaded_alone(file: str) -> float:
    """Seconds in which llama.cpp alone loads a file in this process."""
    begin = time.perf_counter()
    _alone(file)
    return time.perf_counter() - begin


def answered(file: str, first: float, alone: float) -> Found:
    """Load a file once more, in another process than `first`, and ask it."""
    begin = time.perf_counter()
    lm = load_model(file, engine="llama.cpp", kind="instruct")
    again, times = time.perf_counter(), list[float]()
    trace = lm.generate(
        PROMPT, max_new_tokens=NEW_TOKENS, stop=(), on_token=lambda *_: times.append(time.perf_counter())
    )
    assert np.isfinite(score(trace).uncertainty)  # noqa: S101 - what is timed is whole
    running: Any = lm.engine
    memory = peak_of(running._process.running.pid) / 1024  # noqa: SLF001 - the child computes
    return Found(first, again - begin, alone, times[0] - again, _rate(times), memory)


def write(path: Path, shape: Shape, *, seed: int = 0) -> None:
    """A GGUF file of this shape with random weights."""
    writer = gguf.GGUFWriter(path, "llama", use_temp_file=True)
    head = shape.hidden // shape.heads
    for key, value in {
        "context_length": 8192,
        "embedding_length": shape.hidden,
        "block_count": shape.layers,
        "feed_forward_length": shape.inner,
        "attention.head_count": shape.heads,
        "attention.head_count_kv": shape.key_heads,
        "rope.dimension_count": head,
    }.items():
        writer.add_uint32(f"llama.{key}", value)
    writer.add_float32("llama.attention.layer_norm_rms_epsilon", 1e-5)
    writer.add_float32("llama.rope.freq_base", 500_000.0)
    _add_tokenizer(writer, shape.vocabulary)
    rng = np.random.default_rng(seed)
    for name, sizes in _tensors(shape):
        if len(sizes) == 1:
            writer.add_tensor(name, np.ones(sizes, np.float32))
        else:
            writer.add_tensor(name, _blocks(rng, sizes), raw_dtype=gguf.GGMLQuantizationType.Q4_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _tensors(shape: Shape) -> Iterator[tuple[str, tuple[int, ...]]]:
    keys = shape.hidden // shape.heads * shape.key_heads
    yield "token_embd.weight", (shape.vocabulary, shape.hidden)
    yield "output.weight", (shape.vocabulary, shape.hidden)
    yield "output_norm.weight", (shape.hidden,)
    of_layer = {
        "attn_norm": (shape.hidden,),
        "ffn_norm": (shape.hidden,),
        "attn_q": (shape.hidden, shape.hidden),
        "attn_k": (keys, shape.hidden),
        "attn_v": (keys, shape.hidden),
        "attn_output": (shape.hidden, shape.hidden),
        "ffn_gate": (shape.inner, shape.hidden),
        "ffn_up": (shape.inner, shape.hidden),
        "ffn_down": (shape.hidden, shape.inner),
    }
    for layer in range(shape.layers):
        for name, sizes in of_layer.items():
            yield f"blk.{layer}.{name}.weight", sizes


def _blocks(rng: np.random.Generator, sizes: tuple[int, ...]) -> np.ndarray:
    """Bytes (rows, blocks of a row) of Q4_0: one scale and 32 numbers of four bits each."""
    rows, blocks = sizes[0], sizes[1] // _BLOCK
    drawn = rng.integers(256, size=(rows, blocks, _BLOCK_BYTES), dtype=np.uint8)
    drawn[:, :, :2] = np.frombuffer(np.float16(_SCALE).tobytes(), np.uint8)
    return drawn.reshape(rows, blocks * _BLOCK_BYTES)


def _add_tokenizer(writer: gguf.GGUFWriter, vocabulary: int) -> None:
    """The tokenizer of smollm2, with unused entries up to this number."""
    named: Any = find_named("smollm2")
    reader = gguf.GGUFReader(file_of(named))
    for key, field in reader.fields.items():
        if not key.startswith("tokenizer."):
            continue
        value: Any = field.contents()
        if key == "tokenizer.ggml.tokens":
            value = [*value, *(f"<|unused_{number}|>" for number in range(vocabulary - len(value)))]
        elif key == "tokenizer.ggml.token_type":
            value = [*value, *[5] * (vocabulary - len(value))]  # unused
        writer.add_key_value(key, value, field.types[0], field.types[-1] if len(field.types) > 1 else None)


def _row(one: Measured) -> tuple[Cell, ...]:
    numbers = one.gigabytes, *one.found, one.share
    return one.name, *(round(value, 2) for value in numbers), *(round(end, 3) for end in interval(one.of_alone))


def record_of(shapes: Sequence[Measured]) -> Record:
    """The table, with what other sizes would do if they read memory as fast as the largest here."""
    largest = shapes[-1]
    bytes_a_second = largest.found.rate * largest.gigabytes
    other = "; ".join(f"{name} ({size} GB): {bytes_a_second / size:.1f}" for name, size in OTHERS.items())
    return measured(
        "engine_shapes",
        title="Models of the paper's size",
        about=f"Files of random weights in Q4_0, opened, checked and asked by llama.cpp: {NEW_TOKENS} tokens with "
        "their attention; the share of the speed at which one core reads main memory; and tokens a second relative to "
        f"llama.cpp alone, with flash attention off, medians of {ROUNDS} rounds in turn.",
        columns=COLUMNS,
        rows=list(map(_row, shapes)),
        bounds=[
            *(
                at_least(f"{one.name}: tokens/s relative to llama.cpp alone", one.of_alone, LEAST_OF_ALONE)
                for one in shapes
            ),
            *(
                at_most(
                    f"{one.name}: seconds to load again, beyond llama.cpp's", one.found.again - one.found.alone, MOST
                )
                for one in shapes
            ),
        ],
        notes=(f"From the largest, by the bytes that a token reads, not measured: tokens/s of {other}.",),
        finding=f"A file in the shape of {largest.name} ({largest.gigabytes:.2f} GB) answers at "
        f"{largest.found.rate:.2f} tokens/s with its attention captured, {largest.of_alone.median:.2f} of the speed "
        f"without, in {largest.found.memory:.2f} GiB.",
        packages=("torch", "transformers", "xllamacpp", "numpy"),
    )
