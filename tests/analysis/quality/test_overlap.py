"""Exact match, token F1 and ROUGE-L: values worked out by hand, and laws that each of them keeps."""

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.quality.matching import exact_match, load_rouge_l, token_f1, words
from rauq.errors import InvalidInput

SCORES = pytest.mark.parametrize("score", [exact_match, token_f1, load_rouge_l()], ids=["exact", "f1", "rouge"])


@SCORES
@given(first=st.text("abc de,.", min_size=1), second=st.text("abc de,."))
def test_a_score_lies_between_0_and_1_is_1_for_equal_texts_and_symmetric(score, first, second):
    if words(first) and not math.isnan(score(first, first)):
        assert score(first, first) == 1
        assert 0 <= score(second, first) <= 1
    if not (math.isnan(score(first, second)) or math.isnan(score(second, first))):
        assert score(first, second) == pytest.approx(score(second, first))


@pytest.mark.parametrize(
    ("answer", "reference", "exact", "f1"),
    [
        ("The Eiffel Tower!", "eiffel tower", 1, 1),
        ("a  cat", "An cat.", 1, 1),
        ("in Paris, France", "Paris", 0, 1 / 2),
        ("blue blue", "blue", 0, 2 / 3),
        ("red", "blue", 0, 0),
        ("", "blue", 0, 0),
        ("\n", "the", 0, 0),
        ("the", "The", 1, 1),
        ("a", "the", 0, 0),
        ("!", "?", 0, 0),
        ("STRASSE", "straße", 1, 1),
        ("\uff46\uff55\uff4c\uff4c", "full", 1, 1),
        ("हिन्दी", "हिन्दी।", 1, 1),
        ("हिन्द", "हिन्दी", 0, 0),
        ("東京都", "東京", 0, 4 / 5),
        ("東京。", "東京", 1, 1),
    ],
)
def test_exact_match_and_f1_of_words(answer, reference, exact, f1):
    assert exact_match(answer, reference) == exact
    assert token_f1(answer, reference) == pytest.approx(f1)


@pytest.mark.parametrize(
    ("answer", "reference", "wanted"),
    [
        ("the cat sat on the mat", "the cat was on the mat", 5 / 6),
        ("cats running", "cat runs", 1),  # by stems
        ("b a", "a b", 1 / 2),
        ("", "a b", 0),
    ],
)
def test_rouge_l_is_the_longest_common_subsequence(answer, reference, wanted):
    assert load_rouge_l()(answer, reference) == pytest.approx(wanted)


def test_rouge_l_says_nothing_of_scripts_it_does_not_read():
    assert math.isnan(load_rouge_l()("東京", "東京"))


def test_without_its_package_rouge_l_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "rouge_score.rouge_scorer", None)
    with pytest.raises(InvalidInput, match=r"pip install -r requirements-extra\.txt"):
        load_rouge_l()
