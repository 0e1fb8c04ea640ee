"""What watching an answer costs."""

import pytest

from benchmarks import monitor
from tests.architectures import named, tiny_language_model


@pytest.mark.parametrize("fixed", [True, False])
def test_the_time_inside_the_monitor_is_a_part_of_the_time_of_the_steps(monkeypatch, fixed):
    monkeypatch.setattr(monitor, "NEW_TOKENS", 6)
    whole, inside = monitor.seconds_of(tiny_language_model(named("llama")), 20, fixed=fixed)
    assert 0 < inside < whole


def test_the_overhead_is_against_the_rest_of_a_step():
    step = (monitor.NEW_TOKENS - 1) / 1000  # 1 ms a token
    made = monitor.record_of({("fixed", 32): [(10 * step, 2 * step)], ("fixed", 512): [(11 * step, step)] * 3})
    assert [row[4] for row in made.rows] == [0.25, 0.1]
    assert made.rows[0][2:4] == (10.0, 2.0)
    assert [bound.met for bound in made.bounds] == [False, False]
    assert "25.0 % (heads fixed, prompt 32); 10.0 % (heads fixed, prompt 512)" in made.finding
