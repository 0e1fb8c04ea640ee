"""Where facts stand in an answer: every occurrence, never a part of a longer word or number."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.quality.judgement import fact_spans


@pytest.mark.parametrize(
    ("answer", "texts", "found"),
    [
        ("In 1912, not 1912b or 19120.", ["1912"], ["1912"]),
        ("Paris, paris and PARIS", ["Paris"], ["Paris", "paris", "PARIS"]),
        ("Parisian comparisons", ["Paris"], []),
        ("Über uns, über", ["über", "ber"], ["Über", "über"]),
        ("New York is in New York State", ["New York State", "New York"], ["New York", "New York", "New York State"]),
        ("他住在北京市。", ["北京"], ["北京"]),
        ("costs $5.00 (or 5.00)", ["$5.00", "(or"], ["$5.00", "(or"]),
        ("a.b axb", ["a.b"], ["a.b"]),
        ("anything", ["", "  "], []),
        ("", ["a"], []),
    ],
)
def test_every_occurrence_and_no_part_of_a_word(answer, texts, found):
    assert [answer[start:end] for start, end in fact_spans(answer, texts)] == found


@given(st.text(), st.lists(st.text(), max_size=4))
def test_what_is_marked_is_one_of_the_texts(answer, texts):
    spans = fact_spans(answer, texts)
    assert list(spans) == sorted(set(spans))
    for start, end in spans:
        assert any(re.fullmatch(re.escape(text.strip()), answer[start:end], re.IGNORECASE) for text in texts)
