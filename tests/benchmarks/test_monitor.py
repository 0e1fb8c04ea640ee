"""What watching an answer costs."""

import time

import numpy as np
import pytest

from benchmarks import monitor
from rauq.model.monitor import Monitor
from tests.architectures import named, tiny_language_model


@pytest.mark.parametrize("fixed", [True, False])
def test_every_second_step_is_watched_and_compared_with_the_one_before(monkeypatch, fixed):
    monkeypatch.setattr(monitor, "NEW_TOKENS", 8)
    slow, acts = 0.05, Monitor.take

    def take(self, *given):
        time.sleep(slow)
        acts(self, *given)

    monkeypatch.setattr(Monitor, "take", take)
    steps = monitor.steps_of(tiny_language_model(named("llama")), 20, fixed=fixed)
    assert len(steps.watched) == len(steps.alone) == 3  # the last one has none after it
    assert min(steps.watched) > slow
    assert np.median(steps.alone) < slow


def test_the_overhead_is_that_of_a_step_over_the_one_before():
    made = monitor.record_of(
        {
            ("fixed", 32): monitor.Steps([0.0125, 0.05], [0.01, 0.04]),
            ("fixed", 512): monitor.Steps([0.0102] * 3, [0.01] * 3),
        }
    )
    assert [row[4] for row in made.rows] == [0.25, 0.02]
    assert made.rows[1][2:4] == (10.0, 10.2)
    assert [bound.met for bound in made.bounds] == [False, True]
    assert "25.0 % (heads fixed, prompt 32); 2.0 % (heads fixed, prompt 512)" in made.finding
