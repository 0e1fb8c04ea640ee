"""The run that comes with the app: scored again, its answers have the numbers that were stored."""

import threading
from collections import Counter
from dataclasses import replace
from math import isfinite

import numpy as np
import pytest

import rauq
from analysis.datasets.example import DataSet
from analysis.datasets.names import fact_set
from analysis.evidence.record import records
from analysis.methods.comparison import name_of
from analysis.quality.measures import load_judge
from analysis.runs.answering import Evaluation, drawn_for, evaluated
from analysis.runs.attention import batch, means
from analysis.runs.library import bundled_folder
from analysis.runs.manifest import is_exported, size_of
from analysis.runs.methods import without_download
from analysis.runs.opened import open_run
from analysis.runs.timings import costs
from analysis.runs.traces import fact_tokens, trace
from rauq.checkpoints.named import NAMED_MODELS
from rauq.methods.pair_scorers.loading import load_judges
from rauq.trace.trace import Trace
from tests.real_models import SMOLLM2

MOST_BYTES = 20 * 10**6
LEAST_ANSWERS = 800
FAMILIES = 11
SAMPLE = range(0, 814, 74)  # one of each family


@pytest.fixture(scope="module")
def run():
    return open_run(bundled_folder())


@pytest.fixture(scope="module")
def lm():
    return rauq.load_model(SMOLLM2, device="cpu")


def test_it_is_whole_and_small(run):
    assert run.faults == ()
    assert len(run.failures) == 0
    assert len(run.answers) >= LEAST_ANSWERS
    assert size_of(bundled_folder()) <= MOST_BYTES
    assert all(is_exported(path.name) for path in bundled_folder().iterdir())


def test_it_answers_as_many_questions_of_every_family(run):
    counts = Counter(run.answers["group"])
    assert len(counts) == FAMILIES
    assert len(set(counts.values())) == 1
    known = {example.id: example for example in fact_set("facts", kind="instruct").examples}
    assert all(known[example.id] == example for example in run.examples)


def test_it_is_of_the_weights_of_that_name(run):
    model = NAMED_MODELS[0]
    assert (run.answerer.name, run.answerer.revision, run.answerer.kind) == (model.name, model.sha256, "instruct")
    assert run.answerer.layers == tuple(range(30))


@pytest.mark.parametrize("alignment", ["predicting", "own"])
def test_stored_attention_gives_the_score_of_the_answer(run, alignment):
    settings = rauq.Settings(alignment=alignment)
    again = rauq.score_many(batch(run, alignment), settings).uncertainty
    if alignment == "predicting":
        np.testing.assert_allclose(again, run.answers["rauq"], atol=1e-3)
    one_by_one = [rauq.score(trace(run, row), settings).uncertainty for row in SAMPLE]
    np.testing.assert_allclose(again[list(SAMPLE)], one_by_one, atol=1e-9)


def test_the_model_gives_these_answers_the_same_numbers(run, lm):
    kept = [trace(run, row) for row in SAMPLE]
    pairs = [(one.prompt, one.answer_ids.tolist()) for one in kept]
    read = lm.read_batch(pairs, chat=True)
    for row, one, now in zip(SAMPLE, kept, read, strict=True):
        assert isinstance(now, Trace)
        assert now.prompt_ids.tolist() == one.prompt_ids.tolist()
        np.testing.assert_allclose(now.logprobs, one.logprobs, atol=1e-3)
        np.testing.assert_allclose(now.entropies, one.entropies, atol=1e-3)
        assert abs(rauq.score(now).uncertainty - run.answers["rauq"][row]) < 1e-3
        own = rauq.Settings(alignment="own")
        assert abs(rauq.score(now, own).uncertainty - rauq.score(one, own).uncertainty) < 1e-3


def test_it_has_every_method_that_needs_no_download_and_their_costs(run):
    there = without_download("smollm2", DataSet(name="facts", examples=run.examples))
    assert set(run.methods) == set(there)
    assert (run.manifest.request.samples, run.manifest.request.seed) == (5, 0)
    measured = [cost for cost in costs(run) if cost.method not in run.manifest.added_methods]
    assert all(isfinite(cost.seconds) and isfinite(cost.overhead) for cost in measured)
    assert all(cost.alone.low <= cost.alone.overhead <= cost.alone.high for cost in measured)


def test_its_costs_one_prompt_at_a_time_are_those_of_the_record(run):
    record = records()["overhead"]
    kept = {name_of(cost.method): cost.alone for cost in costs(run) if cost.method not in run.manifest.added_methods}
    assert set(kept) == {row[0] for row in record.rows}
    for name, _, median, _, _, pairs, _ in record.rows:
        assert (100 * kept[name].overhead, kept[name].pairs) == (pytest.approx(median, abs=1e-3), pairs)


def test_every_method_gives_its_stored_number_again(run, lm):
    request, row = replace(run.manifest.request, methods=run.methods), SAMPLE[2]
    judges = replace(load_judges(idf=request.idf), p_true=rauq.p_true_judge(lm, chat=request.chat))
    evaluation = Evaluation(lm=lm, request=request, judges=judges)
    stored = run.answers.iloc[row]
    now = lm.generate(stored["prompt"], max_new_tokens=request.max_new_tokens, extras=evaluation.extras, last_row=True)
    number = int(stored["number"])
    example = run.examples[number]
    [drawn], _ = drawn_for(evaluation, [(number, example)], threading.Event())
    again = evaluated(evaluation, example, now, drawn)
    np.testing.assert_allclose(again.uncertainties, stored[list(run.methods)].astype(float), rtol=1e-3, atol=1e-3)


def test_quality_is_the_verdict_of_the_facts(run):
    judged = load_judge("facts")(list(run.examples), list(run.answers["answer"]))
    np.testing.assert_array_equal([judgement.quality for judgement in judged], run.answers["quality"])
    assert [judgement.unclear for judgement in judged] == list(run.answers["unclear"])
    assert [judgement.reason for judgement in judged] == list(run.answers["quality_reason"])
    assert 0 < run.answers["unclear"].sum() <= 0.08 * len(run.answers)
    assert 0.1 < run.answers["quality"].mean() < 0.9


def test_tokens_that_carry_the_fact_are_marked(run):
    for row in SAMPLE:
        assert fact_tokens(run, row).sum() == run.answers["num_fact_tokens"].iloc[row]
    assert (run.answers.loc[run.answers["quality"] == 1, "num_fact_tokens"] > 0).all()


def test_means_over_the_fact_are_those_of_its_tokens(run):
    kept = means(run, tokens="fact")
    there = np.isfinite(kept).all(axis=(1, 2))
    for row in (row for row in range(0, len(run.answers), 60) if there[row]):
        one, layers = trace(run, row), list(run.stored_layers)
        fact = fact_tokens(run, row)[1:]
        own = one.previous_token_attention()[..., fact].mean(axis=-1)
        np.testing.assert_allclose(kept[row][layers], own, atol=1e-3)
    assert not there[(run.answers["num_fact_tokens"] == 0).to_numpy()].any()
