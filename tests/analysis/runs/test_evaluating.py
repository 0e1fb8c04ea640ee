"""Every answer is evaluated by every method that was asked for, and what cannot be is nan with the reason."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from analysis.runs.answering import Evaluation
from analysis.runs.create import prepare, request_for
from analysis.runs.manifest import TIMINGS
from analysis.runs.methods import DEFAULT
from analysis.runs.opened import open_run
from analysis.runs.timings import Timing, add_timings, costs, generation_seconds, read_timings
from analysis.runs.work import load_for, work
from rauq.errors import OutOfMemory
from rauq.methods.pair_scorers.judges import CachedJudge, Judges
from rauq.methods.table import METHODS
from rauq.model import generation
from rauq.model.p_true import p_true_judge

NO_JUDGES = Judges()
LOAD_ONCE = cache(load_for)


@pytest.fixture(autouse=True)
def one_model(monkeypatch):
    monkeypatch.setattr("analysis.runs.work.load_for", LOAD_ONCE)


def scored(folder, data, **options):
    prepare(folder, data, request_for(data, **options))
    work(folder)
    return open_run(folder)


@pytest.fixture(scope="module")
def short(data):
    return replace(data, examples=data.examples[:3])


def test_every_method_gives_a_number_or_a_reason(run):
    values = run.answers[list(run.methods)]
    assert ((run.reasons == "") == values.notna()).all(axis=None)
    assert values[["rauq", "attention_score", "degmat_jaccard"]].notna().all(axis=None)
    assert values["eigen_score"].nunique() > 1


def test_samples_are_those_of_the_seed_and_the_example(short, model, tmp_path):
    short = replace(short, examples=(*short.examples, replace(short.examples[0], id="again")))
    of_one, of_three, of_another_seed = (
        scored(tmp_path / name, short, model=model, methods=("eigen_score",), samples=3, **options).answers
        for name, options in {
            "one": {"batch_size": 1},
            "three": {"batch_size": 3},
            "seed": {"batch_size": 3, "seed": 1},
        }.items()
    )
    # The same tokens are drawn in any batch; hidden states of a padded batch are rounded differently.
    np.testing.assert_allclose(of_one["eigen_score"], of_three["eigen_score"], rtol=1e-6)
    assert (of_one["eigen_score"] != of_another_seed["eigen_score"]).any()
    assert of_one["prompt"].iloc[0] == of_one["prompt"].iloc[3]
    assert of_one["eigen_score"].iloc[0] != of_one["eigen_score"].iloc[3]


def test_only_the_inputs_of_the_methods_are_captured(request_tiny):
    lm = LOAD_ONCE(request_tiny)

    def extras(*methods, judges=NO_JUDGES):
        evaluation = Evaluation(lm=lm, request=replace(request_tiny, methods=methods), judges=judges)
        return evaluation.extras, evaluation.sample_extras

    assert extras(*DEFAULT) == ((), ())
    assert extras("msp", "attention_score", "eigen_score") == (("diagonal",), ("hidden",))
    entropies = extras("self_certainty", "head_entropy", "attention_divergence")
    assert entropies == (("attention_entropy", "mean_logprob"), ())
    assert extras("lookback_ratio", "rauq_prompt") == (("part_shares",), ())
    assert extras("focus", judges=Judges(idf=np.ones(9))) == (("max_attention", "focus"), ())
    assert extras("focus") == (("max_attention",), ())


def test_the_models_of_a_run_judge_their_own_answers(short, model, tmp_path):
    methods = ("p_true", "self_certainty", "head_entropy", "attention_divergence")
    run = scored(tmp_path / "run", short, model=model, methods=methods)
    found, lm = run.answers, LOAD_ONCE(run.manifest.request)
    judge = p_true_judge(lm)
    for example, answer, value in zip(short.examples, found["answer"], found["p_true"], strict=True):
        assert value == pytest.approx(-judge(example.question or example.prompt, answer), rel=1e-5)
    assert (found["p_true"] > 0).all()
    assert (found[["self_certainty", "attention_divergence"]] < 0).all(axis=None)
    assert run.manifest.request.nli == ""


def test_samples_that_cannot_be_drawn_cost_no_answer(short, model, tmp_path, monkeypatch):
    def fail(*_args, **_options):
        message = "No room for samples."
        raise OutOfMemory(message)

    monkeypatch.setattr(generation, "sample", fail)
    run = scored(tmp_path / "run", short, model=model, methods=("msp", "degmat_jaccard"))
    assert run.answers["msp"].notna().all()
    assert run.answers["degmat_jaccard"].isna().all()
    assert (run.reasons["degmat_jaccard"] == "Its samples could not be drawn. No room for samples.").all()


def test_what_is_known_of_no_prompt_is_undefined_with_the_reason(short, model, tmp_path):
    run = scored(tmp_path / "run", short, model=model, methods=("degmat_facts",), samples=2)
    assert run.answers["degmat_facts"].isna().all()
    assert run.reasons["degmat_facts"].str.contains("the embedded prompts").all()


def test_a_judge_is_asked_about_a_pair_once_and_its_time_is_kept():
    asked = []

    def judge(premises, hypotheses):
        asked.extend(zip(premises, hypotheses, strict=True))
        return np.array([[len(premise), 1, 0] for premise in premises])

    once = CachedJudge(judge)
    first = once(["a", "bb", "a"], ["c", "c", "c"])
    assert (asked, once.spared) == ([("a", "c"), ("bb", "c")], 0)
    np.testing.assert_array_equal(first, [[1, 1, 0], [2, 1, 0], [1, 1, 0]])
    again = once(["bb", "d"], ["c", "c"])
    assert asked[2:] == [("d", "c")]
    assert once.spared > 0
    np.testing.assert_array_equal(again, [[2, 1, 0], [1, 1, 0]])


def test_methods_share_one_judge_of_entailment_and_each_is_charged_for_it(short, model, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("time.perf_counter", lambda: 100.0 * len(asked))

    def judge(premises, hypotheses):
        asked.extend(zip(premises, hypotheses, strict=True))
        return np.tile([0.1, 0.2, 0.7], (len(premises), 1))

    monkeypatch.setattr("rauq.methods.pair_scorers.loading.load_judges", lambda **_names: Judges(nli=judge))
    one = replace(short, examples=short.examples[:1])
    run = scored(tmp_path / "run", one, model=model, methods=("degmat", "luq", "eccentricity"), nli="a judge")
    assert run.answers[["degmat", "luq"]].notna().all(axis=None)
    assert len(asked) == len(set(asked)) > 0
    seconds = {cost.method: cost.seconds for cost in costs(run)}
    assert seconds["degmat"] == seconds["eccentricity"] == 100 * len(asked)


def test_a_method_costs_what_it_took_and_its_samples(run):
    found = {cost.method: cost for cost in costs(run)}
    assert tuple(found) == run.methods
    each = {(row.stage, row.method): 0.0 for row in read_timings(run.folder)}
    counts = dict(each)
    for row in read_timings(run.folder):
        each[row.stage, row.method] += row.seconds
        counts[row.stage, row.method] += row.examples
    mean = {key: each[key] / counts[key] for key in each}
    assert generation_seconds(run.folder) == pytest.approx(mean["generate", ""])
    for method, cost in found.items():
        sampling = mean["sample", ""] if "samples" in METHODS[method].needs else 0
        assert cost.seconds == pytest.approx(mean["method", method] + sampling)
        assert cost.overhead == pytest.approx(cost.seconds / generation_seconds(run.folder))
    assert counts["generate", ""] == 13
    assert counts["sample", ""] == counts["method", "rauq"] == 12


def test_what_was_measured_one_prompt_at_a_time_stands_beside_the_batches(finished):
    before = {cost.method: cost for cost in costs(open_run(finished))}
    assert all(cost.alone is None for cost in before.values())
    for ratios in ((7.0,), (1.5, 1.0, 1.25, 9.0, 1.25)):  # the last measurement counts
        parts = [Timing(stage="alone", examples=1, seconds=1.0, method="rauq", ratios=(ratio,)) for ratio in ratios]
        add_timings(finished, None, parts)
    after = {cost.method: cost for cost in costs(open_run(finished))}
    found = after["rauq"].alone
    assert (found.overhead, found.pairs) == (0.25, 5)
    assert 0 <= found.low <= found.overhead <= found.high <= 8
    assert {name: replace(cost, alone=None) for name, cost in after.items()} == before


def test_a_generation_that_took_no_time_has_no_overhead_and_the_reason(finished):
    rows = [json.loads(line) for line in (finished / TIMINGS).read_text(encoding="utf-8").splitlines()]
    timeless = [row | {"seconds": 0.0} if row["stage"] == "generate" else row for row in rows]
    (finished / TIMINGS).write_text("\n".join(map(json.dumps, timeless)), encoding="utf-8")
    found = costs(open_run(finished))
    assert all(np.isnan(cost.overhead) and np.isfinite(cost.seconds) and "too short" in cost.reason for cost in found)


def test_without_times_costs_are_unknown_with_the_reason(finished):
    (finished / TIMINGS).unlink()
    run = open_run(finished)
    assert np.isnan(generation_seconds(run.folder))
    assert all(np.isnan([cost.seconds, cost.overhead]).all() and "no times" in cost.reason for cost in costs(run))


@pytest.mark.parametrize(
    "line",
    [
        '{"stage": "generate", "examp',
        "7",
        json.dumps({"stage": "rest", "examples": 1, "seconds": 1.0}),
        json.dumps({"stage": "generate", "examples": 0, "seconds": 1.0}),
        json.dumps({"stage": "generate", "examples": 1, "seconds": float("inf")}),
        json.dumps({"stage": "generate", "examples": 1, "seconds": "1"}),
        json.dumps({"stage": "alone", "examples": 1, "seconds": 1.0, "method": "rauq", "ratios": [0.0]}),
        json.dumps({"stage": "alone", "examples": 1, "seconds": 1.0, "method": "rauq", "ratios": [float("nan")]}),
        "[" * 100_000,
    ],
)
def test_a_line_that_is_no_time_is_left_out(line, finished):
    before = read_timings(finished)
    with (finished / TIMINGS).open("a") as file:
        file.write(f"{line}\n")
    assert read_timings(finished) == before != ()


def test_what_the_prompts_of_a_shard_share_is_fed_once(data, model, request_tiny, tmp_path, monkeypatch):
    shots = "Where is Rome? In Italy.\nWhere is Lima? In Peru.\n"  # a character is a token
    asked = tuple(replace(data.examples[0], id=str(place), prompt=f"{shots}Where is {place}?") for place in range(4))
    given = replace(data, examples=asked)
    lm, passes = LOAD_ONCE(request_tiny), []
    monkeypatch.setattr("analysis.runs.work.load_for", lambda _request: lm)
    hook = lm.model.register_forward_pre_hook(
        lambda _module, _args, fed: passes.append(tuple(fed["input_ids"].shape)), with_kwargs=True
    )
    run = scored(tmp_path / "run", given, model=model, methods=("msp", "degmat_jaccard"), samples=2, batch_size=2)
    hook.remove()
    beginning, own = len(f"{shots}Where is "), 2
    prefills = [shape for shape in passes if shape[1] > 1]
    assert prefills == [(1, beginning), (2, own), (2, own), (2, own), (2, own)]  # answers, then samples, of two batches
    assert run.answers["msp"].notna().all()
