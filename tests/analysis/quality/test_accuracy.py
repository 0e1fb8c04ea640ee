"""Right or wrong by letter, by number or by words, as the reference is; a wrong reading would be a wrong quality."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.quality.accuracy import accuracy

RIGHT = [
    *[
        (text, "B")
        for text in ("B", " B", "b\n", "B.", "(B)", "**B**", "B) Paris", "B Paris", "B: Paris", "B\n\nC is not")
    ],
    *[
        (text, "B")
        for text in ("Answer: B", "The answer is B.", "the correct answer is (B), not A", "I choose option B")
    ],
    *[("A", "A"), ("A. Paris", "(A)"), ("A\n\nWhat", "A."), ("I", "I"), ("The answer is A", "A")],
    *[(text, "1234") for text in ("1234", "1,234", "$1,234.00", "#### 1,234", "so 5 * 6 = 1234.", "about 1234 apples")],
    *[(text, "#### 18") for text in ("The answer is 18.", "3 + 15 = 18", "The answer is 2 * 9 = $18", "18.0", "18%")],
    *[("The answer is 18.\n\nQ: 2?\nThe answer is 2.", "18"), ("The answer is clear: 18", "18"), ("-$5", "-5")],
    *[("\u22123", "-3"), ("10-5", "5"), (".5", "0.50"), ("0", "0.0"), ("4\n#### 18\n#### 3", "18"), ("€ 3", "3")],
    *[("The answer is nowhere. But 18", "18"), ("The Paris!", "paris"), ("Straße", "strasse"), ("1/2", "1/2")],
]
WRONG = [
    *[
        (text, "A")
        for text in ("", "A cat", "the answer is a cat", "An apple", "A-level", "A's", "B", "Alpha", "1", "A or B")
    ],
    *[("I think so", "I"), ("C++ is", "C"), ("B or C", "B"), ("(B) and (C)", "B"), ("Dogs", "D"), ("none of B", "B")],
    *[
        (text, "18")
        for text in ("", "no number", "180", "1.8", "-18", "18, then 19", "1,8", "118", "#### 17, not 18.5")
    ],
    *[("The answer is 17. 18", "17"), ("5", "Paris"), ("Paris, France", "Paris"), ("", "Paris"), ("0", "O")],
]


@pytest.mark.parametrize(("answer", "reference"), RIGHT)
def test_right(answer, reference):
    assert accuracy(answer, reference) == 1


@pytest.mark.parametrize(("answer", "reference"), WRONG)
def test_wrong(answer, reference):
    assert accuracy(answer, reference) == 0


@given(
    st.integers(-(10**9), 10**9),
    st.sampled_from(["{}", "{:,}", "{}.00", "It is {}.", "#### {}", "1 + 1, the answer is {}"]),
)
def test_a_number_is_read_in_every_form_and_its_neighbour_is_wrong(number, form):
    assert accuracy(form.format(number), str(number)) == 1
    assert accuracy(form.format(number + 1), str(number)) == 0


@given(st.text(), st.text())
def test_any_text_is_judged(answer, reference):
    assert accuracy(answer, reference) in {0, 1}
