"""The embedded evaluation sets as data sets."""

from collections import Counter

import pytest

from analysis.datasets.names import EMBEDDED_SETS, embedded_set
from rauq.atlas.evaluation import FAMILIES, load_examples

TRUTH = {example.id: example for family in FAMILIES for example in load_examples(family)}


def test_all_families_together_are_atlas():
    whole = embedded_set("atlas")
    assert [example.id for example in whole.examples] == list(TRUTH)
    assert whole.examples == sum((embedded_set(family).examples for family in FAMILIES), ())
    assert (whole.quality, whole.max_new_tokens, whole.stop) == ("exact_truth", 64, None)
    assert list(EMBEDDED_SETS) == ["atlas", *FAMILIES]


def test_every_example_matches_the_judge_by_id():
    for example in embedded_set("atlas").examples:
        truth = TRUTH[example.id]
        assert (example.prompt, example.group, example.stratum) == (truth.prompt, truth.family, truth.stratum)
        assert example.references == (truth.reference,)
        assert example.question in example.prompt.splitlines()[-2]
        assert example.question
        assert example.source in example.question
        assert bool(example.source) == (example.group != "places")


def test_question_and_source_of_one_of_each_family():
    examples = {example.id: example for example in embedded_set("atlas").examples}
    assert examples["places-0001"].question == "Which country is Tongaat in?"
    assert examples["translation-0000"].source == "Die Lehrerin poliert einen Schuh."
    assert examples["translation-0000"].question == f"Translate from German: {examples['translation-0000'].source}"
    assert examples["summaries-0001"].source.startswith("A market opened in Russia")
    assert examples["summaries-0001"].question == f"Text: {examples['summaries-0001'].source}"


@pytest.mark.parametrize(("limit", "per_group"), [(300, None), (None, 300), (100, 50), (90, 30)])
def test_limits_keep_families_and_strata_in_proportion(limit, per_group):
    data = embedded_set("atlas", limit=limit, per_group=per_group, seed=1)
    groups = Counter(example.group for example in data.examples)
    assert sum(groups.values()) == min(limit or 10**9, 3 * (per_group or 10**9))
    assert max(groups.values()) <= (per_group or 10**9)
    whole = Counter((example.family, example.stratum) for example in TRUTH.values())
    part = Counter((example.group, example.stratum) for example in data.examples)
    for (family, stratum), count in whole.items():
        size = sum(number for (name, _), number in whole.items() if name == family)
        assert abs(part[family, stratum] - groups[family] * count / size) < 2.5
