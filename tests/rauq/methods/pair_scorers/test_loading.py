"""Judges by name: each that is named, and no other."""

import numpy as np
import pytest

import rauq
from rauq.errors import InvalidInput, ModelNotFound
from rauq.methods.pair_scorers.judges import Judges
from tests.rauq.methods.pair_scorers.classifiers import save_classifier


def test_without_names_no_judge_is_loaded():
    assert rauq.load_judges() == Judges()


def test_each_name_loads_its_judge(tmp_path):
    for name, labels in {"nli": ("neutral", "entailment", "contradiction"), "similarity": ("LABEL_0",)}.items():
        (tmp_path / name).mkdir()
        save_classifier(tmp_path / name, labels)
    judges = rauq.load_judges(nli=str(tmp_path / "nli"), similarity=str(tmp_path / "similarity"), idf="atlas")
    assert judges.nli(["a"], ["b"]).sum() == pytest.approx(1)
    assert 0 < judges.similarity(["a"], ["b"])[0] < 1
    assert np.array_equal(judges.idf, rauq.load_idf())
    assert (judges.keywords, judges.facts) == (None, None)


@pytest.mark.parametrize("judge", ["nli", "similarity", "tagger", "idf"])
def test_a_name_that_is_nowhere_is_refused(judge, tmp_path):
    with pytest.raises((ModelNotFound, InvalidInput)):
        rauq.load_judges(**{judge: str(tmp_path / "none")})
