"""Summaries with a replaced detail: what is replaced, how signals are ranked, and that chance stays chance."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from benchmarks.documents import record_of
from benchmarks.documents.ranking import (
    BEST_HEAD,
    BOTH,
    DETAILS,
    MEAN_SHARE,
    OWN,
    PREDICTING,
    TOKENS,
    Units,
    areas,
    interval,
    ranked,
)
from benchmarks.documents.reading import LOGPROB, Reading, read_summaries
from benchmarks.documents.summaries import NUM_FAMILIES, NUM_RESTATED, REPLACEMENTS, Summary, summaries
from rauq.model.loading import load_model

MADE = list(summaries(20))
LENGTH, LAYERS, HEADS = 24, 3, 4


def document_of(summary):
    return summary.prompt.partition("<document>\n")[2].removesuffix("\n</document>")


def names_of(summary):
    return [summary.text[start:end] for start, end in summary.details]


def test_a_document_has_two_facts_of_each_family_and_a_summary_four_of_them():
    for summary in MADE:
        assert document_of(summary).count(". ") + 1 >= 2 * NUM_FAMILIES
        assert len(summary.details) == NUM_RESTATED
        assert list(summary.details) == sorted(summary.details)
        assert summary.text.count(". ") >= NUM_RESTATED - 1


def test_both_summaries_of_a_document_differ_in_the_replaced_name_alone():
    for one, other in zip(MADE[::2], MADE[1::2], strict=True):
        assert (one.document, one.prompt, one.replaced) == (other.document, other.prompt, other.replaced)
        assert [one.replacement, other.replacement] == list(REPLACEMENTS)
        for place, names in enumerate(zip(names_of(one), names_of(other), strict=True)):
            assert (len(set(names)) == 2) == (place == one.replaced)
            assert all(name in document_of(one) for name in names[: 1 if place == one.replaced else 2])
        assert names_of(other)[one.replaced] not in document_of(one)


def test_summaries_are_the_same_every_time_and_their_details_anywhere():
    assert list(summaries(20)) == MADE
    assert {summary.replaced for summary in MADE} == set(range(NUM_RESTATED))


def test_the_area_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    for _ in range(20):
        replaced = np.arange(12) < rng.integers(1, 11)
        values = rng.integers(0, 5, (3, 12)).astype(float)
        expected = [roc_auc_score(replaced, row) for row in values]
        np.testing.assert_allclose(areas(Units(values, replaced)), expected)
        values[:, 11] = np.nan
        np.testing.assert_allclose(
            areas(Units(values, replaced)), [roc_auc_score(replaced[:11], row[:11]) for row in values]
        )


def made(count, *, effect, seed=0):
    """Readings of random signals; `effect` is taken from one head at the replaced detail, in the row after it."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        details = np.zeros((NUM_RESTATED, LENGTH), dtype=bool)
        for place in range(NUM_RESTATED):
            details[place, 5 * place + 1 : 5 * place + 3] = True
        replaced = int(rng.integers(NUM_RESTATED))
        heads = rng.normal(size=(LAYERS, HEADS, LENGTH))
        heads[1, 2, np.flatnonzero(details[replaced]) + 1] -= effect
        found.append(
            Reading(
                document=number,
                group=REPLACEMENTS[0],
                signals={LOGPROB: rng.normal(size=LENGTH)},
                heads=heads,
                mean_share=heads.mean(axis=(0, 1)),
                details=details,
                wrong=replaced,
                counted=np.ones(LENGTH, dtype=bool),
            )
        )
    return found


@pytest.mark.parametrize("among", [DETAILS, TOKENS])
def test_a_head_that_is_chosen_among_many_finds_nothing_where_there_is_nothing(among):
    each = np.arange(60)
    held = [interval(ranked(made(60, effect=0, seed=seed), among)[BEST_HEAD.format(OWN)], each) for seed in range(10)]
    assert abs(np.mean([one.value for one in held]) - 0.5) < 0.03
    assert sum(one.low <= 0.5 <= one.high for one in held) >= 8


@pytest.mark.parametrize("among", [DETAILS, TOKENS])
def test_a_head_that_looks_less_at_the_document_is_found_by_its_own_query_alone(among):
    found = {name: interval(values, np.arange(60)) for name, values in ranked(made(60, effect=6), among).items()}
    assert found[BEST_HEAD.format(OWN)].low > 0.9
    assert found[BOTH.format(OWN)].low > 0.8
    assert found[MEAN_SHARE.format(OWN)].low > 0.5
    assert found[LOGPROB].low < 0.5 < found[LOGPROB].high
    if among == TOKENS:  # a name of two tokens shares a row between both queries
        assert found[BEST_HEAD.format(OWN)].value > found[BEST_HEAD.format(PREDICTING)].value


def test_an_embedded_model_reads_them_and_the_record_says_what_was_found():
    lm = load_model("atlas")
    short = [
        Summary(document=number, replacement=replacement, prompt=one.prompt[:12] + one.prompt[23:], **rest)
        for number in range(6)
        for replacement in REPLACEMENTS
        for one in MADE[:1]
        for rest in [{"text": "In Oslo. In Bern.", "details": ((3, 7), (12, 16)), "replaced": 1}]
    ]
    record = record_of(list(read_summaries(lm, short)))
    assert [row[3] for row in record.rows if row[1] == DETAILS] == [6] * (len(record.rows) // 2)
    assert all(f"{replacement}, the document's share" in record.finding for replacement in REPLACEMENTS)
