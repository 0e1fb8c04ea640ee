import math
import re
from itertools import pairwise

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


@pytest.mark.parametrize(
    ("value", "places", "shown"),
    [
        (0.0005, 2, "< 0.01"),
        (0.0049, 2, "< 0.01"),
        (0.0051, 2, "0.01"),
        (-0.0051, 2, "−0.01"),
        (-0.0049, 2, "0.00"),  # on a scale with numbers of either sign, nothing begins at zero
        (1e-300, 0, "< 1"),
        (0.0, 2, "0.00"),
        (-0.0, 2, "0.00"),
        *((value, 3, shown) for value, shown in NUMBERS if value != -0.0001),
    ],
)
def test_what_would_be_rounded_to_zero_is_said_to_be_small(value, places, shown):
    assert labels.amount(value, places=places) == shown


@given(st.floats(), st.integers(0, 6))
def test_what_is_above_zero_does_not_read_as_zero(value, places):
    shown = float(re.sub("[^0-9.]", "", labels.amount(value, places=places)) or "nan")
    assert value <= 0 or math.isnan(value) or shown != 0


@pytest.mark.parametrize(("num_bytes", "shown"), [*SIZES, (1_234_500_000_000, "1,234.5 GB")])
def test_sizes_have_one_decimal_and_no_exponent(num_bytes, shown):
    assert labels.size(num_bytes) == shown


@given(ANY_TEXT)
def test_everything_drawn_is_printable_but_for_joiners_between_letters(text):
    assert labels.visible(text).isprintable()
    assert re.sub("[\u200c\u200d]", "", labels.running(text)).isprintable()


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
    assert labels.about_weights(quantisation, "bfloat16", "") == said
    adapted = labels.about_weights(quantisation, "bfloat16", "mine (LoRA)")
    assert adapted == f"{said} The adapter mine (LoRA) is applied.".strip()


@given(st.lists(st.one_of(st.binary(max_size=4), st.text(max_size=3).map(str.encode))), st.booleans())
def test_whole_characters_are_the_same_bytes_cut_between_characters(pieces, goes_on):
    whole = labels.whole_characters(pieces, goes_on=goes_on)
    text = b"".join(pieces)
    assert len(whole) == len(pieces)
    assert text.startswith(b"".join(whole))
    if not goes_on:
        assert b"".join(whole) == text
        assert "".join(piece.decode("utf-8", "surrogateescape") for piece in whole) == text.decode(
            "utf-8", "surrogateescape"
        )


def test_a_character_is_drawn_at_the_last_of_its_tokens():
    smile = "😀".encode()
    assert labels.whole_characters([b"a" + smile[:1], smile[1:2], smile[2:] + b"b"]) == (b"a", b"", smile + b"b")
    assert labels.whole_characters([b"a", smile[:2]], goes_on=True) == (b"a", b"")
    assert labels.whole_characters([b"a", smile[:2], b"b"], goes_on=True) == (b"a", smile[:2], b"b")
    assert labels.running_parts([b"a", b"", smile[:2]]) == ((("a", False),), (), (("⟨F0 9F⟩", True),))
    assert [parts[0].text for parts in labels.boxed_parts([smile[:3], smile[3:]])] == ["😀 1/2", "😀"]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ((b"\xe5\x9b", b"\xbd"), ("国 1/2", "国 2/2")),
        (("a 国".encode()[:3], "国".encode()[1:2], "国b".encode()[2:]), ("a·国 1/3", "国 2/3", "国b 3/3")),
        ((b"a", "한".encode(), b""), ("a", "한", "∅")),
        ((b"\xe5\x9b", b"b", b"\xff"), ("⟨E5 9B⟩", "b", "⟨FF⟩")),
        ((), ()),
    ],
)
def test_a_token_that_is_a_part_of_a_character_has_that_character_and_which_part(pieces, expected):
    assert labels.token_labels(pieces) == expected


@given(st.text(st.characters(exclude_categories=("Cs",))), st.lists(st.integers(0, 40), max_size=8))
def test_however_a_text_is_cut_whole_tokens_keep_their_label_and_parts_have_the_character(text, cuts):
    whole = text.encode()
    places = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    pieces = [whole[start:stop] for start, stop in pairwise(places)]
    for piece, found in zip(pieces, labels.token_labels(pieces), strict=True):
        is_whole = piece.decode("utf-8", "replace").encode() == piece
        assert found == labels.label(piece) if is_whole else re.search(r" \d/\d$", found)
        assert found.isprintable()


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("می\u200cخرم", "می\u200cخرم"),
        ("👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"),
        ("क्\u200dष", "क्\u200dष"),
        ("می\u200c\u200cخ", "می\u200c⟨U+200C⟩خ"),
        ("pass\u200cword", "pass⟨U+200C⟩word"),
        ("\u200dم", "⟨U+200D⟩م"),
        ("שלום\u200f!", "שלום\u200f⟨U+200F⟩!"),
        ("\u202eשבת", "⟨U+202E⟩שבת"),
    ],
)
def test_joiners_and_marks_of_direction_act_as_where_they_were_typed(text, drawn):
    assert "".join(part.text for (parts,) in [labels.running_parts([text.encode()])] for part in parts) == drawn
    assert labels.running(text) == drawn.replace("\u200f⟨", "⟨")


@pytest.mark.parametrize(
    ("text", "direction"),
    [("The capital", "ltr"), ("GPT-4 نموذج لغوي", "rtl"), ("12 % (", "ltr"), ("ירושלים", "rtl"), ("", "ltr")],
)
def test_an_answer_runs_in_the_direction_of_most_letters(text, direction):
    assert labels.direction([text.encode()[:5], text.encode()[5:]]) == direction


def test_boxes_are_ordered_by_letters_and_digits():
    pieces = [" عا".encode(), b" GPT", b"-", b"4", "٣".encode(), b".", "ש".encode()[:1], "ש".encode()[1:]]
    assert labels.order_marks(pieces) == ("\u200f", "\u200e", "", "\u200e", "\u200e", "", "", "\u200f")
