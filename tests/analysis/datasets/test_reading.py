"""Tables from bytes: formats, encodings, damage, and the bounds."""

import io
import json
import tracemalloc

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.datasets import own_files, table
from analysis.datasets.formats import json_text
from analysis.datasets.formats import parquet as parquet_format
from analysis.datasets.own_files import ENDINGS, read_file, read_table
from rauq.errors import InvalidInput
from tests.analysis.uploads.bombs import lists, parquet_of

ROWS = [{"prompt": "Où est Évian?", "answer": "En France; près du lac"}, {"prompt": '2 + 2, "x"?\nSay.', "answer": "4"}]


def parquet(rows):
    buffer = io.BytesIO()
    pd.DataFrame(rows).to_parquet(buffer)
    return buffer.getvalue()


def xlsx(rows):
    buffer = io.BytesIO()
    pd.DataFrame(rows).to_excel(buffer, index=False)
    return buffer.getvalue()


def parquet_column(column):
    buffer = io.BytesIO()
    pq.write_table(pa.table({"a": column}), buffer)
    return buffer.getvalue()


def csv(rows, delimiter=","):
    return pd.DataFrame(rows).to_csv(index=False, sep=delimiter)


def jsonl(rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


WRITTEN = {
    "a.csv": csv(ROWS).encode(),
    "a.tsv": csv(ROWS, "\t").encode(),
    "a.jsonl": jsonl(ROWS).encode(),
    "a.ndjson": jsonl(ROWS).encode(),
    "list.json": json.dumps(ROWS, indent=1).encode(),
    "lines.json": jsonl(ROWS).encode(),
    "a.xlsx": xlsx(ROWS),
    "a.parquet": parquet(ROWS),
    "A.CSV": csv(ROWS).encode(),
}


def rows_of(read):
    return read.rows.to_dict("records")


@pytest.mark.parametrize("name", WRITTEN)
def test_every_format_gives_the_rows_that_were_written(name):
    read = read_table(WRITTEN[name], name)
    assert rows_of(read) == ROWS
    assert (read.columns, list(read.rows.index)) == (("prompt", "answer"), [1, 2])
    assert (read.rejected, read.notes) == ((), ())


@pytest.mark.parametrize("written", [csv(ROWS), jsonl(ROWS)], ids=["csv", "jsonl"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "cp1252"])
def test_every_encoding_gives_the_same_rows(written, encoding, mark):
    if (encoding, bool(mark)) in (("cp1252", True), ("utf-32-le", False), ("utf-32-be", False)):
        return  # has no mark; is never written without one
    name = "a.csv" if written.startswith("prompt") else "a.jsonl"
    read = read_table((mark + written).encode(encoding), name)
    assert rows_of(read) == ROWS
    said = {"cp1252": "Windows-1252", "utf-16-le": "UTF-16-LE", "utf-16-be": "UTF-16-BE"}
    assert [said[encoding] in note for note in read.notes] == [True] * (encoding in said and not mark)


@settings(max_examples=40)
@given(st.lists(st.fixed_dictionaries({"a": st.text(), "b": st.text()}), min_size=1, max_size=5))
def test_any_text_comes_back_from_jsonl(rows):
    assert rows_of(read_table("".join(json.dumps(row) + "\n" for row in rows).encode(), "a.jsonl")) == rows


@given(st.binary(max_size=300), st.sampled_from(ENDINGS))
def test_any_bytes_are_a_table_or_an_error(content, ending):
    try:
        read = read_table(content, f"a{ending}")
    except InvalidInput:
        return
    assert len(read.rows) > 0


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        (b"", "a.csv", "is empty"),
        (b"\n\n", "a.csv", "has no header: it is empty. Name"),
        (b"a" * 200_000 + b",b\n1,2\n", "a.csv", r"\(131072\)\). Name the columns"),
        (b"prompt,answer\n", "a.csv", "has no rows"),
        (b"a,b,a\n1,2,3\n", "a.csv", "column 'a' more than once"),
        (b"a\xff\x81b\n\x8d\n", "a.csv", "not text in UTF-8"),
        (b"\xff\xfea\x00b", "a.csv", "begins as UTF-16, but is damaged"),
        (b"a,b\n1,\x00\x002\n", "a.csv", "contains zero bytes"),
        ("é,b\nü,è\né".encode()[:-1], "a.csv", "is UTF-8, but not in line 3"),
        (b"a,b\n1,2\n", "a.txt", r"must end in one of \.csv"),
        (b"a,b\n1,2\n", "a", r"must end in one of \.csv"),
        (b"a,b\n1,2\n", "a.parquet", "is not a Parquet file"),
        (WRITTEN["a.parquet"], "a.csv", "is a Parquet file"),
        (WRITTEN["a.parquet"][:-30], "a.parquet", "not a readable Parquet"),
        (b"PK\x03\x04rest", "a.csv", "an Excel file or another zip archive, despite its name. Name it .xlsx"),
        (b"\xd0\xcf\x11\xe0rest", "a.xlsx", "an old Excel file or one with a password, despite its name"),
        (b"\xd0\xcf\x11\xe0rest", "a.xls", r"must end in .*\.xlsx.* Save the sheet as \.xlsx or as CSV"),
        (b"a,b\n1,2\n", "a.xlsx", "is not an Excel file"),
        (b"\x1f\x8brest", "a.jsonl", "gzip"),
        (b"[1, 2]", "a.json", "Row 1: it is not an object"),
        (b"[{}, {}]", "a.json", "has only empty rows"),
        (b"{}\n", "a.jsonl", "has only empty rows"),
        (b"[]", "a.json", "has no rows"),
        (b'[{"a": 1}', "a.json", "cannot be read: it is not valid JSON"),
        (b"[" * 100_000, "a.json", "nested too deeply"),
        (b"not json\nat all\n", "a.jsonl", "Row 1: it is not valid JSON"),
        (jsonl([{f"c{place}": 1 for place in range(201)}]).encode(), "a.jsonl", "201 columns; at most 200"),
        (parquet([{}]), "a.parquet", "has no rows"),
        (parquet_column(pa.array([2**31 - 1], pa.date32())), "a.parquet", "not a readable Parquet .*magnitude"),
        (parquet_column(pa.array([2**60], pa.duration("s"))), "a.parquet", "not a readable Parquet .*too large"),
    ],
)
def test_an_unreadable_file_is_reported(content, name, said):
    with pytest.raises(InvalidInput, match=said):
        read_table(content, name)


