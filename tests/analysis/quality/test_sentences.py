"""Sentences end at full stops, but not behind abbreviations; no letter is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.normalisation import split_sentences


@pytest.mark.parametrize(
    "sentences",
    [
        ["One."],
        ["It rains.", "It pours!", "Does it?", "3 times."],
        ["Mr. Smith met Dr. Jones.", "They left."],
        ["J. K. Rowling wrote in the U.S. it seems.", "Pi is 3.14 exactly."],
        ['He said "No."', "Then (so it goes...)", "He left."],
        ["no capital. so no end"],
        ["It is so (see below.)", "“Quoted.”", "Last"],
    ],
)
def test_a_text_is_cut_where_its_sentences_end(sentences):
    assert split_sentences(f" {' '.join(sentences)}\n") == sentences


def test_scripts_without_spaces_end_too():
    assert split_sentences("你好。再见\uff01「真的\uff1f」是") == ["你好。", "再见\uff01", "「真的\uff1f」", "是"]


@given(st.text(' .!?aB\n"。', max_size=60))
def test_nothing_but_spaces_is_lost(text):
    sentences = split_sentences(text)
    assert "".join("".join(sentences).split()) == "".join(text.split())
    assert all(sentence == sentence.strip() != "" for sentence in sentences)
