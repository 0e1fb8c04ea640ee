"""Curves of what tools cost come out of their records, whatever the order of rows."""

import pytest

from analysis.evidence.record import computed_memory, memory_curves, time_curves
from benchmarks.peers import memory, times
from rauq.errors import InvalidInput
from tests.evidence import make_record, peers_memory, peers_time


def test_time_is_that_of_the_processor_by_length():
    ours, theirs = time_curves(peers_time())
    assert (ours.tool, ours.lengths, ours.values) == ("rauq", (32, 4096), (1.02, 1.01))
    assert (theirs.tool, theirs.values) == ("lm-polygraph", (1.5, 5.0))
    assert theirs.low == pytest.approx((1.4, 4.9))
    assert theirs.high == pytest.approx((1.7, 5.2))


def test_what_was_computed_is_not_among_what_was_measured():
    record = peers_memory()
    assert [curve.tool for curve in memory_curves(record)] == ["plain", "rauq", "lm-polygraph"]
    assert {curve.lengths for curve in memory_curves(record)} == {(32, 4096)}
    (computed,) = computed_memory(record)
    assert (computed.tool, computed.lengths, computed.values) == ("lm-polygraph", (8192,), (17_000.0,))


def test_a_record_of_other_columns_is_refused():
    with pytest.raises(InvalidInput, match="record scoring has no column prompt, tokens, tool, MiB"):
        memory_curves(make_record())


def test_the_measurements_make_records_that_can_be_drawn():
    tools = [(length, tool, clock) for length in (32, 512) for tool in times.TOOLS for clock in times.CLOCKS]
    turns = times.Turns(plain=(1.0, 1.0), tool=(2.0, 2.0))
    assert [curve.values for curve in time_curves(times._record(dict.fromkeys(tools, turns)))] == [(2.0, 2.0)] * 2
    peaks = dict.fromkeys([(length, way) for length in (32, 512) for way in memory.WAYS], (1.0, 2.0, 3.0))
    record = memory._record(peaks)
    assert [curve.values for curve in memory_curves(record)] == [(2.0, 2.0)] * 3
    assert [curve.lengths for curve in computed_memory(record)] == [(memory.COMPUTED_ONLY,)]
