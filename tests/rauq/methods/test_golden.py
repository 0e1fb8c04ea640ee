"""Every number that the reference gave for methods other than RAUQ; RAUQ's are in tests/rauq/scoring."""

import numpy as np
import pytest
from scipy.special import softmax

from rauq.methods.one_generation import focus_of_tokens, log_attention, strongest
from rauq.methods.pair_scorers.judges import CONTRADICTION, ENTAILMENT
from rauq.methods.samples import (
    classes_of,
    degmat,
    eccentricity,
    eigval_laplacian,
    entropy_of_classes,
    jaccard,
    lack_of_density,
    lack_of_support,
    mean_log_eigenvalue,
    mean_rouge_l,
    shifted_uncertainty,
)
from tests import golden_rauq
from tests.golden_methods import (
    DIFFERENT,
    ONE,
    SAMPLES,
    TOKENS,
    bits,
    ccp,
    diagonal,
    from_samples,
    one_generation,
    sar,
    weighed_probabilities,
)
from tests.golden_rauq import META


@pytest.fixture(params=META["estimator_cases"], ids=lambda case: f"K={len(case['texts'])}, {case['texts'][0]}")
def sampled(request):
    return request.param


@pytest.fixture(params=META["focus_cases"], ids=lambda case: f"N={case['N']}")
def focused(request):
    return request.param


@pytest.fixture(scope="module")
def arrays():
    return golden_rauq.arrays()


def test_measures_of_the_graph_equal_the_reference(sampled):
    entailment = softmax(sampled["nli_logits_contra_neutral_entail"], axis=-1)[..., ENTAILMENT]
    edges = (entailment + entailment.T) / 2
    got = [degmat(edges), eccentricity(edges), eigval_laplacian(edges), degmat(jaccard(sampled["texts"]))]
    names = ("DegMat", "Eccentricity", "EigValLaplacian", "DegMat_Jaccard")
    np.testing.assert_allclose(got, [sampled["scores"][name] for name in names], **SAMPLES)


def test_luq_equals_the_reference(sampled):
    judged = softmax(sampled["nli_logits_contra_neutral_entail"], axis=-1)
    got = lack_of_support(judged[..., ENTAILMENT], judged[..., CONTRADICTION])
    np.testing.assert_allclose(got, sampled["scores"]["LUQ"], **SAMPLES)


def test_semantic_entropy_and_its_classes_equal_the_reference(sampled):
    entails = np.argmax(sampled["nli_logits_contra_neutral_entail"], axis=-1) == ENTAILMENT
    classes = classes_of(entails & entails.T)
    members = [np.flatnonzero(classes == one).tolist() for one in range(classes.max() + 1)]
    assert members == sampled["class_to_sample"]
    got = entropy_of_classes(classes, np.array(sampled["sample_logprob_incl_eos"]))
    np.testing.assert_allclose(got, sampled["scores"]["SemanticEntropy"], **SAMPLES)


def test_sar_equals_the_reference(sampled):
    logprobs = [np.array(row) for row in sampled["sample_token_logprobs"]]
    relevance = [1 - np.array(row) for row in sampled["token_similarity"]]
    got = shifted_uncertainty(logprobs, relevance, np.array(sampled["sentence_similarity"]))
    np.testing.assert_allclose(got, sampled["scores"]["SAR"], **SAMPLES)


def test_semantic_density_equals_the_reference(sampled):
    different = [sampled["texts"].index(text) for text in dict.fromkeys(sampled["texts"])]
    lengths = np.array([len(row) for row in sampled["sample_token_logprobs"]])[different]
    weights = np.exp(np.array(sampled["sample_logprob_incl_eos"])[different] / lengths)
    contradiction, neutral = (np.array(sampled[f"greedy_{name}_forward"])[different] for name in ("contra", "neutral"))
    got = lack_of_density(np.exp(np.mean(sampled["greedy_logprobs"])), weights, contradiction + neutral / 2)
    np.testing.assert_allclose(got, sampled["scores"]["SemanticDensity"], **SAMPLES)


def test_eigen_score_equals_the_reference(sampled):
    got = mean_log_eigenvalue(np.array(sampled["embeddings"]))
    np.testing.assert_allclose(got, sampled["scores"]["EigenScore"], **SAMPLES)


def test_lexical_similarity_equals_the_reference(sampled):
    got = -mean_rouge_l(sampled["texts"])
    np.testing.assert_allclose(got, sampled["scores"]["LexicalSimilarity_rougeL"], **SAMPLES)


@pytest.mark.parametrize("case", META["ccp_cases"], ids=lambda case: f"N={len(case['logprobs'])}")
def test_ccp_equals_the_reference(case):
    found = ccp(case)
    np.testing.assert_allclose(found.ours, found.reference, **TOKENS)


def test_the_focus_of_a_token_equals_the_reference(arrays, focused):
    weighed, chosen = weighed_probabilities(arrays, focused)
    attention = arrays[f"f{focused['t']:02d}_attn_max_NN"].astype(np.float64)
    keywords = np.array(focused["keyword_mask"], dtype=bool)
    got = focus_of_tokens(chosen, bits(weighed), attention, keywords)
    np.testing.assert_allclose(got, focused["token_focus"], rtol=1e-6)


def test_the_head_that_attends_most_equals_the_reference(arrays, focused):
    got = log_attention(strongest(diagonal(arrays, focused)))
    assert got == pytest.approx(focused["scores"]["AttentionScore_paper_one_head"], rel=1e-6)


def test_what_reads_one_generation_equals_the_reference_from_the_trace_on(arrays, focused):
    for method, found in one_generation(arrays, focused).items():
        np.testing.assert_allclose(found.ours, found.reference, **ONE, err_msg=method)


@pytest.mark.parametrize("case", DIFFERENT, ids=lambda case: f"K={len(case['texts'])}, {case['texts'][0]}")
def test_what_compares_samples_equals_the_reference_from_the_traces_on(case):
    for method, found in from_samples(case).items():
        np.testing.assert_allclose(found.ours, found.reference, **SAMPLES, err_msg=method)


def test_sar_equals_the_reference_from_the_traces_on(sampled):
    found = sar(sampled)
    np.testing.assert_allclose(found.ours, found.reference, **SAMPLES)
