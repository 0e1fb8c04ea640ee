"""The record of a crowd at vLLM says when an answer was lost, was another's, or left something behind."""

from collections import Counter

from benchmarks.vllm.load import Minute, record_of

FINE = Minute(counts=Counter({"answers": 40, "same": 39, "other tokens": 1}), largest=2e-6, mebibytes=900.0)


def unmet(minutes, **left):
    found = record_of(minutes, **({"given_up": 5, "left": 0} | left))
    return [bound.text for bound in found.bounds if not bound.met]


def test_minutes_without_a_fault_meet_every_bound():
    assert unmet([FINE, FINE, FINE]) == []
    found = record_of([FINE, FINE], given_up=5, left=0)
    assert found.finding.startswith("Of 80 answers in 2 minutes, beside 5 that were given up, 0 lost")
    assert found.rows[0] == (1, 40, 0, 1, 0, 2e-06, 900)


def test_each_fault_misses_its_bound():
    for kind in ("lost", "rows of another"):
        assert len(unmet([FINE, FINE, Minute(counts=Counter({"answers": 1, kind: 1}), mebibytes=900.0)])) == 1
    assert "Growth of memory" in unmet([FINE, FINE, Minute(mebibytes=1000.0)])[0]
    assert "Files left" in unmet([FINE, FINE], left=2)[0]
    assert "given up" in unmet([FINE, FINE], given_up=0)[0]
