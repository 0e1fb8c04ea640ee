"""The laws of every row hold for answers and samples of real models, with what the capture gives."""

import dataclasses
import math

import numpy as np
import pytest

from rauq import METHODS, Judges, evaluate, load_idf, load_model, p_true_judge
from rauq.atlas.evaluation import facts_for_prompt, load_examples
from rauq.capture.recompute import attention_matrices
from tests.architectures import VOCABULARY, named, tiny_language_model
from tests.rauq.methods.evidence import JUDGES
from tests.tiny import PROMPT, chained, raw_logprobs

IDF = np.random.default_rng(0).uniform(1, 2, VOCABULARY)
MAY_LACK_A_NUMBER = {  # in bytes at random there may be no keyword, no token that matters, no logarithm
    *(
        "single_head",
        "rauq_lig",
        "minus_mean",
        "minus_recent_mean",
        "mean_product",
        "mean_sum",
        "focus",
        "focus_facts",
        "sar_facts",
        "surprisal",  # of given answers alone
        "lookback_ratio",  # of several tokens
    ),
    *(method for method, row in METHODS.items() if row.family == "supervised"),  # fitted on another model
}
OF_ANSWER = ("max_attention", "diagonal", "focus", "part_shares", "attention_entropy", "mean_logprob")


@pytest.fixture(scope="module")
def lm():
    return tiny_language_model(named("llama"))


@pytest.fixture(scope="module")
def samples(lm):
    return lm.sample(PROMPT, k=4, max_new_tokens=6, extras=("hidden",))


def evaluated(trace, samples):
    return evaluate(trace, METHODS, samples=samples, judges=JUDGES, question=PROMPT)


@pytest.mark.parametrize("length", [1, 2, 7])
def test_any_answer_has_a_number_or_a_reason(length, lm, samples):
    trace = lm.generate(PROMPT, max_new_tokens=length, extras=OF_ANSWER, idf=IDF, stop=())
    assert len(trace.answer_ids) == length
    got = evaluated(trace, samples)
    for method, value in got.items():
        assert math.isfinite(value) != bool(value.reason), f"{method}: {float(value)} {value.reason}"
    assert {method for method, value in got.items() if value.reason} <= MAY_LACK_A_NUMBER


def test_generating_and_reading_an_answer_give_equal_uncertainty(lm, samples):
    trace = lm.generate(PROMPT, max_new_tokens=7, extras=OF_ANSWER, idf=IDF, stop=())
    read = lm.read(PROMPT, trace.answer_ids.tolist(), extras=OF_ANSWER, idf=IDF)
    first, second = evaluated(trace, samples), evaluated(read, samples)
    assert (bool(first["surprisal"].reason), bool(second["surprisal"].reason)) == (True, False)
    for method in set(METHODS) - {"surprisal"}:
        np.testing.assert_allclose(first[method], second[method], rtol=1e-4, err_msg=method)


def test_what_reads_whole_distributions_is_that_of_the_models_own():
    """Divergences by their definition, from full logits and full eager attention."""
    lm = tiny_language_model(named("qwen2"))
    trace = lm.generate(PROMPT, max_new_tokens=7, extras=OF_ANSWER[-3:], stop=())
    got = evaluate(trace, ["self_certainty", "head_entropy", "attention_divergence", "lookback_ratio"])
    uniform = np.full(VOCABULARY, 1 / VOCABULARY)
    certainty = np.mean([uniform @ (np.log(uniform) - row) for row in raw_logprobs(lm, trace)])
    assert got["self_certainty"] == pytest.approx(-certainty, rel=1e-5)
    ids = [*trace.prompt_ids, *trace.answer_ids]
    heads = [head.astype(float) for layer in attention_matrices(lm.model, ids, lm.layers) for head in layer]
    rows = [head[row - 1, :row] for head in heads for row in range(len(trace.prompt_ids), len(ids))]
    divergences = [sum(a * np.log(a * len(row)) for a in row) for row in rows]
    assert got["attention_divergence"] == pytest.approx(-np.mean(divergences), abs=1e-5)
    num_prompt = len(trace.prompt_ids)
    ratios = [
        row[:num_prompt].mean() / (row[:num_prompt].mean() + row[num_prompt:].mean())
        for row in rows
        if len(row) > num_prompt
    ]
    assert got["lookback_ratio"] == pytest.approx(-np.mean(ratios), abs=1e-5)
    assert got["head_entropy"] == pytest.approx(np.mean([-np.log(sum(a * a for a in row)) for row in rows]), abs=1e-5)


def test_the_end_token_counts_where_the_reference_counts_it():
    lm = chained(tiny_language_model(named("llama")), "ab", end=True)
    ended = lm.generate(PROMPT, extras=("diagonal", "hidden"))
    assert (ended.stop_reason, len(ended.answer_ids)) == ("eos", 3)
    cut = dataclasses.replace(ended, stop_reason="length")
    judges = Judges(similarity=lambda firsts, _: np.full(len(firsts), 0.5))
    logprobs = np.array([-0.5, -1.0, -4.0])
    whole, unended = (dataclasses.replace(one, logprobs=logprobs) for one in (ended, cut))
    names = ("msp", "perplexity", "sar")
    first, second = (evaluate(one, names, samples=[one] * 2, judges=judges) for one in (whole, unended))
    assert first["msp"] == second["msp"] == 5.5
    assert first["perplexity"] == second["perplexity"]
    assert first["sar"] < second["sar"]  # its end token, the least probable, has no part in it


def test_the_embedded_model_with_the_judge_of_known_facts():
    lm, example = load_model(), load_examples("places")[0]
    idf = load_idf()
    trace = lm.generate(example.prompt, max_new_tokens=12, extras=OF_ANSWER, idf=idf)
    samples = lm.sample(example.prompt, k=3, max_new_tokens=12, extras=("hidden",))
    judges = Judges(facts=facts_for_prompt(example.prompt), idf=idf, p_true=p_true_judge(lm))
    got = evaluate(trace, METHODS, samples=samples, judges=judges)
    judged = {"nli", "similarity", "keywords", "held_out", "attribution"}
    free = [method for method, row in METHODS.items() if not row.needs & judged]
    for method in free:
        assert math.isfinite(got[method]) != bool(got[method].reason), method
    facts = [method for method in free if "facts" in METHODS[method].needs]
    assert [method for method in facts if got[method].reason] == []
    assert len(facts) == 12
    elsewhere = evaluate(trace, facts, samples=samples, judges=dataclasses.replace(judges, facts=None))
    assert all("the embedded prompts" in value.reason for value in elsewhere.values())
