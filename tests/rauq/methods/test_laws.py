"""Laws of every row of the table, on made-up answers, and the definition of each row without a golden number."""

import dataclasses
import math
import re

import numpy as np
import pytest
from scipy.linalg import expm, logm
from scipy.special import softmax

from rauq import METHODS, InvalidInput, Judges, Settings, evaluate, score
from tests.golden_methods import GOLDEN
from tests.rauq.methods.evidence import (
    FACTS,
    HEADS,
    JUDGES,
    NUM_PROMPT,
    length_is_truth,
    make_answer,
    same_letter,
    shared_words,
)

TEXTS = ("Oslo is it", "Oslo", "Paris it is", "Rome is not", "Paris")
# undefined here: they need other answers, attributions, a network, an answer that was given
WITHOUT = {"single_head", "rauq_lig", "factoscope", "surprisal"}
FREE = [method for method in METHODS if method not in WITHOUT]
SAMPLED = [method for method, row in METHODS.items() if "samples" in row.needs]
SCORED = [method for method, row in METHODS.items() if row.settings is not None]
FACTUAL = [method for method, row in METHODS.items() if "facts" in row.needs]
FITTED = {detector.method: detector for detector in JUDGES.detectors}
MAY_BE_INFINITE = {
    method for method in SCORED if METHODS[method].settings.update in ("product", "mean_product", "mean_sum")
}


def drawn(*texts, **changes):
    return [make_answer(text, seed=number, **changes) for number, text in enumerate(texts, start=1)]


def all_of(trace, samples=(), **changes):
    return evaluate(trace, METHODS, samples=samples, **({"judges": JUDGES} | changes))


def assert_equal(first, second, methods=METHODS):
    for method in methods:
        np.testing.assert_allclose(first[method], second[method], rtol=1e-9, atol=1e-12, err_msg=method)
        assert first[method].reason == second[method].reason


def msp(trace):
    return -sum(trace.logprobs)


def perplexity(trace):
    return -np.mean(trace.logprobs)


def mean_token_entropy(trace):
    return np.mean(trace.entropies)


def attention_score_answer_head(trace):
    weights = trace.extras["diagonal"][:, NUM_PROMPT:-1].astype(float)
    return -np.log(max(weights, key=np.mean)).sum()


def self_certainty(trace):
    return np.mean([np.log(trace.vocab_size) + one for one in trace.extras["mean_logprob"].astype(float)])


def head_entropy(trace):
    return np.mean(trace.extras["attention_entropy"].astype(float)[..., 1])


def attention_divergence(trace):
    rows = trace.extras["attention_entropy"].astype(float)[..., 0]
    return -np.mean([np.log(NUM_PROMPT + token) - rows[:, :, token] for token in range(rows.shape[2])])


def rows_of_shares(trace):
    """For each layer and head, what the rows after the first give to the prompt, and to the answer so far."""
    shares = trace.extras["part_shares"].astype(float)
    return [(head[1:, [0, 2, 3]].sum(axis=1), head[1:, 1]) for layer in shares for head in layer]


def lookback_ratio(trace):
    ratios = [
        (prompt / NUM_PROMPT) / (prompt / NUM_PROMPT + answer / (place + 1))
        for rows in rows_of_shares(trace)
        for place, (prompt, answer) in enumerate(zip(*rows, strict=True))
    ]
    return -np.mean(ratios)


def rauq_prompt(trace):
    """The recurrence in a loop, in each layer of the window with the head that looks at the prompt the most."""
    scores, heads = [], rows_of_shares(trace)
    for layer in score(trace).layers:
        own = heads[layer * HEADS : (layer + 1) * HEADS]
        weights = max((prompt for prompt, _ in own), key=np.mean)
        confidence = [np.exp(trace.logprobs[0])]
        for logprob, weight in zip(trace.logprobs[1:], weights, strict=True):
            confidence.append(0.2 * np.exp(logprob) + 0.8 * weight * confidence[-1])
        scores.append(-np.mean(np.log(confidence)))
    return max(scores)


