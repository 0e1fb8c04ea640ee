"""Smaller choices: in proportion, seeded, and part of the larger ones."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.datasets.example import Example, sample, spread
from rauq.errors import InvalidInput

EXAMPLES = [Example(id=str(n), prompt="Q", group="ab"[n % 2], stratum=str(n % 10 == 0)) for n in range(200)]
CHOICES = {"spread": lambda *args, seed: list(spread(*args, seed=seed)), "sample": sample}


@pytest.mark.parametrize("choose", CHOICES.values(), ids=CHOICES)
@given(small=st.integers(1, 250), large=st.integers(1, 250), seed=st.integers(0, 3))
def test_a_choice_has_its_size_keeps_the_order_and_is_part_of_a_larger_one(choose, small, large, seed):
    chosen = choose(EXAMPLES, small, seed=seed)
    assert chosen == choose(EXAMPLES, small, seed=seed)
    assert len(chosen) == min(small, len(EXAMPLES))
    numbers = [int(example.id) for example in chosen]
    assert numbers == sorted(numbers)
    assert small > large or {*chosen} <= {*choose(EXAMPLES, large, seed=seed)}


@pytest.mark.parametrize("choose", CHOICES.values(), ids=CHOICES)
def test_all_are_chosen_without_a_count_and_seeds_differ(choose):
    assert choose(EXAMPLES, None, seed=0) == EXAMPLES
    assert choose(EXAMPLES, 20, seed=0) != choose(EXAMPLES, 20, seed=1)
    with pytest.raises(InvalidInput, match="limit of 0; it must be at least 1"):
        choose(EXAMPLES, 0, seed=0)


def test_every_stratum_of_every_group_is_spread_in_proportion():
    whole = Counter((example.group, example.stratum) for example in EXAMPLES)
    for count in (20, 50, 100):
        part = Counter((example.group, example.stratum) for example in spread(EXAMPLES, count, seed=3))
        assert all(abs(part[key] - whole[key] * count / len(EXAMPLES)) <= 1 for key in whole)


def test_each_example_is_as_likely_as_any_other():
    drawn = Counter(item for seed in range(400) for item in sample(range(10), 3, seed=seed))
    assert all(80 < drawn[item] < 160 for item in range(10))  # 120 expected, four standard deviations
