"""Every number that the reference gave for methods other than RAUQ, whose own are in tests/rauq/test_golden.py."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import softmax

from rauq import evaluate
from rauq.judges.judges import CONTRADICTION, ENTAILMENT, Judges
from rauq.methods.attention_score import log_attention, strongest
from rauq.methods.focus import focus_of_tokens
from rauq.methods.graphs import degmat, eccentricity, eigval_laplacian, jaccard
from rauq.methods.hidden_states import mean_log_eigenvalue
from rauq.methods.lexical import mean_rouge_l
from rauq.methods.luq import lack_of_support
from rauq.methods.relevance import shifted_uncertainty
from rauq.methods.semantic_density import lack_of_density
from rauq.methods.semantic_entropy import classes_of, entropy_of_classes
from rauq.trace import Alternative
from tests.traces import make_trace

FOLDER = Path(__file__).parents[2] / "golden"
META = json.loads((FOLDER / "golden.json").read_text(encoding="utf-8"))
LABELS = {"contra": 0, "neutral": 1, "entail": 2}
SAMPLES = {"rtol": 2e-5, "atol": 1e-12}  # the reference's float32
ONE_GENERATION = {
    "focus": "Focus",
    "simple_focus": "SimpleFocus_recurrent",
    "attention_score": "AttentionScore_lmp",
    "attention_score_answer": "AttentionScore_lmp_gen",
}
FROM_SAMPLES = {
    "degmat": "DegMat",
    "degmat_jaccard": "DegMat_Jaccard",
    "eccentricity": "Eccentricity",
    "eigval_laplacian": "EigValLaplacian",
    "eigen_score": "EigenScore",
    "lexical_similarity": "LexicalSimilarity_rougeL",
    "luq": "LUQ",
    "semantic_density": "SemanticDensity",
    "semantic_entropy": "SemanticEntropy",
}
GOLDEN = {"ccp", "sar", *ONE_GENERATION, *FROM_SAMPLES}
# The reference's numbers of equal texts differ, and to a judge equal texts are one.
DIFFERENT = [case for case in META["estimator_cases"] if len(set(case["texts"])) == len(case["texts"])]


@pytest.fixture(params=META["estimator_cases"], ids=lambda case: f"K={len(case['texts'])}, {case['texts'][0]}")
def sampled(request):
    return request.param


@pytest.fixture(params=META["focus_cases"], ids=lambda case: f"N={case['N']}")
def focused(request):
    return request.param


@pytest.fixture(scope="module")
def arrays():
    with np.load(FOLDER / "golden.npz") as found:
        return {name: found[name] for name in found.files if name.startswith("f")}


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
    rows = [[(f"t{token}a{k}", p) for k, p in enumerate(row)] for token, row in enumerate(case["logprobs"])]
    trace = make_trace(
        tuple(row[0][0].encode() for row in rows),
        answer_ids=np.arange(len(rows)) * 10,
        logprobs=np.array([row[0][1] for row in rows]),
        alternatives=tuple(
            tuple(Alternative(10 * token + k, f" {text}.", p) for k, (text, p) in enumerate(row))
            for token, row in enumerate(rows)
        ),
    )
    known = {}
    for token, (forth, back) in enumerate(zip(case["nli_greedy_to_alt"], case["nli_alt_to_greedy"], strict=True)):
        known |= {(f"t{token}a0", f"t{token}a{k}"): np.eye(3)[LABELS[label]] for k, label in enumerate(forth)}
        known |= {(f"t{token}a{k}", f"t{token}a0"): np.eye(3)[LABELS[label]] for k, label in enumerate(back)}
    got = evaluate(trace, ["ccp"], judges=Judges(nli=judge_of(known)))
    assert got["ccp"] == pytest.approx(case["score"], rel=1e-9)


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
    trace, judges = as_trace(arrays, focused)
    got = evaluate(trace, ONE_GENERATION, judges=judges)
    for method, name in ONE_GENERATION.items():
        assert got[method] == pytest.approx(focused["scores"][name], rel=1e-6, nan_ok=True), method


@pytest.mark.parametrize("case", DIFFERENT, ids=lambda case: f"K={len(case['texts'])}, {case['texts'][0]}")
def test_what_compares_samples_equals_the_reference_from_the_traces_on(case):
    greedy, samples, judges = as_traces(case)
    got = evaluate(greedy, FROM_SAMPLES, samples=samples, judges=judges, question="Where?")
    for method, name in FROM_SAMPLES.items():
        np.testing.assert_allclose(got[method], case["scores"][name], **SAMPLES, err_msg=method)


def test_sar_equals_the_reference_from_the_traces_on(sampled):
    rows, known, samples = sampled["sample_token_logprobs"], {}, []
    for k, (row, similar) in enumerate(zip(rows, sampled["token_similarity"], strict=True)):
        words = [f" s{k}w{token}" for token in range(len(row))]
        for token, value in enumerate(similar):
            part = "".join(words[:token] + words[token + 1 :])
            known["Where? " + "".join(words).strip(), "Where? " + part.strip()] = value
        samples.append(make_trace((*map(str.encode, words), b"<end>"), logprobs=np.array([*row, -9.0])))
    texts = ["".join(sample.answer_tokens[:-1]).strip() for sample in samples]
    for (k, first), (j, second) in itertools.product(enumerate(texts), repeat=2):
        known[first, second] = sampled["sentence_similarity"][k][j]
    got = evaluate(make_trace(), ["sar"], samples=samples, judges=Judges(similarity=judge_of(known)))
    np.testing.assert_allclose(got["sar"], sampled["scores"]["SAR"], **SAMPLES)


def weighed_probabilities(arrays, case):
    """P (N, V), and P of the chosen tokens."""
    name = f"f{case['t']:02d}"
    probabilities = np.exp(arrays[f"{name}_logprobs"].astype(np.float64))
    weighed = np.where(probabilities < case["p"], 0, probabilities) * arrays[f"{name}_idf"]
    weighed /= weighed.sum(axis=1, keepdims=True)
    return weighed, weighed[np.arange(case["N"]), case["tokens"]]


def bits(probabilities):
    logs = np.log2(probabilities, where=probabilities > 0, out=np.zeros_like(probabilities))
    return -(probabilities * logs).sum(axis=1)


def diagonal(arrays, case):
    return arrays[f"f{case['t']:02d}_fpass_diag_LHT"][case["layer"]].astype(np.float64)


def as_trace(arrays, case):
    """Each token is one letter, and the keywords are those of the case."""
    weighed, chosen = weighed_probabilities(arrays, case)
    attention = arrays[f"f{case['t']:02d}_attn_max_NN"]
    trace = make_trace(
        (b"x",) * case["N"],
        prompt_ids=np.arange(case["P"]),
        stop_reason="length",
        logprobs=np.array(case["token_logprobs"]),
        extras={
            "focus": np.stack([chosen, bits(weighed)], axis=1),
            "max_attention": attention,
            "diagonal": diagonal(arrays, case),
        },
    )
    spans = [(token, token + 1) for token, inside in enumerate(case["keyword_mask"]) if inside]
    return trace, Judges(keywords=lambda _: spans)


def as_traces(case):
    """The greedy answer, the samples with their end tokens, and a judge that knows these texts alone."""
    greedy = make_trace((b"greedy",) * len(case["greedy_logprobs"]), logprobs=np.array(case["greedy_logprobs"]))
    samples = []
    for text, row, total, state in zip(
        *(case[name] for name in ("texts", "sample_token_logprobs", "sample_logprob_incl_eos", "embeddings")),
        strict=True,
    ):
        pieces = (text.encode(), *[b" "] * (len(row) - 1), b"<end>")
        logprobs = np.array([*row, total - sum(row)])
        samples.append(make_trace(pieces, logprobs=logprobs, extras={"hidden": np.array(state)}))
    shown = "greedy" * (len(case["greedy_logprobs"]) - 1)  # the last token is the end token
    return greedy, samples, Judges(nli=judge_of(judged_pairs(case, shown)))


def judged_pairs(case, greedy):
    texts, judged = case["texts"], softmax(case["nli_logits_contra_neutral_entail"], axis=-1)
    known = {(first, second): judged[i, j] for i, first in enumerate(texts) for j, second in enumerate(texts)}
    forward = zip(texts, case["greedy_contra_forward"], case["greedy_neutral_forward"], strict=True)
    for text, contradiction, neutral in forward:
        known[f"Where? {greedy}", f"Where? {text}"] = np.array([contradiction, neutral, 1 - contradiction - neutral])
    return known


def judge_of(known):
    """A judge that knows these pairs alone."""
    return lambda firsts, seconds: np.array([known[pair] for pair in zip(firsts, seconds, strict=True)])
