"""Which tokens are parts of names, numbers and words that the question lacks."""

import numpy as np
import pytest

from rauq.trace.words import asked_tokens, content_tokens, named_tokens, word_tokens


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


@pytest.mark.parametrize(
    ("texts", "question", "asked"),
    [
        (
            ("The", " Mon", "a", " Lis", "a", " was", " paint", "ed"),
            "Who painted the Mona Lisa?",
            "The Mona Lisa painted",
        ),
        (("Mona", "co", " or", " Mona"), "Mona?", " Mona"),
        (("SAO", " Paulo", "."), "Is it São Paulo?", "SAO Paulo"),
        (("12", " or", " 1", "2"), "12?", "12 12"),
        (("New", "-old", " York"), "Is New York old?", " York"),
        (("Oslo/", "Paris"), "Oslo?", "Oslo/"),
        (("Oslo/Par", "is"), "Oslo?", ""),
        ((".", "\n", ""), "What. \n?", ""),
        (("Oslo",), "", ""),
    ],
)
def test_a_word_of_the_question_is_a_whole_word_of_it(texts, question, asked):
    assert chosen(texts, asked_tokens(texts, question)) == asked


@pytest.mark.parametrize("seed", range(20))
def test_every_word_is_of_the_question_or_it_is_not(seed):
    """Tokens that are words of their own: those of the question, and no name or word of content, whatever the case."""
    rng = np.random.default_rng(seed)
    texts = [f" {word}" for word in rng.choice(["Oslo", "oslo", "Bergen", "seven", "7", "the", "Ölme"], size=8)]
    question = " ".join(rng.choice(texts, size=3)).upper()
    asked = asked_tokens(texts, question)
    assert asked.tolist() == [text.upper() in question for text in texts]
    assert not (asked & (named_tokens(texts, question) | content_tokens(texts, question))).any()
    assert asked_tokens(texts, "".join(texts)).all()
