"""Every public function has an example in its docstring, and the examples are right."""

import doctest
import inspect
from functools import cache

import numpy as np
import pandas as pd
import pytest

import rauq
from analysis import __all__ as of_analysis
from rauq import analysis
from rauq.model import loading

NAMES = {"rauq": rauq, "analysis": analysis, "numpy": np, "pandas": pd}
FUNCTIONS = {
    f"{package.__name__}.{name}": function
    for package, names in ((rauq, rauq.__all__), (analysis, of_analysis))
    for name in names
    if inspect.isfunction(function := getattr(package, name))
}
# What needs a download, models of this machine, or a store that is not there: shown, and not run.
NOT_RUN = {
    "rauq.cached_models", "rauq.get_model", "rauq.installed_models", "rauq.load_nli", "rauq.load_similarity",
    "rauq.load_tagger", "analysis.local_copy",
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def one_model():
    """Each model is loaded once for all examples."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "load_model", cache(loading.load_model))
        yield


def examples_of(name):
    return doctest.DocTestParser().get_examples(inspect.getdoc(FUNCTIONS[name]) or "", name)


def test_the_functions_of_both_packages_are_found():
    assert len(FUNCTIONS) >= 28
    assert set(FUNCTIONS) > NOT_RUN


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_an_example_that_calls_it(name):
    assert any(f"{name}(" in example.source for example in examples_of(name))


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - NOT_RUN))
def test_an_example_is_right(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = examples_of(name)
    assert not any(example.options.get(doctest.SKIP) for example in examples)
    told = []
    test = doctest.DocTest(examples, dict(NAMES), name, None, None, None)
    doctest.DocTestRunner(verbose=False).run(test, out=told.append)
    assert "".join(told) == ""
