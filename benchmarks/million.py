"""A run of a million answers of smollm2's shape: how long it takes to list, to open, to rank and to look into.

The run is made of the bundled one: its answers are repeated, in shards of the usual size, each with its own numbers and
with a little seeded noise on its uncertainties. Every file has a name of its own; files of attention with the same
content are hard links, so that the run takes a tenth of its size on the disk.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors.numpy import load_file, save_file

from analysis.runs.create import EXAMPLES, ROWS
from analysis.runs.library import bundled_folder
from analysis.runs.manifest import Manifest, write_manifest
from analysis.runs.opened import Run, open_run
from analysis.runs.shard import Answered, answers_path, traces_path, write_shard
from analysis.runs.traces import facts_in, traces_of
from rauq.methods.method import Uncertainty
from rauq.trace.trace import Trace

ANSWERS, SHARD = 1_000_000, 32
_PLAIN = ("number", "values")  # columns that are not packed, so that they can be changed in place
_NOISE = 1e-3  # on each uncertainty: ties would make ranking faster than it is


def write_run(folder: Path, *, answers: int = ANSWERS) -> None:
    """Write a run of so many answers, a multiple of 32, as a finished job would have left it."""
    source = open_run(bundled_folder())
    manifest = _begun(folder, source, answers)
    templates = _templates(folder, source)
    for shard in range(manifest.num_shards):
        kind = shard % len(templates)
        answers_path(folder, shard).write_bytes(templates[kind].renumbered(manifest.numbers(shard)))
        if shard >= len(templates):
            os.link(traces_path(folder, kind), traces_path(folder, shard))


@dataclass(frozen=True, eq=False)
class _Template:
    """A shard's table as it is stored, with the places of its numbers and its uncertainties, which are not packed."""

    content: bytes
    numbers: np.ndarray
    values: np.ndarray

    def renumbered(self, numbers: range) -> bytes:
        """The same rows as those of other examples, with noise on their uncertainties."""
        noise = np.random.default_rng(numbers.start).normal(scale=_NOISE, size=self.values.shape)
        others = np.array(numbers, np.int32).tobytes(), (self.values + noise).tobytes()
        written = bytearray(self.content)
        for own, other in zip((self.numbers.tobytes(), self.values.tobytes()), others, strict=True):
            place = self.content.index(own)
            written[place : place + len(own)] = other
        return bytes(written)


def _begun(folder: Path, source: Run, answers: int) -> Manifest:
    """The manifest and the examples of the run: those of the source, again and again, with ids of their own."""
    request = replace(source.manifest.request, data="facts-repeated", count=answers, shard_size=SHARD)
    manifest = replace(source.manifest, name=folder.name, request=request, added_methods=())
    examples = pq.read_table(source.folder / EXAMPLES).take(np.arange(answers) % _usable(source))
    ids = pa.array([f"example-{number}" for number in range(answers)])
    examples = examples.set_column(examples.schema.get_field_index("id"), "id", ids)
    folder.mkdir(parents=True)
    pq.write_table(examples, folder / EXAMPLES, compression="zstd", row_group_size=ROWS, write_page_checksum=True)
    write_manifest(folder, manifest)
    return manifest


def _usable(source: Run) -> int:
    """How many answers of the source fill whole shards."""
    return len(source.answers) // SHARD * SHARD


def _templates(folder: Path, source: Run) -> list[_Template]:
    """Write one shard for each 32 answers of the source: their tables, and arrays without the checksum of one."""
    return [_template(folder, shard, outcomes, source) for shard, outcomes in enumerate(_outcomes(source))]


def _template(folder: Path, shard: int, outcomes: Sequence[Answered], source: Run) -> _Template:
    write_shard(folder, shard, outcomes, stored=source.stored_layers)
    save_file(load_file(traces_path(folder, shard)), traces_path(folder, shard))
    stored, written = pq.ParquetFile(answers_path(folder, shard)), pa.BufferOutputStream()
    table, paths = stored.read(), [stored.schema.column(place).path for place in range(len(stored.schema))]
    packed = {path: "none" if path.startswith(_PLAIN) else "zstd" for path in paths}
    pq.write_table(table, written, compression=packed, use_dictionary=False, write_statistics=False)
    values = table["values"].combine_chunks().flatten().to_numpy()
    return _Template(written.getvalue().to_pybytes(), table["number"].to_numpy(), values)


def _outcomes(source: Run) -> Sequence[Sequence[Answered]]:
    """The answers of the source, 32 at a time."""
    facts = (fact for shard in source.shards for fact in facts_in(source, shard))
    methods = source.manifest.request.methods
    rows = (
        Answered(
            number=row,
            trace=_of_all_layers(trace),
            fact=fact,
            quality=float(source.answers["quality"].iloc[row]),
            quality_reason=source.answers["quality_reason"].iloc[row],
            uncertainties=tuple(
                Uncertainty(source.answers[one].iloc[row], source.reasons[one].iloc[row]) for one in methods
            ),
        )
        for row, (trace, fact) in enumerate(zip(traces_of(source), facts, strict=True))
    )
    return [list(islice(rows, SHARD)) for _ in range(_usable(source) // SHARD)]


def _of_all_layers(trace: Trace) -> Trace:
    """A trace with weights of every layer: those that the run does not store are like one that it does."""
    places = [trace.layers.index(layer) if layer in trace.layers else 0 for layer in range(trace.num_layers)]
    return replace(trace, layers=tuple(range(trace.num_layers)), attention=trace.attention[places])
