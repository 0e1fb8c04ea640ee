"""The methods of a run: by id or by word, and none without its needs."""

import re
from dataclasses import replace

import pytest

from analysis.datasets.names import embedded_set
from analysis.runs.create import request_for
from analysis.runs.methods import ASKABLE, DEFAULT, named, without_download
from rauq.errors import InvalidInput
from rauq.methods.table import METHODS

JUDGES = {"nli": "nli", "similarity": "similarity", "keywords": "tagger", "idf": "idf"}


@pytest.fixture(scope="module")
def embedded():
    return embedded_set("atlas", per_group=1)


def test_words_and_ids_are_named_once_in_their_order(data):
    assert named(["default"], model="m", data=data) == DEFAULT
    assert named(["ccp", "default", "msp"], model="m", data=data) == ("ccp", *DEFAULT)
    with pytest.raises(InvalidInput, match="Unknown method 'luck'; choose from default, no-download, rauq"):
        named(["luck"], model="m", data=data)


def test_no_download_asks_nothing_from_elsewhere(data, embedded):
    plain = named(["no-download"], model="m", data=data)
    assert {need for method in plain for need in METHODS[method].needs} == {"samples", "p_true"}
    facts_known = without_download("m", embedded)
    assert {need for method in facts_known for need in METHODS[method].needs} == {"samples", "p_true", "facts"}
    own = without_download("atlas", embedded)
    assert set(plain) < set(facts_known) < set(own)
    assert {need for method in own for need in METHODS[method].needs} == {"samples", "p_true", "facts", "idf"}
    request = request_for(embedded, model="atlas", methods=own)
    assert request.idf == "atlas"
    assert request_for(embedded, model="atlas").idf == ""


def test_given_answers_have_the_method_that_finds_errors_there(data):
    given = replace(data, examples=tuple(replace(example, answer="Oslo") for example in data.examples))
    assert request_for(given, model="m").methods == (*DEFAULT, "surprisal")
    assert "surprisal" in without_download("m", given)
    assert "surprisal" not in without_download("m", data)


@pytest.mark.parametrize("method", ASKABLE)
def test_a_method_without_its_judge_is_refused_with_what_to_add(method, data):
    wanted = [JUDGES[need] for need in METHODS[method].needs if need in JUDGES]
    given = dict.fromkeys(wanted, "one")
    assert request_for(data, model="m", methods=(method,), **given).methods == (method,)
    for name in wanted:
        with pytest.raises(InvalidInput, match=f"{re.escape(METHODS[method].name)} needs .*--{name}"):
            request_for(data, model="m", methods=(method,), **{**given, name: ""})


@pytest.mark.parametrize(
    ("methods", "said"),
    [(("rauq_entropy",), "Unknown method 'rauq_entropy'"), ((), "name at least one"), (("msp", "msp"), "each once")],
)
def test_invalid_lists_of_methods_are_refused(methods, said, data):
    with pytest.raises(InvalidInput, match=said):
        request_for(data, model="m", methods=methods)