def p_true(trace):
    return -length_is_truth(trace.prompt, " Oslo is it")


def mean_distance(trace, samples, judges):
    """One pair at a time."""
    texts = ["".join(one.answer_tokens[:-1]).strip() for one in (trace, *samples)]
    return 1 - np.mean(
        [judges.similarity([a], [b]) for one in texts[1:] for a, b in ((texts[0], one), (one, texts[0]))]
    )


def cocoa_msp(trace, samples, judges):
    return msp(trace) * mean_distance(trace, samples, judges)


def cocoa_perplexity(trace, samples, judges):
    return perplexity(trace) * mean_distance(trace, samples, judges)


def cocoa_entropy(trace, samples, judges):
    return mean_token_entropy(trace) * mean_distance(trace, samples, judges)


def kernel_language_entropy(_trace, samples, judges):
    """The matrix functions of scipy in place of eigenvalues."""
    texts = ["".join(one.answer_tokens[:-1]).strip() for one in samples]
    weights = np.array([[judges.nli([a], [b])[0] @ [0, 0.5, 1] for b in texts] for a in texts])
    weights = weights + weights.T
    kernel = expm(-0.3 * (np.diag(weights.sum(axis=1)) - weights))
    density = kernel / np.sqrt(np.outer(kernel.diagonal(), kernel.diagonal())) / len(texts)
    assert np.trace(density) == pytest.approx(1)
    return -np.trace(density @ logm(density)) / np.log(len(texts))


OF_ONE = (
    *(msp, perplexity, mean_token_entropy, attention_score_answer_head),
    *(self_certainty, head_entropy, attention_divergence, lookback_ratio, rauq_prompt, p_true),
)
DEFINED = {one.__name__: one for one in OF_ONE}
DEFINED_ON_SAMPLES = {
    one.__name__: one for one in (cocoa_msp, cocoa_perplexity, cocoa_entropy, kernel_language_entropy)
}
BETWEEN = ("luq", "kernel_language_entropy")  # they compare samples with each other
JACCARD = {"degmat_jaccard", "eccentricity_jaccard", "eigval_laplacian_jaccard"}


def test_every_row_has_a_golden_number_or_a_definition_here():
    defined = set(DEFINED) | set(DEFINED_ON_SAMPLES) | set(FITTED)
    assert set(METHODS) == GOLDEN | defined | JACCARD | set(FACTUAL) | set(SCORED) | WITHOUT


def test_the_largest_surprisal_is_of_answers_that_were_given():
    generated = make_answer()
    assert "did not write" in evaluate(generated, ["surprisal"])["surprisal"].reason
    given = dataclasses.replace(generated, stop_reason="given")
    found = evaluate(given, ["surprisal"], question="Where?")["surprisal"]
    first = -given.logprobs[0] - given.entropies[0]
    names = [place for place, text in enumerate(given.answer_tokens) if text.strip()[:1].isupper()]
    assert found == pytest.approx(max(first if place == 0 else -given.logprobs[place] for place in names))


@pytest.mark.parametrize("method", sorted(DEFINED))
def test_a_method_of_one_generation_is_what_it_is_by_definition(method):
    trace = make_answer()
    assert evaluate(trace, [method], judges=JUDGES)[method] == pytest.approx(DEFINED[method](trace))


@pytest.mark.parametrize("method", sorted(DEFINED_ON_SAMPLES))
def test_a_method_of_samples_is_what_it_is_by_definition(method):
    """Of judges for which the order of two texts counts, and an answer whose samples are not all different."""
    judges = Judges(
        nli=lambda firsts, seconds: softmax(
            [[len(a), 5, len(b)] for a, b in zip(firsts, seconds, strict=True)], axis=1
        ),
        similarity=lambda firsts, seconds: np.array(
            [len({*a} & {*b}) / len({*a}) for a, b in zip(firsts, seconds, strict=True)]
        ),
    )
    trace, samples = make_answer(), drawn(*TEXTS, TEXTS[0])
    got = evaluate(trace, [method], samples=samples, judges=judges)[method]
    assert got == pytest.approx(DEFINED_ON_SAMPLES[method](trace, samples, judges), rel=1e-6)
    assert math.isfinite(got)
    assert got > 0


