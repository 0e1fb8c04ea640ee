"""The largest groups are shown, and it is said where others are not."""

from analysis.answer_sets.sides import MOST_GROUPS, groups_note, shown_groups


def test_a_few_groups_are_all_shown_in_order():
    groups = ["b", "a", "", "b"]
    assert shown_groups(groups) == ["", "a", "b"]
    assert groups_note(groups) == ""


def test_one_group_is_all_answers():
    assert shown_groups(["a", "a"]) == shown_groups([]) == []


def test_of_many_the_largest_are_shown():
    groups = [f"g{number:02}" for number in range(50) for _ in range(1 + (number >= 30))]
    assert shown_groups(groups) == [f"g{number}" for number in range(30, 50)]
    assert len(shown_groups(groups)) == MOST_GROUPS
    assert groups_note(groups) == "Of 50 groups the 20 largest are shown."
