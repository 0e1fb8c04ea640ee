"""The examples of a run, kept in its folder, so that it can be gone on with wherever it is."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.datasets.example import Example
from analysis.runs.manifest import write_whole
from rauq.errors import RunError

EXAMPLES = "examples.parquet"

_TEXT, _TEXTS = pa.string(), pa.list_(pa.string())
_SCHEMA = pa.schema(
    [
        *[
            (name, _TEXT)
            for name in ("id", "prompt", "source", "question", "answer", "group", "stratum", "error_label")
        ],
        *[(name, _TEXTS) for name in ("references", "facts")],
        ("quality", pa.float64()),
    ]
)


def write_examples(folder: Path, examples: tuple[Example, ...]) -> None:
    """Write the examples of a run, whole or not at all.

    Raises:
        RunError: they cannot be written.
    """
    table = pa.Table.from_pylist([asdict(example) for example in examples], schema=_SCHEMA)
    write_whole(folder / EXAMPLES, lambda path: pq.write_table(table, path, compression="zstd"))


def read_examples(folder: Path) -> tuple[Example, ...]:
    """Read the examples of a run.

    Raises:
        RunError: they are missing or damaged.
    """
    path = folder / EXAMPLES
    try:
        table = pq.read_table(path, schema=_SCHEMA)
        return tuple(Example(**_with_tuples(row)) for row in table.to_pylist())
    except (OSError, pa.ArrowException, TypeError, ValueError) as error:
        message = f"{path} cannot be read ({error}). Take it from a copy of the run."
        raise RunError(message) from error


def _with_tuples(row: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