def test_kernel_language_entropy_is_one_where_nothing_is_entailed_and_less_the_more_is():
    """It cannot fall to 0, since heat has not spread evenly at t = 0.3 yet, not even between equal samples."""

    def found(entailment):
        judges = Judges(nli=lambda firsts, _: np.tile([1 - entailment, 0, entailment], (len(firsts), 1)))
        return evaluate(make_answer(), [name], samples=drawn(*TEXTS), judges=judges)[name]

    name = "kernel_language_entropy"
    values = [found(entailment) for entailment in (0.0, 0.3, 1.0)]
    assert values[0] == pytest.approx(1)
    assert values == sorted(values, reverse=True)
    kernel = np.array([1.0, *[np.exp(-0.3 * 2 * len(TEXTS))] * (len(TEXTS) - 1)])  # of the complete graph of weight 2
    shares = kernel / kernel.sum()
    assert values[-1] == pytest.approx(-(shares * np.log(shares)).sum() / np.log(len(TEXTS)))


def test_an_answer_like_all_its_samples_is_certain_to_cocoa_whatever_its_probability():
    samples = [make_answer("Oslo", seed=seed) for seed in (1, 2, 2)]
    methods = [method for method in DEFINED_ON_SAMPLES if method.startswith("cocoa")]
    assert set(evaluate(make_answer("Oslo"), methods, samples=samples, judges=JUDGES).values()) == {0.0}
    nothing_alike = evaluate(make_answer("Rome"), methods, samples=samples, judges=JUDGES)
    own = evaluate(make_answer("Rome"), ["msp", "perplexity", "mean_token_entropy"])
    assert list(nothing_alike.values()) == pytest.approx(list(own.values()))


@pytest.mark.parametrize("method", FITTED)
def test_a_supervised_method_is_the_score_of_its_detector(method):
    trace, detector = make_answer(), FITTED[method]
    assert METHODS[method].family == "supervised"
    assert evaluate(trace, [method], judges=JUDGES)[method] == detector.score(trace)
    elsewhere = dataclasses.replace(detector, model="another")
    first = Judges(detectors=(elsewhere, detector))
    assert evaluate(trace, [method], judges=first)[method] == detector.score(trace)
    got = evaluate(trace, [method, "msp"], judges=Judges(detectors=(elsewhere,)))
    assert got[method].reason.startswith("This detector was fitted on model another, and the answer is of made-up.")
    assert math.isfinite(got["msp"])


@pytest.mark.parametrize("method", FITTED)
def test_a_supervised_method_without_its_detector_says_how_to_train_one(method):
    others = tuple(detector for detector in JUDGES.detectors if detector.method != method)
    for judges in (Judges(), Judges(detectors=others)):
        got = evaluate(make_answer(), [method], judges=judges)[method]
        assert math.isnan(got)
        assert got.reason == (
            "It needs a fitted detector. Train one: python -m analysis train --run RUN --method "
            f"{method} --out FILE. Give it: Judges(detectors=(rauq.Detector.load(FILE),))."
        )


@pytest.mark.parametrize("method", SCORED)
@pytest.mark.parametrize("kind", ["base", "instruct"])
def test_rauq_and_its_ablations_are_scores_under_their_settings(method, kind):
    trace = make_answer(kind=kind)
    assert evaluate(trace, [method])[method] == score(trace, METHODS[method].settings).uncertainty
    assert (METHODS[method].settings == Settings()) == (method == "rauq")


def test_the_ablations_differ():
    got = evaluate(make_answer("a b c d e f g h i", num_layers=32, num_heads=6, seed=2), SCORED)
    assert got["rauq"] == got["rauq_probability"]
    assert len({float(value) for value in got.values()}) == len(got) - 1


