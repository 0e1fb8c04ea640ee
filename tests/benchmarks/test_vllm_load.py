"""The record of many clients at vLLM says when an answer was lost, was another's, or left something behind."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.vllm.load import Load, Minute, compared, record_of
from rauq.recorded.answers import find_recorded
from rauq.trace.trace import Alternative

FINE = Minute(counts=Counter({"answers": 40, "same": 39, "other tokens": 1}), largest=2e-6, mebibytes=900.0)
ALONE = Minute(counts=Counter({"answers": 50, "same": 50}), mebibytes=800.0)


def load(*minutes, **left):
    return Load(minutes=minutes, **({"given_up": 5} | left))


def unmet(with_plugin, *, last=ALONE):
    without = load(*[ALONE] * (len(with_plugin.minutes) - 1), last)
    return [bound.text for bound in record_of(with_plugin, without).bounds if not bound.met]


def test_minutes_without_a_fault_meet_every_bound():
    assert unmet(load(FINE, FINE, FINE)) == []
    found = record_of(load(FINE, FINE), load(ALONE, ALONE))
    assert found.finding.startswith("Of 80 answers in 2 minutes, beside 5 given up, 0 lost")
    assert found.rows[0] == (1, 40, 0, 1, 0, 2e-06, 900, 50, 800)


def test_each_fault_misses_its_bound():
    for kind in ("lost", "rows of another"):
        faulty = Minute(counts=Counter({"answers": 1, kind: 1}), mebibytes=900.0)
        assert len(unmet(load(FINE, FINE, faulty))) == 1
    grown = Minute(mebibytes=1000.0)
    assert "Growth of memory" in unmet(load(FINE, FINE, grown))[0]
    assert unmet(load(FINE, FINE, grown), last=Minute(mebibytes=840.0)) == []  # vLLM grows without the plugin too
    assert "Files left" in unmet(load(FINE, FINE, left=2))[0]
    assert "given up" in unmet(load(FINE, FINE, given_up=0))[0]


@pytest.fixture
def alone():
    return find_recorded("unknown-place").trace()


def changed(trace, **arrays):
    return replace(trace, **{name: np.array(value) for name, value in arrays.items()})


def test_an_answer_is_its_own_or_is_found_out(alone):
    assert compared(alone, alone) == ("same", 0.0)
    ids, rows = alone.answer_ids.copy(), alone.attention.copy()
    rows[0, 0, 2, 0] += 0.01
    assert compared(changed(alone, attention=rows), alone)[0] == "rows of another"
    ids[0] += 1
    assert compared(changed(alone, answer_ids=ids), alone)[0] == "rows of another"
    tie = (Alternative(1, "a", -0.5), Alternative(2, "b", -0.5001))
    near = replace(alone, alternatives=(tie, *alone.alternatives[1:]))
    assert compared(changed(alone, answer_ids=ids), near)[0] == "other tokens"
    assert compared(changed(alone, prompt_ids=alone.prompt_ids + 1), alone)[0] == "rows of another"
