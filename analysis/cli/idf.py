"""`rauq idf`: count in how many documents each token of a model's vocabulary is."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from analysis.datasets import table as dataset_table
from analysis.datasets.own_files import read_file
from rauq.checkpoints.model_info import find_model_info
from rauq.cli.commands import DONE
from rauq.errors import InvalidInput
from rauq.labels import running
from rauq.methods.pair_scorers.idf import idf_of, save_idf
from rauq.model.tokens import Tokens


def count(options: argparse.Namespace) -> int:
    """Run the command, and return its exit code; of the model only config and tokenizer are read."""
    checkpoint, _ = find_model_info(options.model, device="cpu", dtype="auto", revision=None, kind=None)
    tokens = Tokens(checkpoint.tokenizer)
    documents = _lines(options.documents) if options.documents.suffix == ".txt" else _cells(options)
    idf = idf_of(
        (tokens.encode(text, special=True) for text in documents),
        vocab_size=checkpoint.config.get_text_config(decoder=True).vocab_size,
    )
    save_idf(idf, options.out)
    sys.stdout.write(f"{running(str(options.out))}\n")
    return DONE


def _lines(path: Path) -> Iterator[str]:
    """The lines of a text file, one at a time, without those that are blank."""
    try:
        with path.open(encoding="utf-8") as file:
            yield from filter(str.strip, (line.rstrip("\n") for line in file))
    except (OSError, UnicodeDecodeError) as error:
        message = f"{path} cannot be read ({error}). Give a text file in UTF-8, with one document per line."
        raise InvalidInput(message) from error


def _cells(options: argparse.Namespace) -> Iterator[str]:
    table = read_file(options.documents)
    if options.column not in table.columns:
        known = ", ".join(map(repr, table.columns))
        message = f"{table.name} has no column {options.column!r}. It has {known}; name one with --column."
        raise InvalidInput(message)
    for value in table.rows[options.column]:
        if text := dataset_table.text(value, options.column).strip():
            yield text
