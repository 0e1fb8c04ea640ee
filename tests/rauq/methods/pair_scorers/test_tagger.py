"""Keywords of a spaCy model that is made here: where they stand, which count, and what is said without one."""

import sys

import pytest
import spacy

from rauq.errors import MissingPackage, ModelNotFound, UnsupportedModel
from rauq.methods.pair_scorers.loading import ENTITIES, load_tagger
from rauq.trace.parts import tokens_in

PARTS = {"mat": "NOUN", "seven": "NUM", "Zoë": "PROPN", "runs": "VERB", "blue": "ADJ"}
NAMES = {"New York": "GPE", "May": "DATE", "blob": "MISC", "PERSON": "PERSON"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    language = spacy.blank("en")
    rules = language.add_pipe("attribute_ruler")
    for word, part in PARTS.items():
        rules.add([[{"TEXT": word}]], {"POS": part})
    language.add_pipe("entity_ruler").add_patterns([{"label": label, "pattern": name} for name, label in NAMES.items()])
    folder = tmp_path_factory.mktemp("tagger") / "model"
    language.to_disk(folder)
    return folder


@pytest.fixture(scope="module")
def keywords(folder):
    return load_tagger(str(folder))


def words(keywords, text):
    return [text[first:last] for first, last in keywords(text)]


def test_entities_nouns_numbers_and_proper_names_are_keywords(keywords):
    text = "👋 In New York, Zoë runs\n seven blue mat tests in May."
    assert words(keywords, text) == ["New", "York", "Zoë", "seven", "mat", "May"]


@pytest.mark.parametrize("text", ["", " ", "\n", "runs blue", "blob", "PERSON"])
def test_other_words_are_none(keywords, text):
    """Among them entities of other types, and a word that is itself the name of a type, as in the reference."""
    assert keywords(text) == ()


def test_every_token_of_a_keyword_is_found(keywords):
    """The walk of the reference would see one at most."""
    tokens = ("In", " New", " Yo", "rk", " in", " M", "ay", ".")
    assert tokens_in(tokens, keywords("".join(tokens))).tolist() == [False, True, True, True, False, True, True, False]


def test_the_types_are_those_of_ontonotes():
    assert len(ENTITIES) == 18


def test_a_model_that_is_not_there_is_said_with_what_to_install(tmp_path):
    for name in ("en_core_web_sm", "json", str(tmp_path / "none")):  # json is a package, and no model
        with pytest.raises(ModelNotFound, match=r"nor a folder\. python -m spacy download en"):
            load_tagger(name)


def test_a_folder_that_is_no_model_is_refused(tmp_path, folder):
    with pytest.raises(ModelNotFound, match=r"cannot be read \(.*meta\.json"):
        load_tagger(str(tmp_path))
    (tmp_path / "meta.json").write_text("{")
    (tmp_path / "config.cfg").write_bytes((folder / "config.cfg").read_bytes())
    with pytest.raises(ModelNotFound, match="cannot be read"):
        load_tagger(str(tmp_path))


def test_a_model_that_tags_nothing_is_refused(tmp_path):
    spacy.blank("en").to_disk(tmp_path)
    with pytest.raises(UnsupportedModel, match="tags nothing"):
        load_tagger(str(tmp_path))


def test_without_spacy_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingPackage, match=r"pip install -r requirements-extra\.txt"):
        load_tagger()
