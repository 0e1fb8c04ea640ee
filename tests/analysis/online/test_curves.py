"""Scores after each token of the answers of a small run: the last is the stored one, and none looks ahead."""

import numpy as np
import pytest

import rauq
from analysis.datasets.example import DataSet, Example
from analysis.online.curves import ONLINE_SCORES, curves_of, usual_heads
from analysis.runs.attention import means
from analysis.runs.create import prepare, request_for
from analysis.runs.opened import open_run
from analysis.runs.traces import traces_of
from analysis.runs.work import work
from rauq.scoring.settings import Settings
from tests.architectures import save_tiny

ASKED = ("Where is Oslo?", "Where is Lima?", "Where is Oslo?", "Is Rome old?", "Who wrote Hamlet?")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    examples = tuple(
        Example(
            id=str(place), prompt=text + " A:", question=text, group="ab"[place % 2], answer=" In Peru"[: 4 + place]
        )
        for place, text in enumerate(ASKED)
    )
    data = DataSet(name="tiny", examples=examples, quality="none", stop=())
    model, folder = str(save_tiny(tmp_path_factory.mktemp("model"))), tmp_path_factory.mktemp("runs") / "run"
    prepare(folder, data, request_for(data, model=model, methods=("rauq",)))
    work(folder)
    return open_run(folder)


@pytest.fixture(scope="module")
def curves(run):
    return curves_of(run, np.array([1, 0, np.nan, 0, 1]))


def test_every_score_has_a_value_after_each_token_and_none_after_the_last(run, curves):
    assert tuple(curves.values) == ONLINE_SCORES
    assert curves.lengths.tolist() == run.lengths.tolist()
    expected = np.arange(curves.lengths.max()) < curves.lengths[:, None]
    for values in curves.values.values():
        np.testing.assert_array_equal(np.isfinite(values), expected)
    assert curves.groups == ("a", "b", "a", "b", "a")
    assert curves.clusters[0] == curves.clusters[2]


def test_after_the_last_token_a_score_is_that_of_the_whole_answer(run, curves):
    last = np.arange(len(ASKED)), curves.lengths - 1
    heads = usual_heads(run)
    for row, trace in enumerate(traces_of(run)):
        end = {name: values[row, curves.lengths[row] - 1] for name, values in curves.values.items()}
        assert end["rauq"] == pytest.approx(rauq.score(trace).uncertainty)
        fixed = tuple(zip(run.used_layers, heads[row].tolist(), strict=True))
        assert end["rauq_fixed"] == pytest.approx(rauq.score(trace, Settings(heads=fixed)).uncertainty)
        assert end["rauq_mean"] == pytest.approx(rauq.score(trace, Settings(heads="mean")).uncertainty)
        assert end["mean_entropy"] == pytest.approx(trace.entropies.mean())
        assert end["mean_logprob"] == pytest.approx(-trace.logprobs.mean())
        assert end["token_entropy"] == trace.entropies[-1]
        assert end["token_logprob"] == -trace.logprobs[-1]
    np.testing.assert_allclose(curves.values["rauq"][last], run.uncertainty("rauq"), rtol=1e-3)


def test_the_confidence_of_a_token_is_that_of_the_layer_that_gives_the_score(run, curves):
    for row, trace in enumerate(traces_of(run)):
        whole = rauq.score(trace)
        own = whole.confidence[whole.layers.index(whole.layer)]
        assert curves.values["token_confidence"][row, curves.lengths[row] - 1] == pytest.approx(-np.log(own[-1]))


def test_numbers_of_tokens_are_in_order_and_equal_ones_in_a_random_order(curves):
    values = curves.values["num_tokens"]
    np.testing.assert_array_equal(np.floor(values[0, : curves.lengths[0]]), np.arange(1, curves.lengths[0] + 1))
    assert len(set(values[:, 0])) == len(ASKED)


def test_usual_heads_are_those_with_the_most_attention_in_answers_to_other_questions(run):
    weights = means(run).astype(float)
    for row, found in enumerate(usual_heads(run)):
        others = [other for other, text in enumerate(ASKED) if text != ASKED[row]]
        assert found.tolist() == [weights[others, layer].mean(axis=0).argmax() for layer in run.used_layers]


def test_what_an_answer_says_itself_does_not_choose_its_usual_heads(run, monkeypatch):
    before, weights = usual_heads(run), means(run)
    changed, layer = weights.copy(), run.used_layers[0]
    changed[3, layer, 1 - (before[1][0] > 0)] += 10  # another head than the one before
    monkeypatch.setattr("analysis.online.curves.means", lambda _run: changed)
    assert usual_heads(run)[3].tolist() == before[3].tolist()
    assert usual_heads(run)[1].tolist() != before[1].tolist()
