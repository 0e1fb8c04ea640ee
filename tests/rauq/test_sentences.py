import random
from time import process_time

import pytest

from rauq.sentences import passages, sentences
from tests.token_texts import token_texts

PIECES = (
    *("Dr. ", "e.g. ", "3.5 ", "Paris", " is", ".", "...", "…", "! ", "? ", "\n", "\r\n", "\n\n", "1. ", "- ", "* "),
    *(
        "。",
        "日本",
        "「",
        "」",
        '"',
        "”",
        "(",
        ")",
        "**",
        "😀",
        "é",
        "e\u0301",
        "שלום. ",
        "؟ ",
        "।",
        "\u00a0",
        "\u2028",
        "\x00",
    ),
    *("U.S. ", "J. ", "The ", "\ud800", "\ufffd", "A\x85.", "---"),
)


def split(text):
    return [text[start:end] for start, end in sentences(text)]


def mixtures(count=300):
    chosen = random.Random(0)
    return ["".join(chosen.choices(PIECES, k=chosen.randint(0, 30))) for _ in range(count)]


@pytest.mark.parametrize(
    "found",
    [
        # as sentencex 1.0.32 splits these texts, but for lines, on which it has no rule
        ["Dr. Smith went e.g. to Paris. ", "It cost 3.5 euros... ", "He left. ", "Wait... what? ", "Yes!"],
        ["J. K. Rowling wrote it. ", "Mr. X did not."],
        ["東京は日本の首都です。", "パリはフランスの首都です。"],
        ["שלום עולם. ", "מה שלומך? ", "טוב."],
        ["😀 Hi there. ", "😀 Bye."],
        # by reading
        ["1. Paris\n", "2. Rome\n\n", "3. Oslo is cold. ", "It is in Norway."],
        ["- a\n", "- b\r\n", "* **Bold:** text. ", "More."],
        ["a) Lima\n", "b) Oslo"],
        ["“Really?” she said. ", "(Yes.) ", "**No.** ", "It is."],
        ["The symbol is H. ", "The number is 1. ", "It is."],
        ["No. 5 is late. ", "No. ", "It is not. ", "U.S. Grant was born in the U.S. ", "He died."],
        ["हिन्दी है। ", "ठीक है।"],
        ["ما هذا؟ ", "هذا كتاب."],
        ["Yahoo! is old. ", "Node.js is not."],
        ["Call it with e.g. `score`. ", "`check` reads all."],
        ["A rule:\n---\n", "Text. 😀"],
        ["\n\n# Title\n", "Text"],
    ],
)
def test_a_text_is_split_as_a_reader_splits_it(found):
    assert split("".join(found)) == found


@pytest.mark.parametrize("text", ["---\n***\n", "\n \n", "...", "😀", "!!! ???"])
def test_a_text_without_letters_and_digits_is_one_sentence(text):
    assert sentences(text) == ((0, len(text)),)


def test_no_text_has_no_sentence():
    assert sentences("") == ()


def test_sentences_joined_are_the_text_and_each_has_a_letter_or_a_digit():
    for text in (*mixtures(), *token_texts()):
        found = split(text)
        assert "".join(found) == text
        assert len(found) <= 1 or all(any(map(str.isalnum, one)) for one in found)


def test_a_line_is_never_in_a_sentence_with_another_that_has_letters():
    for text in mixtures():
        lines = [sum(any(map(str.isalnum, line)) for line in one.splitlines()) for one in split(text)]
        assert all(count <= 1 for count in lines)


@pytest.mark.parametrize("text", ["word ", "x", "日。", "“", "'", "A. ", "? \t", "(a. b) ", "\n", " ", ".", "U.S."])
def test_time_is_linear_in_any_text(text):
    def seconds(length):
        start = process_time()
        sentences((text * length)[:length])
        return process_time() - start

    seconds(1_000)
    assert seconds(50_000) < 0.5


TEN = " ".join(f"Sentence {number} is here." for number in range(10))


@pytest.mark.parametrize(("most", "sizes"), [(1, [10]), (3, [3, 3, 4]), (10, [1] * 10), (64, [1] * 10)])
def test_passages_are_groups_of_about_as_many_sentences(most, sizes):
    spans = passages(TEN, most=most)
    texts = [TEN[start:end] for start, end in spans]
    assert "".join(texts) == TEN
    assert [text.count("Sentence") for text in texts] == sizes
    assert all(text.startswith(" Sentence") for text in texts[1:])  # as tokens do


@pytest.mark.parametrize(("text", "spans"), [("", ()), ("a", ((0, 1),)), ("One.\nTwo.", ((0, 5), (5, 9)))])
def test_passages_of_short_texts(text, spans):
    assert passages(text, most=64) == spans
