"""The run that comes with the app: scored again, its answers have the numbers that were stored."""

import math
import threading

import numpy as np
import pytest

import rauq
from analysis.datasets.example import DataSet
from analysis.datasets.names import embedded_set
from analysis.evidence.record import records
from analysis.methods.comparison import name_of
from analysis.quality.measures import load_judge
from analysis.runs.create import without_download
from analysis.runs.files import is_exported, size_of
from analysis.runs.library import bundled_folder
from analysis.runs.opened import batch, open_run
from analysis.runs.timings import costs
from analysis.runs.traces import fact_tokens, trace
from analysis.runs.work import Evaluation, drawn_for, evaluated
from rauq.atlas.evaluation import FAMILIES
from rauq.methods.pair_scorers.loading import load_judges

MOST_BYTES = 16 * 10**6
SAMPLE = range(0, 900, 75)


@pytest.fixture(scope="module")
def run():
    return open_run(bundled_folder())


@pytest.fixture(scope="module")
def lm():
    return rauq.load_model("atlas")


def test_it_is_whole_and_small(run):
    assert run.faults == ()
    assert len(run.failures) == 0
    assert size_of(bundled_folder()) <= MOST_BYTES
    assert all(is_exported(path.name) for path in bundled_folder().iterdir())


def test_it_answers_about_300_examples_of_each_family(run):
    assert run.answers["group"].value_counts().to_dict() == dict.fromkeys(FAMILIES, 300)
    known = {example.id: example for example in embedded_set("atlas").examples}
    assert all(known[example.id] == example for example in run.examples)


def test_it_is_of_the_weights_that_come_with_it(run, lm):
    assert (run.answerer.name, run.answerer.revision, run.answerer.kind) == (lm.name, lm.revision, lm.kind)
    assert run.answerer.layers == lm.layers == run.stored_layers


@pytest.mark.parametrize("alignment", ["predicting", "own"])
def test_stored_attention_gives_the_score_of_the_answer(run, alignment):
    settings = rauq.Settings(alignment=alignment)
    again = rauq.score_many(batch(run, alignment), settings).uncertainty
    if alignment == "predicting":
        np.testing.assert_allclose(again, run.answers["rauq"], atol=1e-3)
    one_by_one = [rauq.score(trace(run, row), settings).uncertainty for row in SAMPLE]
    np.testing.assert_allclose(again[list(SAMPLE)], one_by_one, atol=1e-9)


def test_the_model_gives_these_answers_again_with_the_same_numbers(run, lm):
    for row in SAMPLE:
        stored = run.answers.iloc[row]
        now = lm.generate(stored["prompt"], max_new_tokens=run.manifest.request.max_new_tokens, last_row=True)
        assert now.answer == stored["answer"]
        kept = trace(run, row)
        np.testing.assert_allclose(kept.logprobs, now.logprobs, atol=1e-4)
        np.testing.assert_allclose(
            rauq.score(now, rauq.Settings(alignment="own")).uncertainty,
            rauq.score(kept, rauq.Settings(alignment="own")).uncertainty,
            atol=1e-3,
        )
        assert abs(rauq.score(now).uncertainty - stored["rauq"]) < 1e-4
        assert abs(now.logprobs.sum(dtype=float) + stored["msp"]) < 1e-4


def test_it_has_every_method_that_needs_no_download_and_their_costs(run):
    assert run.methods == without_download("atlas", DataSet(name="atlas", examples=run.examples))
    assert (run.manifest.request.samples, run.manifest.request.seed) == (5, 0)
    assert all(math.isfinite(cost.seconds) and math.isfinite(cost.overhead) for cost in costs(run))
    assert all(cost.alone.low <= cost.alone.overhead <= cost.alone.high for cost in costs(run))


def test_its_costs_one_prompt_at_a_time_are_those_of_the_record(run):
    record = records()["overhead"]
    kept = {name_of(cost.method): cost.alone for cost in costs(run)}
    assert set(kept) == {row[0] for row in record.rows}
    for name, _, median, _, _, pairs, _ in record.rows:
        assert (100 * kept[name].overhead, kept[name].pairs) == (pytest.approx(median, abs=1e-3), pairs)


def test_every_method_gives_its_stored_number_again(run, lm):
    request = run.manifest.request
    evaluation = Evaluation(lm=lm, request=request, judges=load_judges(idf=request.idf))
    told = {"max_new_tokens": request.max_new_tokens, "extras": evaluation.extras, "idf": evaluation.judges.idf}
    for row in SAMPLE[1::5]:
        stored = run.answers.iloc[row]
        trace = lm.generate(stored["prompt"], last_row=True, **told)
        number = int(stored["number"])
        example = run.examples[number]
        [drawn], _ = drawn_for(evaluation, [(number, example)], threading.Event())
        now = evaluated(evaluation, example, trace, drawn)
        np.testing.assert_allclose(now.uncertainties, stored[list(run.methods)].astype(float), rtol=1e-3, atol=1e-3)


def test_quality_is_the_verdict_of_the_truth(run):
    rows = run.answers.iloc[list(SAMPLE)]
    examples = [run.examples[number] for number in rows["number"]]
    judged = load_judge("exact_truth")(examples, list(rows["answer"]))
    assert [judgement.quality for judgement in judged] == list(rows["quality"])
    assert 0.3 < run.answers["quality"].mean() < 0.9


def test_tokens_that_carry_the_fact_are_marked(run):
    for row in SAMPLE:
        assert fact_tokens(run, row).sum() == run.answers["num_fact_tokens"].iloc[row]
    assert (run.answers["num_fact_tokens"] > 0).mean() > 0.9
