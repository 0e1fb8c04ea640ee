"""A shard of a run: a table of answers, and beside it their attention in half precision.

`answers-00000.parquet` has a row for each example of the shard, failed ones too; `answer` is the text that was judged,
without thinking; `thinking_start` and `thinking_stop` are the first token of the thinking and the first one after it,
both 0 where there is none; `values` and `reasons` are its uncertainties, in the order of the run's methods, and why one
is nan. `traces-00000.safetensors` has arrays over the n answered ones:

- `bands`, flat: for each answer in turn (K, L', H, N + 1), the weights 0 to K - 1 keys back, of the stored layers, K
  being the run's `offsets`, 2 unless it was asked for more;
- `means` (2, 6, n, L, H): by alignment and offset, the mean over the answer part, of all layers that have attention;
- `picks` (2, n, L): by alignment, the head that scoring picks in each layer, from weights in full precision, -1 where
  an answer has no two tokens; runs written before these were stored have none;
- `fact_means` (2, 6, f, L, H), `fact_counts` (6, n): the same over the tokens that carry the fact, and how many; of
  the f answers that have such a token after their first one, or, in runs written before, of all n;
- `logprobs` and `entropies`, flat, float32, in nats.

`extras-00000.safetensors` is there where the run keeps extras of its traces. For each, `NAME` is flat, the arrays of
the n answers in turn, `NAME.shapes` (n, d) says their shapes, and `NAME.exponents` (n,) by which power of two each is
to be multiplied: half precision ends at 65,504, which hidden states of real models exceed. An exponent is 0 where
values stay below that. Values are rounded to 11 bits, those below 6e-5 (times the power) to multiples of 6e-8, so
ranks above 2,048 are not exact. Extras by layer are those of the stored layers.

`methods-ID.parquet` holds a method that was computed later (`analysis.runs.answering`): a row for each example of
the whole run, with the checksum of the answer that the uncertainty is of.

The metadata of a table's schema have a `machine` where the shard was answered on another one than the manifest says.

All files of a shard are written under another name and renamed, the table last: a shard that has its table is whole.
Each file of arrays keeps a checksum of its own, and that of the table.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from safetensors import SafetensorError, safe_open

from analysis.runs.files.arrays import (
    ALIGNMENTS,
    OFFSETS,
    arrays_of,
    check_arrays,
    check_bytes,
    check_extras,
    extras_of,
    with_checksums,
)
from analysis.runs.files.tables import LIGHT, Answered, Failed, answered_in, check_rows, read_columns, table_bytes
from analysis.runs.manifest import (
    FEWEST_OFFSETS,
    Answerer,
    Machine,
    Manifest,
    StoredLayers,
    answers_path,
    extras_path,
    traces_path,
    write_files,
)
from rauq.errors import RunError
from rauq.scoring.settings import Settings, window
from rauq.trace.extras import BY_LAYER
from rauq.trace.file import LENS_TOKENS
from rauq.trace.prompt_parts import FIXED

_HERE = Path()


def write_shard(
    folder: Path,
    shard: int,
    outcomes: Sequence[Answered | Failed],
    *,
    stored: tuple[int, ...],
    offsets: int = FEWEST_OFFSETS,
    keep: tuple[str, ...] = (),
) -> None:
    """Write the files of a shard; the arguments are those of `shard_files`.

    Raises:
        RunError: they cannot be written.
    """
    write_files(folder, shard_files(shard, outcomes, stored=stored, offsets=offsets, keep=keep))


def shard_files(
    shard: int,
    outcomes: Sequence[Answered | Failed],
    *,
    stored: tuple[int, ...],
    offsets: int = FEWEST_OFFSETS,
    keep: tuple[str, ...] = (),
    machine: Machine | None = None,
) -> Iterator[tuple[str, bytes]]:
    """The name and the content of each file of a shard, in the order in which they are written.

    `stored` are the layers whose weights are kept token by token, `offsets` keys back. `keep` are the extras that are
    kept; the traces must have them. `machine`: noted in the table if it is not that of the manifest.
    """
    answered = [outcome for outcome in outcomes if isinstance(outcome, Answered)]
    table = table_bytes(outcomes, machine)
    if keep:
        yield extras_path(_HERE, shard).name, with_checksums(extras_of(answered, keep, stored), table)
    yield traces_path(_HERE, shard).name, with_checksums(arrays_of(answered, stored, offsets), table)
    yield answers_path(_HERE, shard).name, table


UNREADABLE = (OSError, pa.ArrowException, SafetensorError, ValueError, KeyError)


def read_table(folder: Path, manifest: Manifest, answerer: Answerer, shard: int, *, whole: bool = True) -> pa.Table:
    """Read the table of a shard, and see whether its arrays are there, are what was written, and belong to it.

    Unless it is to be `whole`, its arrays are not compared with their checksum; the table always is.

    Raises:
        RunError: one of the files is missing, broken or of other examples.
    """
    path, numbers = answers_path(folder, shard), manifest.numbers(shard)
    if not path.exists():
        message = f"The answers {numbers.start} to {numbers.stop - 1} are missing: resume the run to compute them."
        raise RunError(message)
    try:
        written, traces = path.read_bytes(), traces_path(folder, shard)
        table = read_columns(pa.BufferReader(written), LIGHT)
        check_rows(table, numbers, manifest.request.methods)
        lengths = answered_in(table)["num_tokens"].to_numpy().astype(np.int64)
        with safe_open(traces, framework="np") as arrays:
            check_bytes(traces, arrays.metadata(), written, whole=whole)
            check_arrays(arrays, lengths, manifest, answerer)
        if manifest.request.keep:
            extras = extras_path(folder, shard)
            with safe_open(extras, framework="np") as arrays:
                check_bytes(extras, arrays.metadata(), written, whole=whole)
                check_extras(arrays, manifest.request.keep if len(lengths) else (), len(lengths))
    except UNREADABLE as error:
        message = (
            f"Shard {shard} of {folder.name} is broken ({error}): the answers {numbers.start} to {numbers.stop - 1} "
            "are left out. Resume the run to answer them again."
        )
        raise RunError(message) from error
    return table


_HALF, _SINGLE = 2, 4  # bytes of a number
_TABLE = 160  # bytes a token, packed: its text, ids and alternatives; measured on the embedded model


def bytes_per_answer(
    num_tokens: int,
    *,
    num_layers: int,
    num_heads: int,
    stored_layers: StoredLayers,
    offsets: int = FEWEST_OFFSETS,
    keep: Sequence[str] = (),
    hidden_size: int = 0,
    prompt_tokens: int = 0,
) -> int:
    """About how many bytes an answer takes on disk, if all layers have attention and some token carries a fact.

    `hidden_size` and `prompt_tokens` matter for extras alone that depend on them.
    """
    stored = window(Settings(layers=stored_layers), captured=tuple(range(num_layers)), num_layers=num_layers)
    bands = offsets * len(stored) * num_heads * (num_tokens + 1) * _HALF
    shapes = {
        "max_attention": (num_tokens, num_tokens),
        "diagonal": (num_heads, prompt_tokens + num_tokens),
        "hidden": (hidden_size,),
        "hidden_mean": (hidden_size,),
        "hidden_layers": (num_layers + 1, num_tokens, hidden_size),
        "logit_lens": (num_layers, num_tokens, 1 + 2 * LENS_TOKENS),
        "focus": (num_tokens, 2),
        "mean_logprob": (num_tokens,),
        **dict.fromkeys(BY_LAYER, (len(stored), num_heads, num_tokens, 2)),
        "part_shares": (len(stored), num_heads, num_tokens, len(FIXED)),  # the prompts of a run have no parts
    }
    extras = sum(math.prod(shapes[name]) for name in keep if name in shapes) * _HALF
    means = 2 * len(ALIGNMENTS) * len(OFFSETS) * num_layers * num_heads * _HALF  # of all tokens, and of the fact's
    picks = len(ALIGNMENTS) * num_layers * _HALF
    return bands + extras + means + picks + num_tokens * (2 * _SINGLE + _TABLE)