@pytest.mark.parametrize("method", sorted(JACCARD))
def test_shared_words_are_a_graph_like_any_other(method):
    samples = drawn(*TEXTS)

    def words_in_common(firsts, seconds):
        similar = shared_words(firsts, seconds)
        return np.stack([1 - similar, 0 * similar, similar], axis=1)

    graph = method.removesuffix("_jaccard")
    got = evaluate(samples[0], [method, graph], samples=samples, judges=Judges(nli=words_in_common))
    assert got[method] == pytest.approx(got[graph])


@pytest.mark.parametrize("method", FACTUAL)
def test_known_facts_are_a_judge_that_is_certain(method):
    samples = drawn(*TEXTS)
    own = method.removesuffix("_facts")

    def certain(firsts, seconds):
        same = [first[:1] == second[:1] for first, second in zip(firsts, seconds, strict=True)]
        return np.eye(3)[[2 if one else 0 for one in same]]

    judges = Judges(
        nli=certain,
        similarity=lambda firsts, seconds: certain(firsts, seconds)[:, 2],
        keywords=FACTS.keywords,
        idf=JUDGES.idf,
        facts=FACTS,
    )
    trace = make_answer(prompt="")
    got = evaluate(trace, [method, own], samples=samples, judges=judges)
    assert math.isfinite(got[method])
    assert got[method] == pytest.approx(got[own])
    assert METHODS[method].name == f"{METHODS[own].name.removesuffix(' NLI entail.')} (same facts)"


def test_one_head_a_layer_needs_other_answers():
    got = all_of(make_answer(), drawn(*TEXTS))["single_head"]
    assert math.isnan(got)
    assert "selected on other answers" in got.reason


@pytest.mark.parametrize("ended", [True, False])
@pytest.mark.parametrize("text", ["Oslo", "Oslo is", "Oslo is it", "a b c d e f g h"])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_any_answer_has_a_number_or_a_reason(text, ended, count):
    got = all_of(make_answer(text, ended=ended), drawn(*TEXTS[:count], ended=ended))
    for method, value in got.items():
        assert math.isfinite(value) != bool(value.reason), f"{method}: {float(value)} {value.reason}"
    undefined = {method for method, value in got.items() if math.isnan(value)}
    between = {"lexical_similarity", *(f"{name}{judge}" for name in BETWEEN for judge in ("", "_facts"))}
    alone = between if count == 1 else set()
    short = {"mean_product", "mean_sum", "lookback_ratio"} if (text, ended) == ("Oslo", False) else set()
    assert undefined - {"minus_mean", "minus_recent_mean"} == WITHOUT | alone | short


def test_the_order_of_the_samples_does_not_matter():
    samples = drawn(*TEXTS)
    expected = all_of(samples[0], samples)
    for seed in range(5):
        shuffled = np.random.default_rng(seed).permutation(len(samples))
        assert_equal(all_of(samples[0], [samples[place] for place in shuffled]), expected)


def test_equal_samples_have_the_lowest_uncertainty():
    different, equal = drawn("Oslo", "Paris", "Rome", "Kyiv"), [make_answer("Oslo", seed=1)] * 4
    unsure, sure = (all_of(different[0], samples) for samples in (different, equal))
    for method in SAMPLED:
        assert math.isfinite(sure[method]), method
        assert sure[method] < unsure[method], method
    for method, value in {"degmat_jaccard": 0, "eigval_laplacian_jaccard": 1, "lexical_similarity": -1}.items():
        assert sure[method] == pytest.approx(value, abs=1e-12)


def test_empty_samples_are_left_out():
    trace, samples = make_answer(), drawn(*TEXTS)
    empty = [make_answer("", seed=8), make_answer("<", seed=9, ended=False, answer_tokens=(" \n",))]
    assert_equal(all_of(trace, [empty[0], *samples, empty[1]]), all_of(trace, samples))
    got = all_of(trace, empty)
    for method in SAMPLED:
        assert math.isnan(got[method])
        assert got[method].reason == "all samples (2) are empty"


def test_an_answer_without_text_has_numbers_or_reasons_too():
    got = all_of(make_answer(""), drawn(*TEXTS))
    assert "no keyword" in got["focus"].reason
    assert all(math.isfinite(value) != bool(value.reason) for value in got.values())


