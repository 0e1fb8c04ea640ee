import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rauq import labels

NUMBERS = [
    (math.nan, "–"),
    (-0.0001, "0.000"),
    (-1.5, "−1.500"),
    (math.inf, "∞"),
    (-math.inf, "−∞"),
    (1234, "1234.000"),
]
SIZES = [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (178_048, "178.0 kB"), (16_060_522_496, "16.1 GB")]
ANY_TEXT = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(("value", "shown"), NUMBERS)
def test_numbers_read_as_such(value, shown):
    assert labels.number(value) == shown


@pytest.mark.parametrize(("num_bytes", "shown"), [*SIZES, (1_234_500_000_000, "1,234.5 GB")])
def test_sizes_have_one_decimal_and_no_exponent(num_bytes, shown):
    assert labels.size(num_bytes) == shown


@given(ANY_TEXT)
def test_everything_drawn_is_printable(text):
    assert labels.visible(text).isprintable()
    assert labels.running(text).isprintable()


@given(ANY_TEXT)
def test_lines_stay_lines(text):
    assert labels.lines(text).split("\n") == [labels.running(line) for line in text.split("\n")]


@given(st.text(st.characters(categories=("L", "N", "P", "S"))))
def test_visible_text_is_unchanged(text):
    assert labels.visible(text) == text


@given(st.binary(max_size=8))
def test_a_token_of_any_bytes_has_a_printable_label(piece):
    label = labels.label(piece)
    assert label
    assert label.isprintable()
    assert "".join(part.text for part in labels.parts(piece)) == label


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        (b" Oslo", "·Oslo"),
        (b"\n", "↵"),
        (b"\x1b[0m", "␛[0m"),
        (b"\x7f", "␡"),
        ("\u202eab".encode(), "⟨U+202E⟩ab"),
        ("漢".encode()[:2], "⟨E6 BC⟩"),
        (b"", "∅"),
    ],
)
def test_label(piece, expected):
    assert labels.label(piece) == expected


def test_marks_are_separate_from_text():
    assert labels.parts(b" a\n\nb") == (("·", True), ("a", False), ("↵↵", True), ("b", False))


def test_a_long_label_is_cut():
    assert labels.label(b"abcdef", longest=4) == "abc…"
    assert labels.label(b"abcd", longest=4) == "abcd"


def test_running_text_keeps_its_spaces():
    assert labels.running(" two  words\n") == " two  words↵"


@pytest.mark.parametrize(
    ("quantisation", "said"),
    [
        ("", ""),
        ("Q4_1", "The weights are quantised as Q4_1 in a GGUF file; the computation is in bfloat16."),
        ("F16", "The weights are stored as F16 in a GGUF file; the computation is in bfloat16."),
        ("Q4\n", "The weights are quantised as Q4↵ in a GGUF file; the computation is in bfloat16."),
    ],
)
def test_weights_of_a_gguf_file_are_named_with_what_they_are_computed_in(quantisation, said):
    assert labels.about_weights(quantisation, "bfloat16") == said
