"""Compare: what is said of two curves is only what their numbers bear out."""

import pytest

import rauq
from analysis.two_answers.comparison import different_scales, same_confidence
from analysis.two_answers.sentences import about_curves, about_heads, layer_and_head
from rauq import Settings
from tests.answers import random_trace
from tests.traces import make_trace

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
