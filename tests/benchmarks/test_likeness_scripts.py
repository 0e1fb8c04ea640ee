"""Questions in other scripts: what is asked, and which answers count as correct."""

from collections import Counter

import pytest

from analysis.one_answer.likeness import script_of
from benchmarks.likeness.scripts import LANGUAGES, Asked, is_correct, names_in, questions

BY_CODE = {language.code: language for language in LANGUAGES}
ALL = questions(200)


def asked(code, kind, zone, country):
    names, language = names_in(code), BY_CODE[code]
    text = (
        language.capital.format(names.country[country]) if kind == "city" else language.country.format(names.city[zone])
    )
    return Asked(language, kind, text, zone if kind == "city" else country)


def test_each_question_is_in_its_script_once_and_names_no_answer():
    assert len({one.question for one in ALL}) == len(ALL) == 200
    assert min(Counter(one.language.code for one in ALL).values()) >= 38
    for one in ALL:
        assert script_of(one.question) == one.language.script
        assert not is_correct(one, one.question)
        assert is_correct(one, getattr(names_in(one.language.code), one.kind)[one.right])
        assert is_correct(one, getattr(names_in("en"), one.kind)[one.right])


PARIS, TOKYO = ("Europe/Paris", "FR"), ("Asia/Tokyo", "JP")
CASES = [
    ("ru", "country", TOKYO, "Этот город находится в Японии.", True),
    ("ru", "country", TOKYO, "Токио находится во Франции, не в Японии.", False),
    ("ru", "city", PARIS, "Столица — Москва.", False),
    ("el", "city", PARIS, "Είναι το Παρίσι.", True),
    ("ar", "country", TOKYO, "تقع طوكيو في اليابان.", True),
    ("zh", "city", PARIS, "法国的首都是巴黎。", True),
    ("zh", "city", PARIS, "法国。", False),
    ("hi", "country", TOKYO, "यह जापान में है।", True),
    ("hi", "country", TOKYO, "It is in Japan.", True),
    ("hi", "city", PARIS, "London, not Paris.", False),
]


@pytest.mark.parametrize(("code", "kind", "place", "answer", "expected"), CASES)
def test_an_answer_is_correct_where_the_first_name_in_it_is_the_right_one(code, kind, place, answer, expected):
    assert is_correct(asked(code, kind, *place), answer) is expected
