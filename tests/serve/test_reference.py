"""The rank of an answer in a run of the same model, the share of correct ones near it, and why there is none."""

from types import SimpleNamespace

import numpy as np
import pytest

from analysis.calibration import share_at
from analysis.runs.library import bundled_folder
from analysis.runs.opened import open_run
from rauq.errors import InvalidInput
from rauq.scoring.settings import Settings
from serve.reference import read_reference
from tests.serve.conftest import CHAT
from tests.traces import make_trace


def served(**changes):
    """What a model says of itself, as far as a run knows it."""
    own = open_run(bundled_folder()).answerer
    return SimpleNamespace(**({"name": own.name, "revision": own.revision, "kind": own.kind} | changes))


@pytest.fixture(scope="module")
def reference():
    return read_reference(bundled_folder(), served(), Settings())


@pytest.fixture
def trace():
    return make_trace()


def test_a_rank_counts_less_uncertain_answers_and_has_a_share_with_its_interval(reference, trace, monkeypatch):
    monkeypatch.setattr("serve.reference.why_unlike", lambda *_: "")
    values = np.array(reference.scores.uncertainties)
    middle = float(np.median(values))
    rank = reference.rank(trace, middle)["rank"]
    below, equal = (values < middle).sum(), (values == middle).sum()
    assert rank["percentile"] == pytest.approx(100 * (below + equal / 2) / len(values), abs=0.1)
    assert (rank["count"], rank["run"]) == (len(values), bundled_folder().name)
    assert tuple(rank[name] for name in ("share_correct", "low", "high")) == share_at(reference.calibration, middle)
    assert rank["low"] < rank["share_correct"] < rank["high"]


def test_an_answer_unlike_the_references_has_a_rank_and_no_share(reference, trace, monkeypatch):
    monkeypatch.setattr("serve.reference.why_unlike", lambda *_: "No share of correct answers: so.")
    rank = reference.rank(trace, 0.0)["rank"]
    assert rank["no_share"] == "No share of correct answers: so."
    assert "share_correct" not in rank


def test_an_undefined_score_has_no_rank(reference, trace):
    assert reference.rank(trace, float("nan")) == {"no_rank": "the score is undefined"}


@pytest.mark.parametrize("changes", [{"name": "other"}, {"revision": "other"}, {"kind": "base"}])
def test_a_run_of_another_model_is_refused(changes):
    with pytest.raises(InvalidInput, match="is served"):
        read_reference(bundled_folder(), served(**changes), Settings())


def test_a_client_gets_the_rank(serving, reference):
    numbers = serving(reference=reference).post(CHAT | {"rauq": True}).json()["choices"][0]["message"]["rauq"]
    assert numbers["rank"]["count"] == len(reference.scores.uncertainties)
