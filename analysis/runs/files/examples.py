"""The examples of a run, in their file."""

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import lru_cache
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.datasets.example import Example, fingerprint
from analysis.runs.manifest import Manifest, write_whole
from analysis.typed_json import parsed
from rauq.errors import InvalidInput, RunError

EXAMPLES = "examples.parquet"
OF_EXAMPLES = ("id", "group", "stratum", "error_label", "prompt", "references")
"""What the table of a run says of the examples themselves."""

ROWS = 4096  # of the examples that are read at once to find one of them

_TEXT, _TEXTS, _SPANS = pa.string(), pa.list_(pa.string()), pa.list_(pa.list_(pa.int64()))
_SCHEMA = pa.schema(
    [
        *[(name, _TEXT) for name in "id prompt conversation source question answer group stratum error_label".split()],
        *[(name, _TEXTS) for name in ("references", "facts", "wrong")],
        *[(name, _SPANS) for name in ("wrong_spans", "unclear_spans")],
        ("quality", pa.float64()),
    ]
)


_LATER = {"wrong": [], "conversation": "", "wrong_spans": [], "unclear_spans": []}  # columns that older runs lack


def write_examples(folder: Path, examples: tuple[Example, ...]) -> None:
    """Write the examples of a run, whole or not at all.

    Raises:
        InvalidInput: a text that is not valid Unicode.
        RunError: they cannot be written.
    """
    try:
        table = pa.Table.from_pylist([asdict(example) for example in examples], schema=_SCHEMA)
    except UnicodeEncodeError as error:
        message = f"An example is not valid Unicode ({error.reason}). Remove its row."
        raise InvalidInput(message) from error
    options: Any = {"compression": "zstd", "row_group_size": ROWS, "write_page_checksum": True}
    write_whole(folder / EXAMPLES, lambda path: pq.write_table(table, path, **options))


def read_examples(folder: Path) -> tuple[Example, ...]:
    """Read the examples of a run.

    Raises:
        RunError: they are missing or damaged.
    """
    file = ExamplesFile(folder)
    return file.read(range(len(file)))


class ExamplesFile:
    """The examples of a run in their file, of which some thousands are read when one of them is asked for.

    Each method raises a RunError where the file is missing or damaged.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / EXAMPLES
        try:
            with pq.ParquetFile(self._path) as file:
                sizes = [file.metadata.row_group(place).num_rows for place in range(file.num_row_groups)]
        except (OSError, pa.ArrowException, ValueError) as error:
            raise self._damaged(error) from error
        self._ends = list(accumulate(sizes))
        self._part = lru_cache(maxsize=1)(self._read_part)

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[Example]:
        starts = [0, *self._ends]
        return chain.from_iterable(map(self.read, map(range, starts, self._ends)))

    def __getitem__(self, number: int) -> Example:
        place = range(len(self))[number]
        return self.read(range(place, place + 1))[0]

    def read(self, numbers: range) -> tuple[Example, ...]:
        """The examples of these successive numbers."""
        rows = self.table(numbers).to_pylist()
        rows = [row | {name: row[name] or empty for name, empty in _LATER.items()} for row in rows]
        try:
            return parsed(tuple[Example, ...], json.dumps(rows))
        except ValueError as error:
            raise self._damaged(error) from error

    def asked(self, numbers: Sequence[int]) -> list[str]:
        """What the examples of these ascending numbers ask, as `Example.asked`."""
        first = min(numbers, default=0)
        found = self.table(range(first, max(numbers, default=-1) + 1)).select(["question", "prompt"]).to_pydict()
        return [found["question"][number - first] or found["prompt"][number - first] for number in numbers]

    def table(self, numbers: range) -> pa.Table:
        """The same as they are stored."""
        first, last = (bisect_right(self._ends, number) for number in (numbers.start, numbers.stop - 1))
        parts = pa.concat_tables([_SCHEMA.empty_table(), *map(self._part, range(first, last + 1) if numbers else ())])
        return parts.slice(numbers.start - (self._ends[first - 1] if first else 0), len(numbers))

    def _read_part(self, place: int) -> pa.Table:
        try:
            with pq.ParquetFile(self._path, page_checksum_verification=True) as file:
                found = pa.concat_tables([_SCHEMA.empty_table(), file.read_row_group(place)], promote_options="default")
            part = found.select(_SCHEMA.names)
        except (OSError, pa.ArrowException, ValueError) as error:
            raise self._damaged(error) from error
        if any(part[name].null_count for name in OF_EXAMPLES):
            message = "an example lacks a text"
            raise self._damaged(message)
        return part

    def _damaged(self, reason: object) -> RunError:
        return RunError(f"{self._path} cannot be read ({reason}). Restore it from a copy of the run.")


def check_examples(folder: Path, manifest: Manifest, examples: Iterable[Example]) -> None:
    """Check that the examples in the folder of a run match its request.

    Raises:
        RunError: they are not.
    """
    if fingerprint(examples) != manifest.request.data_sha256:
        message = f"The examples in {folder} do not match its manifest. Restore them from a copy of the run."
        raise RunError(message)
