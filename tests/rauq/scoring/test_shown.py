"""A head that is shown instead of the one that gives the score: its values, its name, and what stays."""

import numpy as np
import pytest

from rauq import Settings, score
from rauq.scoring import report
from rauq.scoring.shown import show_head, shown_head
from rauq.scoring.surprisal import score_surprisal
from tests.traces import make_trace

TRACE = make_trace((b"a", b" b", b" c", b" d"), probabilities=(0.9, 0.2, 0.7, 0.4))
SETTINGS = (Settings(), Settings(alpha=0.5, alignment="own"), Settings(update="no_recurrence"), Settings(heads="mean"))
PER_TOKEN = ("collapse", "collapse_shares", "contributions")


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("layer", range(6))
def test_the_values_of_a_chosen_head_are_those_of_a_score_of_it_alone(settings, layer):
    found = score(TRACE, settings)
    for head in range(4):
        chosen = show_head(TRACE, found, layer, head)
        if settings.heads == "mean" and layer in found.layers:
            continue  # there the mean of all heads is shown, whichever head is asked for
        names = {"layers": (layer,), "heads": ((layer, head),)}
        alone = score(
            TRACE, Settings(alpha=settings.alpha, alignment=settings.alignment, update=settings.update, **names)
        )
        for name in PER_TOKEN:
            np.testing.assert_allclose(getattr(chosen, name), getattr(alone, name), err_msg=name)
        np.testing.assert_allclose(shown_head(chosen).confidence, alone.confidence[0])
        assert chosen.uncertainty == found.uncertainty
        np.testing.assert_allclose(chosen.contributions.sum(), alone.uncertainty)


@pytest.mark.parametrize("settings", [*SETTINGS, Settings(heads="top5")])
def test_the_head_that_gives_the_score_is_shown_as_the_score_itself(settings):
    found = score(TRACE, settings)
    head = int(found.heads[found.layers.index(found.layer)])
    for chosen in (
        show_head(TRACE, found),
        show_head(TRACE, found, found.layer),
        show_head(TRACE, found, found.layer, max(head, 0)),
    ):
        assert chosen.shown is None
        assert report.sentence(TRACE, chosen) == report.sentence(TRACE, found)
    assert shown_head(found).layer == found.layer


def test_a_sentence_of_another_head_names_both():
    found = score(TRACE)
    other = next(layer for layer in found.layers if layer != found.layer)
    said = report.sentence(TRACE, show_head(TRACE, found, other, 3))
    gives = f"layer {found.layer}, head {shown_head(found).head}"
    assert f"Layer {other}, head 3: not the one that gives the score, which is {gives}." in said


def test_where_no_single_layer_gives_the_score_a_chosen_one_is_said_not_to():
    found = score(TRACE, Settings(layer_aggregation="mean"))
    said = report.sentence(TRACE, show_head(TRACE, found, found.layers[1], 0))
    assert f"Layer {found.layers[1]}, head 0: not the one that gives the score." in said


def test_a_score_by_surprisal_keeps_its_numbers():
    found = score_surprisal(TRACE)
    chosen = show_head(TRACE, found, 3, 1)
    assert (shown_head(chosen).layer, shown_head(chosen).head) == (3, 1)
    for name in PER_TOKEN:
        assert getattr(chosen, name) is getattr(found, name)