def test_attention_that_is_zero_everywhere_is_no_error():
    trace, samples = make_answer(), drawn(*TEXTS)
    zero = {name: array * 0 if name != "focus" else array for name, array in trace.extras.items()}
    got = all_of(dataclasses.replace(trace, attention=trace.attention * 0, extras=zero), samples)
    for method, value in got.items():
        number = math.isfinite(value) or (value == math.inf and method in MAY_BE_INFINITE)
        assert number != bool(value.reason), f"{method}: {float(value)} {value.reason}"
    assert got["simple_focus"] == pytest.approx(got["perplexity"])
    tokens = trace.extras["diagonal"].shape[1]
    assert got["attention_score"] == pytest.approx(-tokens * math.log(1e-12))


def test_what_is_nan_in_the_answer_is_never_a_number():
    trace, samples = make_answer(), drawn(*TEXTS)
    unknown = {name: array * np.nan for name, array in trace.extras.items()}
    got = all_of(
        dataclasses.replace(
            trace, logprobs=trace.logprobs * np.nan, entropies=trace.entropies * np.nan, extras=unknown
        ),
        [dataclasses.replace(one, logprobs=one.logprobs * np.nan, extras=unknown) for one in samples],
    )
    of_text = {"lexical_similarity", *JACCARD, "degmat", "eccentricity", "eigval_laplacian", *BETWEEN, "p_true"}
    of_text |= {f"{method}_facts" for method in of_text if f"{method}_facts" in METHODS}
    assert {method for method, value in got.items() if not math.isnan(value)} == of_text
    assert all(got[method].reason for method in set(METHODS) - of_text)


def test_nan_from_a_judge_is_never_a_number():
    def undecided(judge):
        return lambda firsts, seconds: judge(firsts, seconds) * np.nan

    judges = Judges(nli=undecided(same_letter), similarity=undecided(shared_words))
    judged = [method for method, row in METHODS.items() if row.needs & {"nli", "similarity"}]
    got = all_of(make_answer(), drawn(*TEXTS), judges=judges)
    for method in judged:
        assert math.isnan(got[method]), method
        assert "not finite" in got[method].reason


@pytest.mark.parametrize("method", FREE)
def test_the_reason_for_something_missing_says_what_to_do(method):
    bare = dataclasses.replace(make_answer(), extras={})
    got = evaluate(bare, [method])[method]
    if METHODS[method].needs or METHODS[method].extras:
        assert math.isnan(got)
        assert re.search(r"Give|Draw|Ask|Generate", got.reason)
    else:
        assert math.isfinite(got) or got.reason


@pytest.mark.parametrize(
    "method", [method for method in FREE if METHODS[method].extras or METHODS[method].sample_extras]
)
def test_missing_and_misshapen_extras_are_reported(method):
    row = METHODS[method]
    for name in (*row.extras, *row.sample_extras):
        for extras, said in (({}, "Generate the answer again"), ({name: np.ones((2, 3))}, "has shape (2, 3)")):
            trace, samples = make_answer(), drawn(*TEXTS)
            left = {other: array for other, array in trace.extras.items() if other != name} | extras
            samples = [dataclasses.replace(one, extras=left) for one in samples]
            got = evaluate(dataclasses.replace(trace, extras=left), [method], samples=samples, judges=JUDGES)[method]
            assert math.isnan(got)
            assert said in got.reason
            assert repr(name) in got.reason


def test_a_method_that_fails_does_not_affect_the_others():
    def out_of_order(*_):
        message = "The judge is out of order. Get another."
        raise InvalidInput(message)

    judges = dataclasses.replace(JUDGES, nli=out_of_order)
    trace, samples = make_answer(), drawn(*TEXTS)
    got, expected = all_of(trace, samples, judges=judges), all_of(trace, samples)
    asked = [method for method, row in METHODS.items() if "nli" in row.needs]
    assert {got[method].reason for method in asked} == {"The judge is out of order. Get another."}
    assert_equal(got, expected, [method for method in METHODS if method not in asked])
