"""Words of the field: each is explained in one sentence, found in any text, and shown beside the texts that have it."""

import pytest

from pages.ui.inspect.closing import OPEN
from pages.ui.inspect.drawers import REFERENCE
from pages.ui.shared.words import WORDS, explained, words_in
from tests.pages.reading import open_page

ASKED = ("nat", "entropy", "ROC-AUC", "head", "PRR", "uncertainty", "token", "layer", "attention", "collapse")


def test_every_word_has_one_sentence_and_no_other_word_explains_it_alone():
    assert {word.name for word in WORDS} >= set(ASKED)
    for word in WORDS:
        assert word.explanation.endswith(".")
        assert ". " not in word.explanation
        assert len(word.explanation.split()) <= 40
        assert [found.name for found in words_in(f"a {word.name}, some {word.name.upper()}s")] == [word.name]


def test_the_explanation_of_uncertainty_says_why_it_can_be_negative():
    assert "negative" in explained("Uncertainty −0.31")


def test_words_are_found_as_words_alone():
    assert [word.name for word in words_in("Heads of all layers: PRR by ROC-AUC, in nats")] == [
        "head",
        "layer",
        "PRR",
        "ROC-AUC",
        "nat",
    ]
    assert words_in("Ahead, a nation of headless tokenisers") == ()
    assert explained("Nothing here", "") is None


def test_a_text_of_a_user_is_not_in_its_explanations():
    assert "<b>" not in explained("<b>head</b> **x**")


@pytest.mark.parametrize("page", ["answer_sets", "methods", "runs", "evidence", "compare"])
def test_a_page_explains_its_words(page):
    shown = open_page(page)
    assert not shown.exception
    helps = [
        one.help for kind in ("caption", "header", "text") for one in shown.get(kind) if getattr(one, "help", None)
    ]
    assert any("**" in text for text in helps)


OF_FORM = ("37 prompt tokens", "Tokens are sampled")


def test_the_drawer_and_the_figures_of_inspect_explain_their_words():
    page = open_page("inspect", example="canberra")
    page.session_state[OPEN] = REFERENCE
    page.session_state["folded_Figures"] = True
    page = page.run()
    texts = [one for kind in ("caption", "text") for one in page.get(kind) if words_in(one.value)]
    asked = [one for one in texts if not one.value.startswith(OF_FORM)]
    assert len(asked) == 4
    assert [one.value for one in asked if one.help != explained(one.value)] == []
