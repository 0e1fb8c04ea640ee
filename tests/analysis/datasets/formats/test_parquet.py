"""What a Parquet file unpacks to is counted without unpacking it."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.datasets.formats.parquet import TooLarge, check_decoded

LONG = "x" * 1000


def written(values, **options):
    content = pa.BufferOutputStream()
    pq.write_table(pa.table({"a": values}), content, **options)
    return content.getvalue()


def counted(values, **options):
    return check_decoded(pa.BufferReader(written(values, **options)), most=10**9)


KINDS = {
    "string": pa.string(),
    "large string": pa.large_string(),
    "string view": pa.string_view(),
    "binary": pa.binary(),
    "dictionary": pa.dictionary(pa.int32(), pa.string()),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_text_that_is_stored_once_counts_as_often_as_it_occurs(kind):
    assert counted(pa.array([LONG] * 300, kind)) == 300 * (len(LONG) + 8)


NESTED = {
    "list": ([[LONG, LONG]] * 300, pa.list_(pa.string()), 2),
    "large list": ([[LONG]] * 300, pa.large_list(pa.string()), 1),
    "list of lists": ([[[LONG]]] * 300, pa.list_(pa.list_(pa.string())), 1),
    "list of one": ([[LONG]] * 300, pa.list_(pa.string(), 1), 1),
    "struct": ([{"b": LONG, "c": LONG}] * 300, pa.struct([("b", pa.string()), ("c", pa.string())]), 2),
    "map": ([[("b", LONG)]] * 300, pa.map_(pa.string(), pa.string()), 1),
}


@pytest.mark.parametrize(("values", "kind", "texts"), NESTED.values(), ids=NESTED)
def test_texts_within_lists_count(values, kind, texts):
    assert texts <= counted(pa.array(values, kind)) / (300 * len(LONG)) < texts + 0.1


def test_lists_without_texts_and_numbers_count_too():
    assert counted(pa.array([[[]] * 100] * 300, pa.list_(pa.list_(pa.int32())))) == 8 * 300 * 101
    assert counted(pa.array([True] * 300)) == 8 * 300
    assert counted(pa.array([LONG.encode()] * 300, pa.binary(1000))) >= 300 * 1000


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN"])
def test_every_encoding_of_texts_is_counted(encoding):
    options = {"use_dictionary": False, "column_encoding": {"a": encoding}}
    assert counted(pa.array([LONG] * 300), **options) == 300 * (len(LONG) + 8)


def test_counting_takes_no_memory_and_ends_at_the_bound():
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 10_000, pa.int32()), ["x" * 500_000])  # 5 GB
    content = written(column, compression="zstd")
    assert len(content) < 10_000
    before = pa.default_memory_pool().max_memory()
    with pytest.raises(TooLarge, match=r"it unpacks to more than 512\.0 MB"):
        check_decoded(pa.BufferReader(content), most=512_000_000)
    assert pa.default_memory_pool().max_memory() < before + 20e6


def test_only_the_first_rows_and_the_columns_that_matter_count():
    content = pa.BufferOutputStream()
    pq.write_table(pa.table({"a": [LONG] * 10_000, "b": ["x"] * 10_000}), content)
    assert check_decoded(pa.BufferReader(content.getvalue()), most=10**9, columns=["b", "missing"]) == 90_000
    few = check_decoded(pa.BufferReader(content.getvalue()), most=5_000_000, rows=100, columns=["a"])
    assert 100 * 1008 <= few < 5_000_000