@pytest.mark.parametrize("name", ["\\ud800", "a\\u0000"])
def test_a_column_whose_name_is_no_text_is_refused(name):
    with pytest.raises(InvalidInput, match="'header of column 2' "):
        read_table(f'{{"a": "x", "{name}": "y"}}'.encode(), "a.jsonl")


def test_ragged_rows_are_rejected_with_their_numbers():
    read = read_table(b"a,b\n1,2\n3\n\n4,5,6\n7,8\n", "a.csv")
    assert list(read.rows.index) == [1, 4]
    assert [(row.row, row.reason.partition(".")[0]) for row in read.rejected] == [
        (2, "it has 1 cell, but the header has 2"),
        (3, "it has 3 cells, but the header has 2"),
    ]


def test_a_broken_quote_costs_its_line_and_an_open_one_is_said_to_hide_the_rest():
    within = read_table(b'a,b\n1,"x"y\n2,z\n', "a.csv")
    assert (list(within.rows.index), within.rejected[0].row) == ([2], 1)
    assert "line 2 is not valid CSV" in within.rejected[0].reason
    still_open = read_table(b'a,b\n1,x\n2,"y\n3,z\n4,z\n', "a.csv")
    assert rows_of(still_open) == [{"a": "1", "b": "x"}]
    assert "nothing from line 3 on can be divided" in still_open.rejected[0].reason


def test_after_a_quote_that_takes_in_too_many_lines_nothing_is_taken_for_a_row():
    read = read_table(b'a,b\n1,x\n2,"' + b"3,z\n" * 50_000, "a.csv")
    assert rows_of(read) == [{"a": "1", "b": "x"}]
    assert [row.row for row in read.rejected] == [2]


def test_a_cell_without_end_costs_its_row_only():
    read = read_table(b"a,b\n" + b"x" * 200_000 + b",1\ny,2\n", "a.csv")
    assert rows_of(read) == [{"a": "y", "b": "2"}]
    assert "a cell that is too long" in read.rejected[0].reason


def test_lines_that_are_no_objects_are_rejected_with_their_line():
    lines = ['{"a": 1}', "", "[1]", '"text"', '{"a": 1, "a": 2}', '{"a"', '{"b": [1, {"c": null}]}', "[" * 100_000]
    read = read_table("\n".join(lines).encode(), "a.jsonl")
    assert rows_of(read) == [{"a": 1, "b": None}, {"a": None, "b": [1, {"c": None}]}]
    assert list(read.rows.index) == [1, 7]
    assert [row.row for row in read.rejected] == [3, 4, 5, 6, 8]
    assert "twice" in read.rejected[2].reason


