"""A run from elsewhere, looked through to the last number before it is used."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from analysis.answer_sets.picking import NO_HEAD
from analysis.runs.arrays import TokenChoice, means, picks
from analysis.runs.examples import EXAMPLES, check_examples, read_examples
from analysis.runs.files import TIMINGS
from analysis.runs.manifest import LONGEST_REASON, read_manifest
from analysis.runs.opened import UNREADABLE, Run, Shard, open_run
from analysis.runs.shard import ALIGNMENTS, OFFSETS, answers_path
from analysis.runs.timings import LARGEST_TIMINGS
from analysis.runs.traces import facts_in, traces_in
from rauq.errors import RunError
from rauq.parts import answer_text
from rauq.trace import Trace
from rauq.trace_limits import faults

LARGEST_TABLE = 2**30  # bytes of one table, unpacked

_ROUNDING = 1e-2  # half precision may overstep a bound by this much
_CHOICES: tuple[TokenChoice, ...] = ("all", "fact")


def validate(folder: Path) -> None:
    """See that a run holds what runs hold: every file whole, and no number that no model puts out.

    Shards may be missing, as they are before a run is finished.

    Raises:
        RunError: the first thing that is wrong.
    """
    manifest = read_manifest(folder)
    shards = [number for number in range(manifest.num_shards) if answers_path(folder, number).exists()]
    if (folder / TIMINGS).exists() and (folder / TIMINGS).stat().st_size > LARGEST_TIMINGS:
        _refuse(iter([f"{TIMINGS} has more than {LARGEST_TIMINGS:,} bytes"]))
    sizes = {folder / EXAMPLES: manifest.request.count}
    sizes |= {answers_path(folder, number): len(manifest.numbers(number)) for number in shards}
    _refuse(fault for path, num_rows in sizes.items() for fault in _size_faults(path, num_rows))
    check_examples(folder, manifest, read_examples(folder))
    if manifest.answerer is not None:
        run = open_run(folder)
        whole = {shard.number for shard in run.shards}
        _refuse(f"shard {number} is broken" for number in shards if number not in whole)
        _refuse(fault for shard in run.shards for fault in _shard_faults(run, shard))
        _refuse(_uncertainty_faults(run))
        _refuse(_mean_faults(run))
        _refuse(_pick_faults(run))


def _refuse(faults_found: Iterator[str]) -> None:
    if fault := next(faults_found, None):
        message = f"This run is damaged: {fault}. Export it again from where it is whole."
        raise RunError(message)


def _size_faults(path: Path, num_rows: int) -> Iterator[str]:
    """A small table may unpack to a large one: it tells its size before it is read."""
    try:
        found = pq.read_metadata(path)
        unpacked = sum(found.row_group(group).total_byte_size for group in range(found.num_row_groups))
    except UNREADABLE as error:
        yield f"{path.name} cannot be read ({error})"
        return
    if found.num_rows != num_rows or unpacked > LARGEST_TABLE:
        yield f"{path.name} has {found.num_rows:,} rows of {unpacked:,} bytes, not {num_rows:,} rows"


def _shard_faults(run: Run, shard: Shard) -> Iterator[str]:
    rows = run.answers.iloc[shard.start : shard.start + shard.size]
    for row, trace, fact in zip(rows.itertuples(), traces_in(run, shard), facts_in(run, shard), strict=True):
        yield from (f"answer {row.number}: {fault}" for fault in _answer_faults(row, trace, fact))


def _answer_faults(row: Any, trace: Trace, fact: np.ndarray) -> Iterator[str]:  # noqa: ANN401 - a named row of a table
    yield from faults(vars(trace))
    if len(trace.answer_ids) != row.num_tokens or answer_text(trace) != row.answer:
        yield "its tokens are not those of the table"
    if fact.sum() != row.num_fact_tokens:
        yield "the tokens that carry the fact are not those of the table"
    if np.isinf(row.quality):
        yield "its quality is infinite"


def _uncertainty_faults(run: Run) -> Iterator[str]:
    """A number is finite, and what is undefined has a reason that can be read."""
    values, reasons = run.answers[list(run.reasons)], run.reasons
    if np.isinf(values.to_numpy()).any():
        yield "an uncertainty is infinite"
    if reasons.isna().any(axis=None) or (values.isna() != (reasons != "")).any(axis=None):
        yield "an uncertainty is undefined without a reason, or has one and is defined"
    elif reasons.size and reasons.map(len).max(axis=None) > LONGEST_REASON:
        yield f"the reason for an undefined uncertainty has more than {LONGEST_REASON:,} characters"


def _mean_faults(run: Run) -> Iterator[str]:
    for alignment, offset, tokens in product(ALIGNMENTS, OFFSETS, _CHOICES):
        found = means(run, alignment, tokens=tokens, offset=offset)
        if np.any((found < -_ROUNDING) | (found > 1 + _ROUNDING)):
            yield f"a mean of attention lies outside of 0 and 1 (alignment {alignment}, offset {offset})"


def _pick_faults(run: Run) -> Iterator[str]:
    for alignment in ALIGNMENTS:
        heads = picks(run, alignment).heads
        if np.any((heads < NO_HEAD) | (heads >= run.answerer.num_heads)):
            yield f"a picked head is none of the {run.answerer.num_heads} of its layer (alignment {alignment})"
