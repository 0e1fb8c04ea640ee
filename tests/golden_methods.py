"""The reference implementation's numbers for methods other than RAUQ, and ours for the same traces and judges."""

import itertools
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from rauq import evaluate
from rauq.methods.pair_scorers.judges import Judges
from rauq.trace.trace import Alternative
from tests.golden_rauq import META
from tests.traces import make_trace

LABELS = {"contra": 0, "neutral": 1, "entail": 2}
SAMPLES = {"rtol": 2e-5, "atol": 1e-12}  # the reference's float32
ONE = {"rtol": 1e-6, "atol": 1e-12}
TOKENS = {"rtol": 1e-9, "atol": 1e-12}
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


class Pair(NamedTuple):
    """One number of a method: ours, and the reference's."""

    ours: float
    reference: float


def one_generation(arrays, case) -> Mapping[str, Pair]:
    """Methods that read one generation, from its trace on."""
    trace, judges = as_trace(arrays, case)
    got = evaluate(trace, ONE_GENERATION, judges=judges)
    return {method: Pair(got[method], case["scores"][name]) for method, name in ONE_GENERATION.items()}


def from_samples(case) -> Mapping[str, Pair]:
    """Methods that compare samples, from the traces on."""
    greedy, samples, judges = as_traces(case)
    got = evaluate(greedy, FROM_SAMPLES, samples=samples, judges=judges, question="Where?")
    return {method: Pair(got[method], case["scores"][name]) for method, name in FROM_SAMPLES.items()}


def ccp(case) -> Pair:
    """CCP, whose judge knows the tokens of the case alone."""
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
    return Pair(evaluate(trace, ["ccp"], judges=Judges(nli=judge_of(known)))["ccp"], case["score"])


def sar(case) -> Pair:
    """SAR, whose judge knows these sentences alone."""
    rows, known, samples = case["sample_token_logprobs"], {}, []
    for k, (row, similar) in enumerate(zip(rows, case["token_similarity"], strict=True)):
        words = [f" s{k}w{token}" for token in range(len(row))]
        for token, value in enumerate(similar):
            part = "".join(words[:token] + words[token + 1 :])
            known["Where? " + "".join(words).strip(), "Where? " + part.strip()] = value
        samples.append(make_trace((*map(str.encode, words), b"<end>"), logprobs=np.array([*row, -9.0])))
    texts = ["".join(sample.answer_tokens[:-1]).strip() for sample in samples]
    for (k, first), (j, second) in itertools.product(enumerate(texts), repeat=2):
        known[first, second] = case["sentence_similarity"][k][j]
    got = evaluate(make_trace(), ["sar"], samples=samples, judges=Judges(similarity=judge_of(known)))
    return Pair(got["sar"], case["scores"]["SAR"])


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
