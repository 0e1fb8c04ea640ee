"""Two answers side by side: their tokens aligned, what can be compared, and captions."""

import time
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import rauq
from analysis.two_answers import comparison
from analysis.two_answers.comparison import (
    about_curves,
    about_heads,
    aligned,
    aligned_answers,
    attention_difference,
    by_position,
    different_scales,
    find_first_difference,
    layer_and_head,
    reference_of,
    same_confidence,
    score_each_setting,
    verdict,
    why_no_difference,
)
from rauq import Settings
from rauq.errors import InvalidInput, NotCaptured
from rauq.recorded.answers import find_recorded
from tests.answers import random_trace, with_attention
from tests.traces import as_lig, make_trace

CASES = [
    (b"", b""),
    (b"", b"ab"),
    (b"abc", b"abc"),
    (b"abc", b"abd"),
    (b"abcxyz", b"abxyz"),
    (b"ab", b"ba"),
    (b"a", b"b"),
]


def pieces(letters):
    return tuple(bytes([letter]) for letter in letters)


def random_answers(count):
    rng = np.random.default_rng(0)
    return [
        tuple(bytes(rng.integers(97, 101, rng.integers(0, 12), dtype=np.uint8)) for _ in "ab") for _ in range(count)
    ]


@pytest.mark.parametrize("same_prompt", [False, True])
@pytest.mark.parametrize(("a", "b"), CASES + random_answers(60))
def test_every_token_stands_once_and_in_order(a, b, same_prompt):
    columns = aligned(pieces(a), pieces(b), same_prompt=same_prompt)
    assert [own for own, _ in columns if own is not None] == list(range(len(a)))
    assert [own for _, own in columns if own is not None] == list(range(len(b)))
    assert (None, None) not in columns


@pytest.mark.parametrize("same_prompt", [False, True])
@pytest.mark.parametrize(("a", "b"), CASES + random_answers(60))
def test_the_common_beginning_stands_by_position_and_ends_at_the_first_difference(a, b, same_prompt):
    columns = aligned(pieces(a), pieces(b), same_prompt=same_prompt)
    first_difference = find_first_difference(columns, pieces(a), pieces(b))
    if first_difference is None:
        assert a == b
        return
    assert columns[:first_difference] == tuple((token, token) for token in range(first_difference))
    assert a[:first_difference] == b[:first_difference]
    assert a[first_difference : first_difference + 1] != b[first_difference : first_difference + 1]
    if same_prompt and first_difference < min(len(a), len(b)):
        assert columns[first_difference] == (first_difference, first_difference)


def most_equal(a, b):
    """Length of a longest common subsequence, by its textbook recursion."""

    @cache
    def of(i, j):
        if i == len(a) or j == len(b):
            return 0
        return 1 + of(i + 1, j + 1) if a[i] == b[j] else max(of(i + 1, j), of(i, j + 1))

    return of(0, 0)


@pytest.mark.parametrize(("a", "b"), CASES + random_answers(60))
def test_no_other_order_puts_more_equal_tokens_side_by_side(a, b):
    columns = aligned(pieces(a), pieces(b))
    equal = sum(None not in (i, j) and a[i] == b[j] for i, j in columns)
    assert equal == most_equal(a, b)


@pytest.mark.parametrize("kinds", [1, 2, 30])
def test_repetitive_answers_are_aligned_at_once(kinds):
    a, b = np.random.default_rng(0).integers(0, kinds, (2, 1024), dtype=np.uint8)
    begun = time.process_time()
    aligned((b"x", *pieces(a)), (b"y", b"z", *pieces(b)))
    assert time.process_time() - begun < 2  # some hundredths of a second; half a minute once


def test_what_is_too_long_to_search_stands_by_position_between_its_common_ends(monkeypatch):
    monkeypatch.setattr(comparison, "_MOST_PAIRS", 3)
    assert aligned(pieces(b"aXYz"), pieces(b"aYXYz")) == ((0, 0), (None, 1), (1, 2), (2, 3), (3, 4))
    assert aligned(pieces(b"aXYz"), pieces(b"aYXz")) == ((0, 0), (1, 1), (2, 2), (3, 3))


def test_an_answer_that_grows_stands_by_position():
    assert by_position(3, 2) == ((0, 0), (1, 1), (2, None))
    assert by_position(1, 2) == ((0, 0), (None, 1))


def test_equal_tokens_find_each_other_after_a_stretch_of_another_length():
    a, b = (" It is in Peru .".split(" "), " It is in the United States .".split(" "))
    columns = aligned([text.encode() for text in a], [text.encode() for text in b])
    assert columns[-1] == (5, 7)
    assert columns[4] == (4, 4)
    assert columns[5:7] == ((None, 5), (None, 6))


