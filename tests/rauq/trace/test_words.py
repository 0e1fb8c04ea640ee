"""Which tokens are parts of names, numbers and words that the question lacks."""

import numpy as np
import pytest

from rauq.trace.words import content_tokens, named_tokens, word_tokens


def chosen(texts, found):
    return "".join(np.array(texts, dtype=object)[found])


@pytest.mark.parametrize(
    ("texts", "question", "named"),
    [
        (("The", " capital", " is", " Os", "lo", "."), "What is the capital of Norway?", " Oslo"),
        (("Nor", "way", "'s", " capital", " is", " Oslo"), "What is the capital of Norway?", "Norway's Oslo"),
        (("It", " was", " 19", "12", "."), "When?", " 1912"),
        (("In", " 1912", ",", " I", " think"), "What happened in 1912?", ""),
        (("Yes", ".", " The", " Hague"), "Where?", " Hague"),
        (("at", " The", " Hague"), "Where?", " The Hague"),
        (("São", " Paulo"), "Is it SAO PAULO?", ""),
        (("gold", ""), "Which metal?", ""),
    ],
)
def test_names_and_numbers_that_the_question_lacks(texts, question, named):
    found = named_tokens(texts, question)
    assert chosen(texts, found) == named


def test_content_words_are_neither_function_words_nor_in_the_question():
    texts = ("The", " symbol", " Ce", " stands", " for", " cer", "ium", ".")
    found = content_tokens(texts, "Which chemical element has the symbol Ce?")
    assert chosen(texts, found) == " stands cerium"


def test_words_are_what_is_not_punctuation():
    texts = ("Oh", ",", " it", "'", "s", " 7", ".", "\n", "")
    assert chosen(texts, word_tokens(texts)) == "Oh it's 7"
