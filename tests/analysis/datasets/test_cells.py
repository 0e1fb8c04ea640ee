"""What one cell holds: lists as JSON, Python and numpy write them, verdicts, choices."""

import json
import time

import numpy as np
import pytest

from analysis.datasets.cells import (
    NEUTRAL_WORDS,
    VERDICT_WORDS,
    conversation_of,
    marked_spans,
    marked_texts,
    result_of,
    structure_of,
    texts,
    verdict,
    verdict_word,
)
from analysis.datasets.choices import Naming, choices_of, letter_of, naming_of
from rauq.errors import InvalidInput

NAMES = ["Lisbon", "O'Neill", 'the "Lion"', "a, b; c", "tab\tline\n", "é 东京 🦁", "C:\\temp", "[x]"]


@pytest.mark.parametrize(
    "written",
    [
        json.dumps,
        repr,
        str,
        lambda names: str(tuple(names)),
        lambda names: repr(np.array(names, dtype=object)),
        lambda names: str(np.array(names, dtype=object)),
        lambda names: repr(np.array(names)),
        lambda names: json.dumps(names, ensure_ascii=False, indent=2),
        lambda names: json.dumps({"text": names}),
        lambda names: repr({"text": np.array(names, dtype=object), "answer_start": np.array([1, 2], dtype=np.int32)}),
    ],
)
def test_a_list_is_read_however_it_was_written(written):
    assert texts(written(NAMES), "c") == tuple(NAMES)
    assert texts(written(NAMES[:1]), "c") == ("Lisbon",)


@pytest.mark.parametrize(
    "words",
    [
        "[1, 2]",
        "[see below",
        "(1945)",
        "(a) Paris",
        "{x | x > 2}",
        "['a' b]",
        "[Lisbon, Lisboa]",
        "f(['a'])",
        "['a', open('b')]",
        "[x for x in 'ab']",
        r"['\d+']",
        "{'a'}.pop()",
        "[" * 5000,
        "['" + "(" * 5000,
        "[-" + "-" * 5000 + "1]",
        "",
    ],
)
def test_other_texts_are_one_text(words):
    assert texts(words, "c") == ((words,) if words else ())


def test_numbers_in_a_list_of_texts_are_texts():
    assert texts("['4', 4.5, None]", "c") == ("4", "4.5")
    assert texts([4, None, "four"], "c") == ("4", "four")
    assert structure_of("{'a': -1, 'b': [True]}") == {"a": -1, "b": [True]}


def test_a_list_that_was_shortened_is_refused():
    written = str(np.array([f"n{place}" for place in range(2000)], dtype=object))
    assert "..." in written
    with pytest.raises(InvalidInput, match=r"'c' was shortened with \.\.\. when it was written\. Write the whole list"):
        texts(written, "c")
    assert texts("['a', '...']", "c") == ("a", "...")


@pytest.mark.parametrize(("name", "mark"), [("semicolon", "; "), ("bar", " | "), ("bar", "|"), ("line", "\n")])
def test_a_separator_parts_the_texts_of_a_cell_and_of_no_list(name, mark):
    assert texts(mark.join(["a b", "c", "", "c"]), "c", separator=name) == ("a b", "c")
    assert texts(json.dumps(["a; b | c\nd"]), "c", separator=name) == ("a; b | c\nd",)


@pytest.mark.parametrize("hostile", ["[" * 90_000, "['a'" * 20_000, "['" + "\\'" * 40_000, "\\boxed{" * 12_000])
def test_a_hostile_cell_is_read_in_a_moment(hostile):
    begun = time.process_time()
    texts(hostile, "c")
    conversation_of(hostile)
    assert time.process_time() - begun < 2


@pytest.mark.parametrize("word", sorted(VERDICT_WORDS))
def test_a_verdict_has_two_sides(word):
    sides = verdict(word, "c"), verdict(word.upper(), "c", incorrect=True)
    assert set(sides) <= {0.0, 1.0}
    assert (sides[0] != sides[1]) == (word in NEUTRAL_WORDS)
    assert verdict_word(word) == word


@pytest.mark.parametrize(
    ("cell", "correct"),
    [
        (True, 1),
        (False, 0),
        (1, 1),
        (0.0, 0),
        (-1, 0),
        ("T", 1),
        ("n", 0),
        ("Not supported", 0),
        (" PASS.", 1),
        ("non-factual", 0),
        ("oui", 1),
        ("否", 0),
        ("✓", 1),
        ("Hallucinated", 0),
        ("not hallucinated", 1),
    ],
)
def test_verdicts_in_several_spellings(cell, correct):
    assert verdict(cell, "c") == correct


def test_a_verdict_may_be_missing_or_a_list_of_faults():
    assert verdict(None, "c") is None
    assert verdict(" ", "c", incorrect=True) is None
    assert [verdict(cell, "c", incorrect=True) for cell in ([], "[]", [{"start": 1}], "['x']")] == [1, 1, 0, 0]
    with pytest.raises(InvalidInput, match="'c' is 'perhaps'; a verdict such as true or false"):
        verdict("perhaps", "c")