def test_a_branch_stays_in_one_column_though_the_new_token_comes_again():
    assert aligned(pieces(b"abcd"), pieces(b"acde"))[1:3] == ((1, None), (2, 1))
    assert aligned(pieces(b"abcd"), pieces(b"acde"), same_prompt=True)[1] == (1, 1)


def test_both_answers_are_scored_under_each_setting_once():
    a, b = random_trace(6), random_trace(8, seed=1)
    own, other = Settings(alpha=0.2, signal="probability"), Settings(alpha=0.7, signal="entropy")
    rows = score_each_setting(a, b, [own, other, own])
    assert [row.settings for row in rows] == [own, other]
    for row in rows:
        assert row.a.uncertainty == rauq.score(a, row.settings).uncertainty
        assert row.b.uncertainty == rauq.score(b, row.settings).uncertainty
        assert row.difference == row.a.uncertainty - row.b.uncertainty


def test_attention_and_attributions_are_on_different_scales():
    plain, lig = make_trace(), as_lig(make_trace())
    assert different_scales(plain, lig, rauq.score(plain), rauq.score(lig)) == ("weights",)
    more = as_lig(make_trace(), steps=3)
    assert different_scales(lig, more, rauq.score(lig), rauq.score(more)) == ("weights",)
    assert "LIG of different steps" in why_no_difference(lig, more)
    assert why_no_difference(lig, as_lig(make_trace(seed=1), max_error=0.5)) == ""


@pytest.mark.parametrize(
    ("changes", "settings", "found"),
    [
        ({}, {}, ()),
        ({"prompt": "Another?"}, {}, ()),
        ({"model": "other"}, {}, ("models",)),
        ({"revision": "2"}, {}, ("models",)),
        ({"kind": "instruct"}, {}, ("kinds of model", "signals", "alphas")),
        ({}, {"alpha": 0.3}, ("alphas",)),
        ({}, {"signal": "entropy"}, ("signals", "alphas")),
        ({}, {"alignment": "own"}, ("alignments",)),
        ({}, {"update": "no_attention"}, ("ways to score",)),
        ({}, {"layers": "all"}, ("ways to score",)),
    ],
)
def test_differing_scales_are_named(changes, settings, found):
    a, b = make_trace(), make_trace(**changes)
    assert different_scales(a, b, rauq.score(a), rauq.score(b, Settings(**settings))) == found


@pytest.mark.parametrize(
    ("a", "b", "scales", "said"),
    [
        (
            0.5,
            0.25,
            (),
            "A is more uncertain than B (0.50 and 0.25; 25 % of 100 other answers score between)",
        ),
        (
            0.1,
            0.2,
            (),
            "B is more uncertain than A (0.10 and 0.20; 10 % of 100 other answers score between)",
        ),
        (0.5, 0.41, (), "A and B have similar uncertainty (0.50 and 0.41; 9 % of 100 other answers score between)"),
        (
            0.501,
            0.502,
            (),
            "A and B have similar uncertainty (0.50 and 0.50; 0 % of 100 other answers score between)",
        ),
        (
            np.inf,
            0.5,
            (),
            "A is more uncertain than B (∞ and 0.50; 50 % of 100 other answers score between)",
        ),
        (1.5, 0.25, ("signals",), "A scores 1.50 and B 0.25, on different scales"),
        (np.nan, 0.25, (), "No comparison: the score of A is undefined"),
        (1.0, np.nan, ("signals",), "No comparison: the score of B is undefined"),
    ],
)
def test_one_answer_is_more_uncertain_only_where_a_tenth_of_others_lie_between(a, b, scales, said):
    score = rauq.score(make_trace())
    reference = np.arange(100) / 100 + 0.005
    assert verdict(replace(score, uncertainty=a), replace(score, uncertainty=b), scales, reference) == said


def test_without_other_answers_two_scores_stand_alone():
    score = rauq.score(make_trace())
    found = verdict(replace(score, uncertainty=0.5), replace(score, uncertainty=0.25), ())
    assert found == "A scores 0.50 and B 0.25; without a reference, the difference cannot be judged"
    assert reference_of(make_trace(), score) == ()


def test_other_answers_are_those_of_the_model_under_the_papers_setting():
    trace = find_recorded("moon").trace()
    assert len(reference_of(trace, rauq.score(trace))) > 500
    assert reference_of(trace, rauq.score(trace, Settings(alignment="own"))) == ()


