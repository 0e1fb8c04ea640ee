"""Ways that are compared take turns, each first in every second one."""

import pytest

from benchmarks.support.paired import in_turn, one_turn, ratio, spent


def test_each_runs_first_in_every_second_turn():
    order = []
    for turn in range(3):
        one_turn(turn, lambda: order.append("base"), lambda: order.append("ours"))
    assert order == ["base", "ours", "ours", "base", "base", "ours"]


def test_what_does_more_takes_more_whatever_the_order():
    base, ours = in_turn(8, lambda: sum(range(200_000)), lambda: sum(range(600_000)))
    found = ratio(ours, base)
    assert found.pairs == 8
    assert found.median > 1.5


def test_waiting_takes_no_time_of_the_processor(monkeypatch):
    wall = iter([1.0, 3.0])
    monkeypatch.setattr("benchmarks.support.paired.perf_counter", lambda: next(wall))
    monkeypatch.setattr("benchmarks.support.paired.process_time", lambda: 5.0)
    assert spent(lambda: None) == pytest.approx((0.0, 2.0))