def test_marked_places_and_marked_texts():
    spans = [{"start": 3, "end": 6}, {"start": 0, "end": 2, "text": "It"}]
    assert marked_texts(json.dumps(spans), "c", answer="It is so.") == ("is", "It")
    assert marked_texts("['is', 'so']", "c", answer="It is so.") == ("is", "so")
    assert marked_texts("is so", "c", answer="It is so.") == ("is so",)


@pytest.mark.parametrize("nothing", ["none", "None", " N/A ", "no", "-", "", "['none']", "[]"])
def test_words_for_nothing_mark_nothing(nothing):
    assert marked_texts(nothing, "c", answer="There is none.") == ()


@pytest.mark.parametrize(
    ("cell", "result"),
    [
        ("a\n#### 1,200 ", "1,200"),
        ("a\n####1200", "1200"),
        ("#### 5", "5"),
        ("a #### 5", ""),
        ("#### Heading\nText.", ""),
        ("Text.\n#### A heading that is as long as this one", ""),
        ("Text.\n####", ""),
        (r"\boxed{1} and \boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{1", ""),
        (3, ""),
    ],
)
def test_the_result_of_a_solution(cell, result):
    assert result_of(cell) == result


@pytest.mark.parametrize(
    ("named", "listed", "naming", "letter"),
    [
        (1, ["x", "y", "z"], Naming(first=0), "B"),
        ("1", ["x", "y", "z"], Naming(first=1), "A"),
        ("c", ["x", "y", "z"], Naming(), "C"),
        ("(B).", ["x", "y", "z"], Naming(), "B"),
        ("y", ["x", "y", "z"], Naming(), "B"),
        ("y", {"A": "x", "B": "y"}, Naming(), "B"),
        ("b", {"A": "x", "B": "y"}, Naming(), "B"),
        ("3", {"text": ["x", "y", "z"], "label": ["1", "2", "3"]}, Naming(), "C"),
        ("C", {"text": ["x", "y", "z"], "label": ["C", "D", "E"]}, Naming(), "A"),
        ("2", ["3", "2", "1"], Naming(by_text=True), "B"),
        ("B", ["B", "A", "AB"], Naming(by_text=True), "A"),
        ("B", ["B", "A", "AB"], Naming(), "B"),
    ],
)
def test_the_right_choice_is_named_in_several_ways(named, listed, naming, letter):
    choices = choices_of([listed], ["choices"])
    assert letter_of(named, "answer", choices=choices, naming=naming) == letter


@pytest.mark.parametrize(
    ("named", "listed", "naming"),
    [
        ([0, 3], "wxyz", Naming(first=0)),
        ([1, 4], "wxyz", Naming(first=1)),
        (["1", "4"], "wxyz", Naming(first=1)),
        ([1, 2], "wxyz", Naming(first=0)),
        ([1, 2] * 10, "wxyz", Naming(first=1)),
        ([0, *[1, 2] * 10], "wxyz", Naming(first=0)),
        (["A", "B"], "wxyz", Naming()),
        (["A", "B"], "BACD", Naming(by_text=True)),
        (["1", "2"], "4321", Naming(by_text=True)),
        (["1", "5"], "4321", Naming(first=0)),
        ([], "wxyz", Naming()),
    ],
)
def test_how_a_table_names_the_right_choice(named, listed, naming):
    choices = choices_of([list(listed)], ["choices"])
    assert naming_of([(cell, choices) for cell in named]) == naming


@pytest.mark.parametrize("named", ["w", 7, "E", ""])
@pytest.mark.parametrize("naming", [Naming(), Naming(by_text=True), Naming(first=1)])
def test_a_right_choice_that_is_none_of_them_is_refused(named, naming):
    with pytest.raises(InvalidInput, match="'answer' is"):
        letter_of(named, "answer", choices=choices_of([["x", "y", "z"]], ["choices"]), naming=naming)


@pytest.mark.parametrize(("listed", "got"), [(["x"], "1 choice;"), (list("abcdefghijk"), "11 choices;")])
def test_two_to_ten_choices_are_needed(listed, got):
    with pytest.raises(InvalidInput, match=f"'choices' gives {got} 2 to 10 are needed"):
        choices_of([listed], ["choices"])


@pytest.mark.parametrize(
    ("cell", "spans"),
    [
        ([{"start": 0, "end": 2}, {"start": 6, "end": 8, "text": "so"}], ((0, 2), (6, 8))),
        ("[[6, 8], [0, 2]]", ((6, 8), (0, 2))),
        ("0:2; 6:8", ((0, 2), (6, 8))),
        (["0:2", "0:2"], ((0, 2),)),
        ([{"start": 0, "end": 2, "text": "is"}], ()),
        ("0:99", ()),
        ("2:2", ()),
        ("is", ()),
        (None, ()),
        ([], ()),
    ],
)
def test_places_in_an_answer(cell, spans):
    assert marked_spans(cell, answer="It is so.") == spans


def test_a_time_that_the_answer_has_is_a_text_and_a_place_outside_is_refused():
    assert marked_spans("12:30", answer="It left at 12:30, with some fifty people.") == ()
    assert marked_texts("12:30", "c", answer="It left at 12:30, with some fifty people.") == ("12:30",)
    with pytest.raises(InvalidInput, match="'c' marks 20 to 22, but the answer has 9 characters"):
        marked_texts([{"start": 20, "end": 22}], "c", answer="It is so.")