@pytest.mark.parametrize("shift", range(3))
def test_a_list_on_one_line_may_have_any_character_anywhere(shift):
    rows = [{"a": "x" * shift + "€" * 3000}]
    assert rows_of(read_table(json.dumps(rows, ensure_ascii=False).encode(), "a.json")) == rows


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json", "a.parquet"])
def test_rows_beyond_the_bound_are_left_out_and_counted(name):
    rows = [{"a": str(n), "b": "x"} for n in range(1000)]
    written = {"a.csv": csv(rows).encode(), "a.jsonl": jsonl(rows).encode(), "a.json": json.dumps(rows).encode()}
    read = read_table(written.get(name) or parquet(rows), name, rows=300)
    assert rows_of(read) == rows[:300]
    assert read.notes == ("The first 300 rows were read; 700 more were left out. Split the file to use them.",)


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json", "a.parquet"])
def test_of_many_rows_no_more_are_counted_than_a_note_tells(name, monkeypatch):
    monkeypatch.setattr(table, "_MOST_COUNTED", 5)
    rows = [{"a": str(n), "b": "x"} for n in range(20)]
    written = {"a.csv": csv(rows).encode(), "a.jsonl": jsonl(rows).encode(), "a.json": json.dumps(rows).encode()}
    content = written.get(name) or parquet(rows)
    assert "; more than 5 more were left out" in read_table(content, name, rows=14).notes[0]
    assert "; 5 more were left out" in read_table(content, name, rows=15).notes[0]


def test_the_rows_that_are_not_read_are_not_divided_either():
    passed = iter(range(10**9))
    assert table.left_in(passed) == next(passed) == 1_000_001


LINES = [("a.csv", b"what,is\n"), ("a.jsonl", b'{"what": "is"}\n')]


@pytest.mark.parametrize(("name", "line"), LINES)
def test_of_a_million_rows_the_first_hundred_thousand_are_read(name, line):
    read = read_table(line * 1_000_001, name)
    assert len(read.rows) == 100_000
    assert "900,00" in read.notes[0]


@pytest.mark.parametrize(("name", "line"), LINES)
def test_rows_beyond_the_bound_take_no_memory(name, line):
    read_table(line * 100, name)  # what is imported late does not count
    tracemalloc.start()
    try:
        read_table(line * 50_000, name, rows=100)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4e6  # the content itself and a block of it decoded; all rows would take 10e6 and more


def test_uploads_and_files_have_bounds(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_bytes(WRITTEN["a.csv"])
    assert rows_of(read_file(path)) == ROWS
    monkeypatch.setattr(own_files, "LARGEST_UPLOAD", 10)
    with pytest.raises(InvalidInput, match="at most 10 bytes are read"):
        read_table(WRITTEN["a.csv"], "a.csv")
    monkeypatch.setattr(own_files, "LARGEST_FILE", 10)
    with pytest.raises(InvalidInput, match="at most 10 bytes are read"):
        read_file(path)


def test_what_unpacks_to_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(parquet_format, "MOST_BYTES", 100_000)
    with pytest.raises(InvalidInput, match="unpacks to more than"):
        read_table(parquet([{"a": "x" * 1000}] * 1000), "a.parquet")
    with pytest.raises(InvalidInput, match="unpacks to more than"):
        read_table(parquet(pd.DataFrame({"a": pd.Categorical(["x" * 1000] * 1000)})), "a.parquet")
    with pytest.raises(InvalidInput, match="unpacks to more than"):  # few rows do not get the room of many
        read_table(parquet([{"a": "x" * 1000}] * 1000), "a.parquet", rows=10_000_000)
    monkeypatch.setattr(json_text, "LARGEST_DOCUMENT", 10)
    with pytest.raises(InvalidInput, match="Save it as JSONL"):
        read_table(WRITTEN["list.json"], "a.json")


BOMBS = {
    "list": (lists(2_600_000), "a.json", "it holds about 5,200,000 values; at most 5,000,000 can be read"),
    "line": (
        b'{"a":' + lists(600_000) + b"}\n{",
        "a.jsonl",
        "Row 1: it holds about 1,200,001 values; at most 1,000,000",
    ),
    "cells": (b"a\n" + b"," * 1_000_001, "a.csv", "Line 2 has 1,000,001 cells; at most 1,000,000 can be read"),
    "texts": (parquet_of(500_000, 2_000), "a.parquet", "it unpacks to more than 536.9 MB"),
}


@pytest.mark.parametrize(("content", "name", "said"), BOMBS.values(), ids=BOMBS)
def test_what_a_small_file_holds_is_counted_before_it_is_parsed(content, name, said):
    tracemalloc.start()
    try:
        with pytest.raises(InvalidInput, match=said):
            read_table(content, name)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5 * len(content) + 20e6


@pytest.mark.parametrize("path", ["missing.csv", "."])
def test_a_missing_file_is_reported(path, tmp_path):
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_file(tmp_path / path)
