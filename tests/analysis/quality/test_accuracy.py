"""Accuracy by letter, number or words, depending on the reference."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.quality.matching import accuracy

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
    *[("The answer is 17. 18", "18"), ("5", "Paris"), ("Paris, France", "Paris"), ("", "Paris"), ("0", "O")],
]

FORMS_OF_18 = [
    "The answer is 18. Check: 3 are left",
    "The answer is 18, since 3 * 6 = 18 and 18 / 6 = 3.",
    "The answer is 5 + 13 = 18. Of these 3 are left.",
    "The answer is 18 (20 - 2 = 18, and 2 are eaten).",
    "The answer is $18 a day, or $126 a week.",
    "The answer is 18 dollars for 7 days.",
    "The answer is 18€, not 3€.",
    "The answer is US$18.00 for 2.",
    "The answer is ₹18 for 2.",
    "the answer is 18kg in 2 bags",
    r"The final answer is $\boxed{18}$. I hope it is correct, 1 of 2.",
    r"Thus \boxed{18}. Check: 2 * 9 = 18, 0 left.",
    "\\[ \\boxed{\\$18} \\]\nSo 3 are left.",
    r"The answer is \(18\). Of these 2",
    r"\boxed{18\text{ eggs}} in 2 nests",
    r"\boxed{3 \times 6 = 18} in 2 nests",
    r"The answer is $\frac{36}{2} = 18$ in 2 nests.",
    r"\boxed{\frac{36}{2}} = 18.0",
    "The answer is **18**. Check: **3** left.",
    "**The answer is:** 18 of 20",
    "**Answer:** $18, of 20",
    "**18** left",
    "20 - 2 = 18\n#### 18\n\nQ: 3?",
    "####18 of 20",
    "#### $18.00 for 2",
    "She sells 9*2=<<9*2=18>>18",
    "The answer is:\n\n18\n\nCheck: 3",
    "The answer is: 18 of 20",
    "Therefore, the answer is 18.\nCheck: 3 left",
    "Therefore, of 20 eggs she sells 18.",
    "So the answer is 18. The answer is 3.",
    "What the answer is: see.\nIt is 18.",
    "The answer is 18% of 50, so 9.",
    "The answer is 36/2, of 3.",
    "The answer is x = 18 for y = 2.",
    "18:00",
    "The answer is 18:00, 2 hours late",
    "The answer is 2^3 + 10 = 18 for 2.",
    "The answer is 20 minus 2 equals 18, for 2.",
    "The answer is 9 * 2, which is 18, for 2.",
    "The answer is 9x2=18, 2",
    "The answer is 9 eggs + 9 eggs = 18 eggs in 2 nests",
    "The answer is (3 + 3) * 3 = 18 with 3",
    "answer is 18 = 9 * 2",
]
FORMS_OF_OTHERS = [
    *[(text, "70000") for text in ("The answer is $70,000 of 3.", r"\boxed{70{,}000} in 2", r"\boxed{70\,000} in 2")],
    *[
        (text, "-5")
        for text in ("The answer is -5. Of 3", "The answer is -$5 of 3", "answer is **−5** of 3", "0-5 = -5")
    ],
    *[(text, "3.5") for text in ("The answer is 3.5 of 4.", "The answer is 3 1/2 of 4.", r"\boxed{\frac{7}{2}} of 4")],
    *[
        (text, "3.5")
        for text in ("The answer is 7/2 of 4.", "The answer is 14/4 = 7/2 of 4.", "the answer is 3:30 p.m., 1")
    ],
    ("The answer is -3 1/2 of 4.", "-3.5"),
    ("The answer is .5 of 2", "0.5"),
    ("so 1/2", "0.5"),
    ("10/3 ≈ 3.33", "3.33"),
    ("The answer is 1,234,567.89 of 2.", "1234567.89"),
    ("The answer is 12.50.\n2", "12.5"),
    (f"{'9' * 5000}", "9" * 5000),
]
NOT_18 = [
    "The answer is 17. No, 18",
    "The answer is 3 + 14 = 17, not 18",
    r"\boxed{17} or 18",
    "The answer is 18/20 of 18",
    "The answer is 5:18",
    "The answer is -18",
    "#### 1.8, 18",
    "The answer is 1 18/20",
    "answer: 17 and 18",
    "18/0 or 0",
]


@pytest.mark.parametrize("answer", FORMS_OF_18)
def test_the_number_behind_the_answer_is_read_in_the_forms_that_models_write(answer):
    assert accuracy(answer, "She sells 9 * 2 = <<9*2=18>>18 eggs.\n#### 18") == 1


@pytest.mark.parametrize(("answer", "reference"), FORMS_OF_OTHERS)
def test_thousands_signs_fractions_and_times_are_numbers(answer, reference):
    assert accuracy(answer, reference) == 1


@pytest.mark.parametrize("answer", NOT_18)
def test_a_number_elsewhere_in_the_answer_is_not_its_result(answer):
    assert accuracy(answer, "#### 18") == 0


def test_a_long_answer_of_one_repeated_part_is_judged():
    for part in (" ", "x", "1 ", "1 + ", "=", "a ", "<<", "\\frac{", "1 is ", "answer is ", "1,", "("):
        assert accuracy(f"The answer is 1 {part * 20_000}", "18") == 0


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
