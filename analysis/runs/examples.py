"""The examples of a run, kept in its folder, so that it can be gone on with wherever it is."""

from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.datasets.example import DataSet, Example
from analysis.runs.manifest import Manifest, write_whole
from analysis.runs.typed import typed
from rauq.errors import InvalidInput, RunError

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
        InvalidInput: a text that is not valid Unicode.
        RunError: they cannot be written.
    """
    try:
        table = pa.Table.from_pylist([asdict(example) for example in examples], schema=_SCHEMA)
    except UnicodeEncodeError as error:
        message = f"An example is not valid Unicode ({error.reason}). Leave out its row."
        raise InvalidInput(message) from error
    write_whole(
        folder / EXAMPLES, lambda path: pq.write_table(table, path, compression="zstd", write_page_checksum=True)
    )


def read_examples(folder: Path) -> tuple[Example, ...]:
    """Read the examples of a run.

    Raises:
        RunError: they are missing or damaged.
    """
    path = folder / EXAMPLES
    try:
        table = pq.read_table(path, schema=_SCHEMA, page_checksum_verification=True)
        return tuple(typed(Example, row) for row in table.to_pylist())
    except (OSError, pa.ArrowException, TypeError, ValueError) as error:
        message = f"{path} cannot be read ({error}). Take it from a copy of the run."
        raise RunError(message) from error


def check_examples(folder: Path, manifest: Manifest, examples: tuple[Example, ...]) -> None:
    """See that the examples in a run's folder are those that it was asked to answer.

    Raises:
        RunError: they are not.
    """
    request = manifest.request
    if DataSet(name=request.data, examples=examples).fingerprint != request.data_sha256:
        message = f"The examples in {folder} are not those of its manifest. Take them from a copy of the run."
        raise RunError(message)
