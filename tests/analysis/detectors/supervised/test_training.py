"""Training on answers: what a detector is fitted on, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.detectors.supervised.hidden_layers import ProbeSettings, SheepsSettings
from analysis.detectors.supervised.training import SUPERVISED, Answers, settings_in_words, train
from analysis.detectors.supervised.training_set import usable
from rauq.detectors.checks import OfModel
from rauq.detectors.detector import FITTED, features_of
from rauq.errors import InvalidInput
from rauq.trace.extras import BY_LAYER
from tests.detectors import HEADS, LAYERS, answer, without

NUM = 16
MODEL = OfModel(model="made-up", revision="0", kind="base", num_layers=LAYERS, num_heads=HEADS)
TRACES = [answer(2 + seed % 4, seed=seed) for seed in range(NUM)]
QUALITY = (np.arange(NUM) % 2).astype(float)
ALL = tuple(range(LAYERS))
ASKED = [f"What is {number}?" for number in range(NUM)]


def answers(**changes):
    given = {
        "name": "The run a",
        "data": "capitals",
        "model": MODEL,
        "layers": ALL,
        "traces": TRACES,
        "questions": ASKED,
    }
    return Answers(**(given | {"quality": QUALITY, "threshold": 0.5} | changes))


def with_layers(trace, layers):
    rows = list(layers)
    extras = dict(trace.extras) | {name: trace.extras[name][rows] for name in BY_LAYER & trace.extras.keys()}
    return replace(trace, layers=layers, attention=trace.attention[rows], extras=extras)


def test_every_supervised_method_is_one_of_the_library():
    assert set(SUPERVISED) == set(FITTED)
    assert all(row.id == method for method, row in SUPERVISED.items())


@pytest.mark.parametrize("method", sorted(set(SUPERVISED) - {"factoscope"}))  # its network takes longer to train
def test_a_detector_is_the_fit_on_the_features_of_all_answers(method):
    found = train(method, [answers(), answers(name="The run b", data="years")], seed=7)
    row, features = SUPERVISED[method], [SUPERVISED[method].features(trace) for trace in TRACES] * 2
    options = {"threshold": 0.5, "seed": 7}
    settings = row.search(features, np.tile(QUALITY, 2), full=False, **options)
    expected = row.fit(features, np.tile(QUALITY, 2), settings=settings, **options)
    assert found.detector.score(TRACES[3]) == expected.value(features[3])
    assert (found.settings, found.correct, found.incorrect, found.left_out) == (settings, NUM, NUM, 0)
    assert found.detector.data == ("capitals", "years")
    assert (found.detector.answers, found.detector.threshold, found.detector.method) == (2 * NUM, 0.5, method)
    assert found.detector.layers == (ALL if FITTED[method].reads_attention else ())
    assert found.seconds > 0


def test_runs_that_kept_different_layers_are_trained_on_those_in_common():
    few = (1, 2, 4)
    other = answers(name="The run b", layers=few, traces=[with_layers(trace, few) for trace in TRACES])
    found = train("lookback_lens", [answers(), other])
    assert found.detector.layers == few
    alone = train("lookback_lens", [other, other])
    assert found.detector.score(TRACES[0]) == pytest.approx(alone.detector.score(TRACES[0]), abs=1e-9)
    none = answers(name="The run c", layers=(0,), traces=[with_layers(trace, (0,)) for trace in TRACES])
    with pytest.raises(InvalidInput, match="none in common"):
        train("lookback_lens", [other, none])


def test_answers_without_quality_features_or_answer_part_are_counted():
    quality = QUALITY.copy()
    quality[0] = np.nan
    unknown = dict(TRACES[1].extras) | {"lookback": TRACES[1].extras["lookback"] * np.nan}
    traces = [TRACES[0], replace(TRACES[1], extras=unknown), replace(TRACES[2], thinking=(0, 4)), *TRACES[3:]]
    traces[4] = replace(traces[4], thinking=(0, 1))  # its lookback cannot be split
    found = train("lookback_lens", [answers(traces=traces, quality=quality)])
    assert (found.left_out, found.detector.answers) == (4, NUM - 4)
    kept = [place for place in range(NUM) if place not in (0, 1, 2, 4)]
    whole = train("lookback_lens", [answers(traces=[TRACES[place] for place in kept], quality=QUALITY[kept])])
    assert found.detector.score(TRACES[5]) == whole.detector.score(TRACES[5])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": replace(MODEL, model="other")}, "The run b is of model other, The run a of made-up"),
        ({"model": replace(MODEL, revision="9")}, "revision 9"),
        ({"model": replace(MODEL, num_heads=9)}, "num heads 9"),
        ({"threshold": 0.85}, "The run b is correct above 0.85, one of The run a above 0.5"),
    ],
)
def test_runs_that_do_not_belong_together_are_refused(changes, said):
    with pytest.raises(InvalidInput, match=said):
        train("mind", [answers(), answers(name="The run b", **changes)])


@pytest.mark.parametrize("method", [method for method, row in SUPERVISED.items() if row.extras])
def test_a_run_without_what_the_method_reads_says_what_to_keep(method):
    extras = SUPERVISED[method].extras
    bare = answers(traces=[without(trace, extras[-1]) for trace in TRACES])
    with pytest.raises(
        InvalidInput, match=f"The run a did not keep {extras[-1]}, .* with --keep {','.join(extras)}\\."
    ):
        train(method, [bare])


def test_a_run_with_too_few_offsets_says_so():
    few = answers(traces=[replace(trace, attention=trace.attention[..., :8]) for trace in TRACES])
    with pytest.raises(InvalidInput, match="no answer to train tad on: TAD needs the attention to the 10 tokens"):
        train("tad", [few])


def test_what_cannot_be_trained_says_why():
    with pytest.raises(InvalidInput, match="Unknown supervised method 'luck'; choose one of lookback_lens, "):
        train("luck", [answers()])
    with pytest.raises(InvalidInput, match="no answers to train on"):
        train("mind", [])
    with pytest.raises(InvalidInput, match="at least 5 correct and as many incorrect"):
        train("mind", [answers(quality=np.ones(NUM))])
    with pytest.raises(InvalidInput, match="3 correct and 2 incorrect"):
        train("mind", [answers(traces=TRACES[:5], quality=np.array([1.0, 0, 1, 0, 1]))])
    thinking = [replace(trace, thinking=(0, len(trace.answer_ids))) for trace in TRACES]
    with pytest.raises(InvalidInput, match="no answer to train mind on: the answers have no answer part"):
        train("mind", [answers(traces=thinking)])


def test_settings_are_said_in_words():
    assert settings_in_words(None) == "none to search"
    assert settings_in_words(ProbeSettings(epochs=5, batch=32, rate=0.01)) == "epochs 5, batch 32, rate 0.01"
    one, two = ProbeSettings(epochs=5, batch=32, rate=0.01), ProbeSettings(epochs=9, batch=32, rate=0.1)
    assert settings_in_words(SheepsSettings((one,))) == "epochs 5, batch 32, rate 0.01"
    both = "epochs 5, batch 32, rate 0.01; epochs 9, batch 32, rate 0.1"
    assert settings_in_words(SheepsSettings((one, two))) == both


def test_usable_answers_are_known_in_full():
    features = [np.ones(2), np.array([1, np.nan]), np.array([1, np.inf]), np.ones(2)]
    assert usable(features, np.array([0.5, 1, 1, np.nan])).tolist() == [True, False, False, False]
    assert features_of(TRACES[0], "mind", ()).shape == (8,)
