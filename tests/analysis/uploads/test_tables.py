"""A data set from a stranger is read by a process with limits, and comes back as the same table, or a reason."""

import json
import resource
from datetime import date
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest

from analysis.datasets import own_files
from analysis.datasets.columns import Columns
from analysis.datasets.rows import examples_from
from analysis.datasets.understood import understand
from analysis.uploads.limits import Limits
from analysis.uploads.readers import read_table
from rauq.errors import InvalidInput
from tests.analysis.uploads.bombs import MIB, lists, parquet_of, written, xlsx_of, xlsx_of_zeros

ROWS, CHARACTERS = 500, 8000
SMALL = Limits(memory=768 * MIB, processor=20, wall=60)


def read(content, name, **changes):
    return read_table(content, name, **{"rows": ROWS, "characters": CHARACTERS, "limits": SMALL} | changes)


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # MiB


HONEST = {
    "a.csv": 'prompt,answer\nOù est Évian?,En France\n1\n"2\n3",x\n'.encode(),
    "a.jsonl": b'{"prompt": "a \\u20ac", "r": ["x", 1, null], "n": 0.5, "b": true}\n[1]\n{"prompt": null}\n',
    "a.json": b'[{"prompt": "a"}, {"prompt": [{"x": NaN}], "c": 12345678901234567890}, {"prompt": NaN}]',
    "a.xlsx": xlsx_of([["prompt", "n", "q"], ["Où?", 2, 0.5], [], ["=1+1", None, "x"]]),
    "a.parquet": written(pa.table({"prompt": ["a", "b", None], "r": [["x"], [], None], "q": [0.5, 1.0, 2.0]})),
}


@pytest.mark.parametrize("name", HONEST)
def test_a_table_comes_back_as_it_is_read_here(name):
    here, there = own_files.read_table(HONEST[name], name), read(HONEST[name], name)
    pd.testing.assert_frame_equal(there.rows, here.rows)
    assert (there.name, there.rejected, there.notes) == (here.name, here.rejected, here.notes)
    columns = understand(here).columns
    assert examples_from(there, columns) == examples_from(here, columns)


def test_cells_that_no_row_can_use_are_rejected_for_the_same_reasons():
    cells = [b"raw", date(2020, 1, 1), {"a": 1}, [["nested"]], "a\0b", float("nan"), Decimal("0.5"), "fine"]
    content = written(pa.table({str(place): pa.array([cell]) for place, cell in enumerate(cells)}))
    here, there = own_files.read_table(content, "a.parquet"), read(content, "a.parquet")
    made = [[examples_from(table, Columns(prompt=name)) for name in table.columns] for table in (here, there)]
    assert made[0] == made[1]
    assert [len(data.rejected) for data in made[1]] == [1] * 6 + [0] * 2
    surrogate = read(b'{"prompt": "a\\ud800"}', "a.jsonl")
    assert "lone surrogate" in examples_from(surrogate, Columns(prompt="prompt")).rejected[0].reason


def test_rows_and_characters_beyond_the_limit_are_left_out_in_words():
    lines = [{"prompt": "x" * length} for length in (5, 6, 5)]
    content = "\n".join(json.dumps(line) for line in lines).encode()
    table = read(content, "a.jsonl", rows=2, characters=5)
    data = examples_from(table, Columns(prompt="prompt"))
    assert [example.id for example in data.examples] == ["1"]
    assert data.rejected[0].reason == "'prompt' has 6 characters; at most 5 are allowed."
    assert data.notes == ("The first 2 rows were read; 1 more were left out. Split the file to use them.",)
    long_list = read(json.dumps({"prompt": ["ab", "cd"]}).encode(), "a.jsonl", characters=5)
    assert "'prompt' has 6 characters" in examples_from(long_list, Columns(prompt="prompt")).rejected[0].reason


def test_rows_that_do_not_fit_into_the_answer_are_left_out_in_words():
    content = "\n".join(json.dumps({"prompt": "x" * 1000}) for _ in range(50)).encode()
    table = read(content, "a.jsonl", limits=Limits(answer=20_000))
    assert 10 < len(table.rows) < 20
    assert f"The first {len(table.rows)} rows were read; more than 20.0 kB do not fit" in table.notes[0]
    with pytest.raises(InvalidInput, match=r"One row of a\.jsonl holds more than 900 bytes"):
        read(content, "a.jsonl", limits=Limits(answer=900))


BOMBS = {
    "texts stored once": (lambda: parquet_of(500_000, 2_000), "a.parquet", "unpacks to more than"),
    "lists in a list": (lambda: lists(20_000_000), "a.json", "about 40,000,000 values; at most 5,000,000"),
    "lists in a line": (lambda: b'{"a":' + lists(3_000_000) + b"}\n{", "a.jsonl", "values; at most 1,000,000"),
    "lists in many lines": (
        lambda: (b'{"a":' + lists(400_000) + b"}\n") * 50,
        "a.jsonl",
        "reading it takes more than 805.3 MB of memory, this host's limit. Give a smaller file",
    ),
    "zeros in a workbook": (lambda: xlsx_of_zeros(300 * MIB), "a.xlsx", "it unpacks to more than 268.4 MB"),
    "cells in a line": (lambda: b"," * 5_000_000, "a.csv", "has 5,000,000 cells; at most 1,000,000"),
}


@pytest.mark.parametrize(("make", "name", "said"), BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_refused_in_words_and_takes_no_memory_here(make, name, said):
    bomb, before = make(), peak()
    with pytest.raises(InvalidInput, match=said):
        read(bomb, name)
    assert peak() < before + 2 * len(bomb) / MIB + 32


def test_reading_that_takes_too_long_is_ended():
    with pytest.raises(
        InvalidInput, match=r"reading it takes more than 0.001 s, this host's limit. Give a smaller file"
    ):
        read(HONEST["a.csv"], "a.csv", limits=Limits(wall=0.001))
