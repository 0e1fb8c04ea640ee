"""Scores after each token of a stored trace: those of the tokens so far."""

from dataclasses import dataclass, replace
from typing import Annotated
from unittest.mock import patch

import numpy as np
import pytest

import rauq
from rauq.errors import InvalidInput
from rauq.scoring import online
from rauq.scoring.declaration import Share, declared
from rauq.scoring.online import partial_scores
from rauq.scoring.settings import Settings
from rauq.trace.parts import first_tokens
from tests.answers import random_trace
from tests.traces import make_trace

COUNT = 12
SETTINGS = {
    "paper": Settings(),
    "entropy": Settings(signal="entropy"),
    "mean of heads": Settings(heads="mean"),
    "fixed": Settings(heads=((2, 3), (3, 0), (4, 1))),
    "all layers": Settings(layers="all"),
    "mean of layers": Settings(layer_aggregation="mean"),
    "median of layers": Settings(layer_aggregation="median", heads="mean"),
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("seed", range(3))
def test_after_each_token_the_score_is_that_of_the_answer_so_far(settings, seed):
    trace = random_trace(COUNT, seed=seed)
    starts = [*(first_tokens(trace, count) for count in range(1, COUNT)), trace]
    found = partial_scores(trace, settings)
    for one, whole in zip(found, (rauq.score(start, settings) for start in starts), strict=True):
        assert one.uncertainty == pytest.approx(whole.uncertainty, rel=1e-12)
        np.testing.assert_allclose(one.confidence, np.array(whole.confidence)[:, -1], rtol=1e-12)
        if whole.layer is not None:
            assert whole.layers[one.layer] == whole.layer


def test_another_head_may_be_selected_before_the_end():
    assert len({int(one.picked[0]) for one in partial_scores(random_trace(COUNT))}) > 1


def test_an_answer_of_one_token_has_one_score():
    trace = make_trace((b" Oslo",))
    assert [one.uncertainty for one in partial_scores(trace)] == pytest.approx([rauq.score(trace).uncertainty])


def test_the_part_that_is_scored_has_the_scores():
    trace = replace(random_trace(COUNT), thinking=(0, 4))
    assert len(partial_scores(trace)) == COUNT - 4
    assert [one.uncertainty for one in partial_scores(random_trace(COUNT), Settings(part="thinking"))] == [
        pytest.approx(np.nan, nan_ok=True)
    ]


NAMED = [(name, value) for name, setting in declared(Settings).items() for value in setting.names]


@pytest.mark.parametrize(("name", "value"), NAMED)
def test_every_choice_is_followed_or_refused(name, value):
    """The last score is that of the whole answer; what cannot be known before the end has no score."""
    settings, trace = Settings(**{name: value}), random_trace(COUNT)
    needs_all = name in ("update", "token_aggregation", "alignment") and value != getattr(Settings(), name)
    if needs_all or value == "top5":
        with pytest.raises(InvalidInput, match=f"{name}='{value}': this is known of a whole answer only"):
            partial_scores(trace, settings)
    else:
        found = partial_scores(trace, settings)[-1].uncertainty
        assert found == pytest.approx(rauq.score(trace, settings).uncertainty, rel=1e-12, nan_ok=True)


def test_a_new_setting_is_refused_until_it_is_followed():
    @dataclass(frozen=True, kw_only=True)
    class Wider(Settings):
        sharp: Annotated[float, Share(label="Sharp", help="How sharp.")] = 1.0

    with patch.object(online, "Settings", Wider), pytest.raises(InvalidInput, match=r"^sharp=0.5: this is known"):
        partial_scores(random_trace(COUNT), Wider(sharp=0.5))
