"""Curves of several methods: over the answers that all of them have, so that one oracle is above them all."""

import numpy as np

from analysis.methods.rejections import rejections
from analysis.stats import rejection_curve
from tests.analysis.methods.made_up import made_up


def test_all_curves_are_of_the_same_answers():
    answers = made_up()
    answers.loc[:9, "msp"] = np.nan
    answers.loc[5:14, "quality"] = np.nan
    methods = ("rauq", "msp")
    found = rejections({name: answers[name].to_numpy() for name in methods}, answers["quality"].to_numpy())
    assert (found.methods, found.n, found.excluded) == (methods, 105, 15)
    alone = rejection_curve(answers["rauq"].to_numpy()[15:], answers["quality"].to_numpy()[15:])
    np.testing.assert_array_equal(found.curves[0].kept_quality, alone.kept_quality)
    np.testing.assert_array_equal(found.curves[0].oracle, found.curves[1].oracle)


def test_methods_without_a_common_answer_have_empty_curves():
    found = rejections({"rauq": np.array([1.0, np.nan]), "msp": np.array([np.nan, 1.0])}, np.array([0.0, 1.0]))
    assert (found.n, found.excluded) == (0, 2)
    assert not len(found.curves[0].rejected)
