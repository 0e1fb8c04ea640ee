"""Names the reference: which answers count as correct, pair by pair, and what must not."""

import math

import pytest

from analysis.datasets.example import Example
from analysis.quality.matching import names_reference
from analysis.quality.measures import load_judge

YES = [
    ("The capital of Azerbaijan is Baku.", "Baku"),
    ("baku", "Baku"),
    ("**Baku**", "Baku"),
    ("Baku's old town", "Baku"),
    ("It is BAKU!", "baku"),
    ("The Beatles", "the Beatles"),
    ("Beatles", "The Beatles"),
    ("Baku, of course", "\u201cBaku\u201d"),
    ("Brasilia is the capital.", "Brasília"),
    ("Brasília", "Brasilia"),
    ("Lodz", "Łódź"),
    ("Tórshavn", "Torshavn"),
    ("İstanbul", "istanbul"),
    ("Straße", "strasse"),
    ("So\u0301fia", "Sofia"),
    ("Bak\u00adu", "Baku"),
    ("Guinea Bissau", "Guinea-Bissau"),
    ("Sanaa", "Sana'a"),
    ("It is Sana\u2019a.", "Sana'a"),
    ("in St. Petersburg", "Saint Petersburg"),
    ("Simon & Garfunkel", "Simon and Garfunkel"),
    ("Mount Everest", "Mt. Everest"),
    ("J.R.R. Tolkien wrote it", "J. R. R. Tolkien"),
    ("JRR Tolkien", "J.R.R. Tolkien"),
    ("in the U.S. today", "US"),
    ("in the US", "U.S."),
    ("the U. S. dollar", "US dollar"),
    ("A spider has eight legs.", "8"),
    ("It has 8.", "eight"),
    ("Twenty-six letters", "26"),
    ("two hundred and six bones", "206"),
    ("one thousand", "1,000"),
    ("a thousand and one nights", "1001"),
    ("about 8 million people", "8,000,000"),
    ("8,000,000", "eight million"),
    ("in nineteen eighty-four", "1984"),
    ("twenty twenty", "2020"),
    ("two thousand and eight", "2008"),
    ("It ended in 1945.", "1945"),
    ("1234", "1,234"),
    ("1 234 km", "1,234"),
    ("1\u202f234\u202f567", "1234567"),
    ("1.234.567,5", "1234567.5"),
    ("12,5 %", "12.5 percent"),
    ("$1,000", "1000"),
    ("5.0", "5"),
    ("It is -5 degrees", "−5"),
    ("the third planet", "3rd"),
    ("The symbol of gold is Au.", "Au"),
    ("(He)", "He"),
    ("The symbol is He, of course", "He"),
    ("The symbol of iodine is I.", "I"),
    ("Au-197", "Au"),
    ("no, it is not", "No"),
    ("The formula is H₂O.", "H2O"),
    ("C++", "C++"),
    ("Its sign is €.", "€"),
    ("日本の首都は東京です。", "東京"),
    ("北京是首都", "北京"),
    ("เมืองหลวงคือกรุงเทพมหานคร", "กรุงเทพ"),
    ("수도는 서울입니다", "서울"),
    ("Столица — Москва.", "москва"),
    ("भारत की राजधानी", "भारत"),
    ("The gas is carbon\ndioxide", "carbon dioxide"),
    ("by Gabriel García Márquez", "Gabriel Garcia Marquez"),
    ("Panama City", "Panama City"),
]
NO = [
    ("The capital is Ganja.", "Baku"),
    ("", "Baku"),
    ("...", "Baku"),
    ("Bakuvian", "Baku"),
    ("Parisian", "Paris"),
    ("kangaroos", "kangaroo"),
    ("kangaroo", "kangaroos"),
    ("the United States", "USA"),
    ("Dioxide of carbon", "carbon dioxide"),
    ("au pair", "Au"),
    ("AU", "Au"),
    ("he is a chemist", "He"),
    ("He is a chemist.", "He"),
    ("Yes. He's a chemist", "He"),
    ("I do not know, I think", "I"),
    ("In short, gold", "In"),
    ("tell us more", "US"),
    ("a vitamin", "A"),
    ("NaCl", "Cl"),
    ("As3H", "As"),
    ("He has 80 legs.", "8"),
    ("3.14", "3"),
    ("the 1990s", "1990"),
    ("-5", "5"),
    ("10²", "102"),
    ("12,345", "345"),
    ("one of the largest", "1"),
    ("No one knows the one", "1"),
    ("seventeen", "7"),
    ("eighty-four", "4"),
    ("C is a language", "C++"),
    ("東大", "東京"),
    ("Moscow", "Москва"),
    ("हिन्दी", "हिन्द"),
]


@pytest.mark.parametrize(("answer", "reference"), YES)
def test_an_answer_that_names_its_reference_is_correct(answer, reference):
    assert names_reference(answer, reference) == 1


@pytest.mark.parametrize(("answer", "reference"), NO)
def test_an_answer_that_does_not_is_incorrect(answer, reference):
    assert names_reference(answer, reference) == 0


@pytest.mark.parametrize("reference", ["", " ", "...", "?!", "-", "\u200b"])
def test_a_reference_without_a_word_names_nothing(reference):
    assert math.isnan(names_reference("Baku ... ?!", reference))


@pytest.mark.parametrize(
    ("references", "quality"),
    [(("Lutetia", "Paris"), 1.0), (("...", "Paris"), 1.0), (("...", "Rome"), 0.0), (("...",), math.nan)],
)
def test_the_best_alias_counts_and_one_without_a_word_is_left_out(references, quality):
    (judged,) = load_judge("contains")([Example(id="1", prompt="Capital?", references=references)], ["It is Paris."])
    assert judged.quality == pytest.approx(quality, nan_ok=True)
    assert bool(judged.reason) == math.isnan(quality)


@pytest.mark.parametrize("text", ["1," * 5000, "one " * 5000, "twenty " * 5000, "1 thousand " * 3000, "-" * 10_000])
def test_a_long_answer_of_numbers_is_judged_as_any_other(text):
    assert names_reference(text, "Baku") == 0
    assert names_reference(f"{text} Baku", "Baku") == 1
