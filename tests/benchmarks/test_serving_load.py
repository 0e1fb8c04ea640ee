"""The record of clients of an endpoint says when an answer was lost, a bad request accepted, or memory kept."""

from benchmarks.serving_load import Load, record_of


def load(**changed):
    fine = {"seconds": [1.0, 2.0], "refused": 8, "hung_up": 3, "early": 500.0, "late": 510.0, "quiet": 0.1}
    return Load(**(fine | changed))


def unmet(**changed):
    return [bound.text for bound in record_of({"llama.cpp": load(**changed)}).bounds if not bound.met]


def test_ten_minutes_without_a_fault_meet_every_bound():
    assert unmet() == []
    found = record_of({"transformers": load(), "llama.cpp": load()})
    assert found.rows[1] == ("llama.cpp", 2, 0, 1.5, 1.95, 11, 0, 3, 500, 510)
    assert found.finding == "4 questions were answered beside 22 hostile requests; 0 had no whole answer."


def test_each_fault_misses_its_bound():
    for fault, value in {"failed": 1, "wrong": 1, "late": 600.0, "quiet": 60.0, "hung_up": 0}.items():
        assert len(unmet(**{fault: value})) == 1, fault
