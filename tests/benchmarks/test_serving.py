"""What serving costs: the ratios of a record."""

from benchmarks import serving
from benchmarks.serving import NUMBERS, PLAIN, Speed


def test_ratios_are_those_of_rounds():
    pairs = [(Speed(rate, 0.1), Speed(10.0, 0.05)) for rate in (9.0, 10.0, 11.0)]
    record = serving.record_of({("llama.cpp", 1, PLAIN): pairs, ("llama.cpp", 4, NUMBERS): pairs})
    assert [row[3:6] for row in record.rows] == [(10.0, 10.0, 1.0)] * 2
    assert len(record.bounds) == 1
    assert record.bounds[0].met
    assert "llama.cpp 1.00" in record.finding
