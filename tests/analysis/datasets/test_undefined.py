"""Cells that hold nan, infinity or a program's word for nothing: empty where no row needs them, else a reason."""

import io
import json

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.datasets.columns import Columns
from analysis.datasets.own_files import read_table
from analysis.datasets.rows import examples_from

NAN, INFINITY = float("nan"), float("inf")


def parquet(rows):
    content = io.BytesIO()
    columns = {name: pa.array([row[name] for row in rows], from_pandas=False) for name in rows[0]}
    pq.write_table(pa.table(columns), content)
    return content.getvalue()


def xlsx(rows):
    book, content = openpyxl.Workbook(), io.BytesIO()
    book.active.append(list(rows[0]))
    for number, row in enumerate(rows, 2):
        for place, value in enumerate(row.values(), 1):
            cell = book.active.cell(number, place, "#N/A" if value != value else value)  # noqa: PLR0124 - nan
            cell.data_type = "e" if cell.value == "#N/A" else cell.data_type
    book.save(content)
    return content.getvalue()


WRITERS = {
    "a.csv": lambda rows: "\n".join(
        ",".join(map(str, row)) for row in (rows[0], *(row.values() for row in rows))
    ).encode(),
    "a.json": lambda rows: json.dumps(rows).encode(),
    "a.jsonl": lambda rows: "\n".join(map(json.dumps, rows)).encode(),
    "a.parquet": parquet,
    "a.xlsx": xlsx,
}


@pytest.mark.parametrize("name", WRITERS)
def test_nan_in_a_column_that_is_not_needed_costs_nothing(name):
    rows = [{"prompt": "Q", "reference": "A", "x": NAN}, {"prompt": "R", "reference": "B", "x": 1.0}]
    data = examples_from(read_table(WRITERS[name](rows), name), Columns(prompt="prompt", references=("reference",)))
    assert ([example.prompt for example in data.examples], data.rejected) == (["Q", "R"], ())


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "a.csv"])
def test_nan_in_a_column_that_is_needed_costs_its_row_with_a_reason(name):
    rows = [{"prompt": 1.0, "answer": NAN}, {"prompt": NAN, "answer": 1.0}, {"prompt": 3.0, "answer": 2.0}]
    data = examples_from(read_table(WRITERS[name](rows), name), Columns(prompt="prompt", answer="answer"))
    assert [example.answer for example in data.examples] == [data.examples[0].answer]
    said = "holds the error #N/A" if name == "a.xlsx" else "holds nan"
    assert [(row.row, said in row.reason) for row in data.rejected] == [(1, True), (2, True)]


def test_nan_is_no_text_where_a_text_may_be_missing():
    rows = [{"prompt": "Q", "r": NAN, "g": INFINITY, "f": ["x", NAN]}]
    columns = Columns(prompt="prompt", references=("r",), group="g", facts="f")
    (example,) = examples_from(read_table(json.dumps(rows).encode(), "a.json"), columns).examples
    assert (example.references, example.group, example.facts) == ((), "", ("x",))


@pytest.mark.parametrize("text", ["NA", "N/A", "None", "null", "nan", "NaN", "007", "0.30", "1e3", "True", "-"])
def test_a_text_stays_the_text_that_it_is(text):
    for name, content in {
        "a.csv": f"prompt,reference\nQ,{text}\n".encode(),
        "a.json": json.dumps([{"prompt": "Q", "reference": text}]).encode(),
        "a.xlsx": xlsx([{"prompt": "Q", "reference": text}]),
    }.items():
        (example,) = examples_from(
            read_table(content, name), Columns(prompt="prompt", references=("reference",))
        ).examples
        assert example.references == (text,)
