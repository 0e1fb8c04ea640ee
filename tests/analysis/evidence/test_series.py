"""The numbers that are drawn come out of their records, whatever the order of rows."""

import pytest

from analysis.evidence.figures import drawing, memory_by_length, time_by_length
from analysis.evidence.series import margins, memory_costs, time_costs
from benchmarks.peers import memory, times
from tests.evidence import make_record, peers_memory, peers_time


def test_time_is_that_of_the_processor_by_length():
    ours, theirs = time_costs(peers_time()).curves
    assert (ours.tool, ours.lengths, ours.values) == ("rauq", (32, 4096), (1.02, 1.01))
    assert (theirs.tool, theirs.values) == ("lm-polygraph", (1.5, 5.0))
    assert theirs.low == pytest.approx((1.4, 4.9))
    assert theirs.high == pytest.approx((1.7, 5.2))


def test_what_was_computed_is_not_among_what_was_measured():
    found = memory_costs(peers_memory())
    assert [curve.tool for curve in found.curves] == ["plain", "rauq", "lm-polygraph"]
    assert {curve.lengths for curve in found.curves} == {(32, 4096)}
    (computed,) = found.computed
    assert (computed.tool, computed.lengths, computed.values) == ("lm-polygraph", (8192,), (17_000.0,))


def test_differences_are_the_fractions_before_the_tolerance():
    rows = (("llama", 7, 1e-7, 0.0, 1e-5, 0.5), ("gpt2", 7, 2e-7, 3e-4, 2e-5, 0.5))
    columns = ("name", "count", "read", "generated", "tolerance", "share")
    found = margins(make_record(columns=columns, rows=rows))
    assert found.names == ("llama", "gpt2")
    assert found.series == (("read", (1e-7, 2e-7)), ("generated", (0.0, 3e-4)))
    assert found.tolerated == (1e-5, 2e-5)


def test_the_measurements_make_records_that_can_be_drawn():
    tools = [(length, tool, clock) for length in (32, 512) for tool in times.TOOLS for clock in times.CLOCKS]
    turns = times.Turns(plain=(1.0, 1.0), tool=(2.0, 2.0))
    timed = times._record(dict.fromkeys(tools, turns))
    assert drawing(timed).draw == time_by_length
    assert [curve.values for curve in time_costs(timed).curves] == [(2.0, 2.0)] * 2
    peaks = dict.fromkeys([(length, way) for length in (32, 512) for way in memory.WAYS], (1.0, 2.0, 3.0))
    record = memory._record(peaks)
    assert drawing(record).draw == memory_by_length
    assert [curve.values for curve in memory_costs(record).curves] == [(2.0, 2.0)] * 3
    assert [curve.lengths for curve in memory_costs(record).computed] == [(memory.COMPUTED_ONLY,)]