def test_the_difference_is_of_the_means_of_the_heads():
    rng = np.random.default_rng(0)
    weights_a, weights_b = rng.uniform(0, 1, (4, 3, 5)), rng.uniform(0, 1, (4, 3, 7))
    a, b = with_attention(weights_a), with_attention(weights_b)
    found = attention_difference(a, b, Settings(), Settings(alignment="own"))
    np.testing.assert_allclose(found, weights_a.mean(2) - weights_b.mean(2), rtol=1e-5)
    np.testing.assert_allclose(attention_difference(b, a, Settings(), Settings()), -found, rtol=1e-6)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (random_trace(4, num_heads=2), "heads do not correspond"),
        (random_trace(4, num_layers=5), "heads do not correspond"),
        (random_trace(4, layers=(1, 2, 3, 4, 5, 6), num_layers=7), "heads do not correspond"),
        (random_trace(1), "one token"),
    ],
)
def test_maps_that_cannot_be_subtracted_are_refused_with_the_reason(other, said):
    assert said in why_no_difference(random_trace(4), other)
    with pytest.raises(InvalidInput, match=said):
        attention_difference(random_trace(4), other, Settings(), Settings())


def test_an_alignment_that_one_answer_lacks_is_no_plausible_number():
    attention = random_trace(4).attention.copy()
    attention[:, :, -1] = np.nan
    with pytest.raises(NotCaptured):
        attention_difference(
            random_trace(4), random_trace(4, attention=attention), Settings(), Settings(alignment="own")
        )


def test_thinking_is_aligned_with_thinking_alone():
    a = make_trace((b"<t>", b"It", b"</t>", b"It", b" is"), thinking=(0, 3))
    b = make_trace((b"It", b" is"))
    assert aligned_answers(a, b) == ((0, None), (1, None), (2, None), (3, 0), (4, 1))
    assert aligned_answers(b, a) == ((None, 0), (None, 1), (None, 2), (0, 3), (1, 4))
    assert aligned_answers(a, a) == tuple((token, token) for token in range(5))
    other = make_trace((b"<t>", b"</t>", b"It", b" was"), thinking=(0, 2))
    assert aligned_answers(a, other) == ((0, 0), (1, 1), (2, None), (3, 2), (4, 3))
    for pair in ((b, make_trace((b"It", b"s", b" is"))), (b, b)):
        assert aligned_answers(*pair) == aligned(*(trace.pieces for trace in pair), same_prompt=True)


SAME = "Up to the first difference both have the same c"


def said(settings_a, settings_b, *, common=3):
    trace = random_trace(6)
    scores = (rauq.score(trace, settings_a), rauq.score(trace, settings_b))
    return about_curves(scores, different_scales(trace, trace, *scores), common=common)


def test_c_is_the_same_only_where_it_is():
    assert SAME in said(Settings(), Settings())
    assert SAME not in said(Settings(), Settings(), common=0)
    trace = random_trace(6)
    layers = [rauq.score(trace, Settings(layers=(layer,))) for layer in (1, 1, 2)]
    assert same_confidence(layers[0], layers[1], 6)
    assert not same_confidence(layers[0], layers[2], 6)


@pytest.mark.parametrize("other", [Settings(alpha=0.9), Settings(signal="entropy"), Settings(alignment="own")])
def test_other_settings_are_why_the_curves_differ(other):
    fixed = tuple((layer, 0) for layer in range(9))
    text = said(Settings(heads=fixed, layers=(2,)), Settings(**vars(other) | {"heads": fixed, "layers": (2,)}))
    assert SAME not in text
    assert "so the curves may differ" in text
    assert "The two differ in their" in text


def test_other_layers_or_heads_are_why_the_curves_differ():
    text = said(Settings(layers=(1,), heads="mean"), Settings(layers=(2,), heads=((2, 3),)))
    assert "A's curve is of layer 1, mean of its heads and B's of layer 2 head 3: so the curves may differ" in text


def test_a_c_that_is_undefined_is_not_the_same():
    assert SAME not in said(Settings(update="mean_product"), Settings(update="mean_product"))


def test_no_layer_is_named_where_no_single_one_gives_the_score():
    text = said(Settings(layer_aggregation="mean"), Settings(layer_aggregation="mean"))
    assert "of the layer that gives the score" not in text
    assert "No single layer gives the score of A and B" in text
    assert SAME in text
    assert "gives the score of B:" in said(Settings(), Settings(layer_aggregation="mean"))


def test_the_caption_of_the_map_promises_no_ring_that_is_not_there():
    trace = random_trace(6)
    picked, averaged = (rauq.score(trace, Settings(heads=heads)) for heads in ("max", "mean"))
    assert "No head" not in about_heads((picked, picked))
    assert "No head is selected in B:" in about_heads((picked, averaged))


def test_averaged_heads_have_no_number():
    trace = random_trace(6)
    score = rauq.score(trace)
    assert layer_and_head(score) == f"layer {score.layer} head {score.heads[score.layers.index(score.layer)]}"
    assert layer_and_head(rauq.score(trace, Settings(heads="mean"))).endswith(", mean of its heads")
    assert layer_and_head(rauq.score(trace, Settings(heads="top5"))).endswith(", mean of its top five heads")
    one = make_trace((b" a",))
    assert "head" not in layer_and_head(rauq.score(one)), "no head is selected for one token"
