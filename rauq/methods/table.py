"""The table of all methods, by id: RAUQ and the baselines of one generation, of samples, of fits, ablations of RAUQ.

RAUQ and its ablations are presets: rows that name Settings. A row `with_facts` uses the known facts of a prompt instead
of a judge of meaning (`rauq.atlas.evaluation`, `analysis.quality.facts`).
"""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

import numpy as np

from rauq.detectors.detector import FITTED, Detector
from rauq.errors import InvalidInput
from rauq.methods import one_generation, prompt_attention, samples
from rauq.methods.method import Evidence, Method, Uncertainty, no_detector
from rauq.scoring.settings import Settings

_FOMICHEVA, _LIN = "Fomicheva et al. (2020)", "Lin et al. (2024), Generating with Confidence"
_LAST_TOKEN, _SAMPLES = "one, of one token", "K × N, of one token each"
_LLM_CHECK = "the paper, on LLM-Check"
_PAIRS = f"{_SAMPLES}; the judge reads K² pairs of answers"

_single = partial(Method, family="one generation", cost="none")
_entropy = partial(Method, family="one generation", cost="none", extras=("attention_entropy",))
_shares = partial(Method, family="one generation", cost="none", extras=("part_shares",))
_diagonal = partial(Method, family="one generation", cost=_LAST_TOKEN, extras=("diagonal",))
_sampled = partial(Method, family="samples", cost=_SAMPLES, needs=frozenset({"samples"}))
_judged = partial(Method, family="samples", cost=_PAIRS, needs=frozenset({"samples", "nli"}))
_supervised = partial(Method, family="supervised", cost="none; fitted before", needs=frozenset({"detector"}))
_ablation = partial(Method, family="ablation", cost="none", source="the paper, ablations")

_FOCUS = _single(
    id="focus",
    name="Focus",
    compute=one_generation.focus,
    source="Zhang et al. (2023), Focus",
    needs=frozenset({"keywords", "idf"}),
    extras=("max_attention", "focus"),
)

_ONE_GENERATION = (
    _single(id="rauq", name="RAUQ", settings=Settings(), source="the paper, Algorithm 1"),
    _single(id="msp", name="MSP", compute=one_generation.msp, source=_FOMICHEVA),
    _single(id="perplexity", name="Perplexity", compute=one_generation.perplexity, source=_FOMICHEVA),
    _single(
        id="mean_token_entropy", name="Mean Token Entropy", compute=one_generation.mean_token_entropy, source=_FOMICHEVA
    ),
    _single(
        id="surprisal",
        name="Largest surprisal",
        compute=one_generation.largest_surprisal,
        source="ours, for answers that the model did not write",
        needs=frozenset({"written"}),
    ),
    _single(
        id="ccp",
        name="CCP",
        compute=one_generation.ccp,
        source="Fadeeva et al. (2024)",
        cost="none; the judge reads up to 18 N pairs of words",
        needs=frozenset({"nli"}),
    ),
    _diagonal(
        id="attention_score",
        name="Attention Score",
        compute=one_generation.attention_score,
        source="Sriramanan et al. (2024), LLM-Check",
    ),
    _diagonal(
        id="attention_score_answer",
        name="Attention Score, generated tokens",
        compute=one_generation.attention_score_answer,
        source=_LLM_CHECK,
    ),
    _diagonal(
        id="attention_score_answer_head",
        name="Attention Score, generated tokens, selected head",
        compute=one_generation.attention_score_answer_head,
        source=_LLM_CHECK,
    ),
    _FOCUS,
    samples.with_facts(_FOCUS),
    _single(
        id="simple_focus",
        name="Simple Focus",
        compute=one_generation.simple_focus,
        source="the paper, after Zhang et al. (2023)",
        extras=("max_attention",),
    ),
    _single(
        id="self_certainty",
        name="Self-certainty",
        compute=one_generation.self_certainty,
        source="Kang et al. (2025)",
        extras=("mean_logprob",),
    ),
    _entropy(
        id="head_entropy",
        name="Head Entropy (aggregation ours)",
        compute=one_generation.head_entropy,
        source="after Head Entropy, arXiv 2602.13699 (aggregation ours)",
    ),
    _entropy(
        id="attention_divergence",
        name="Attention divergence (aggregation ours)",
        compute=one_generation.attention_divergence,
        source="after arXiv 2605.05025 (aggregation ours)",
    ),
    _shares(
        id="lookback_ratio",
        name="Lookback ratio (aggregation ours)",
        compute=prompt_attention.lookback_ratio,
        source="after Chuang et al. (2024), Lookback Lens (aggregation ours)",
    ),
    _shares(
        id="rauq_prompt",
        name="RAUQ over the prompt (aggregation ours)",
        compute=prompt_attention.rauq_prompt,
        source="after arXiv 2511.10837 (aggregation ours)",
    ),
    _single(
        id="p_true",
        name="P(True)",
        compute=one_generation.p_true,
        source="Kadavath et al. (2022)",
        cost="one, over question and answer",
        needs=frozenset({"p_true"}),
    ),
)

_GRAPHS = (
    ("degmat", "DegMat", samples.degmat),
    ("eccentricity", "Eccentricity", samples.eccentricity),
    ("eigval_laplacian", "EVL", samples.eigval_laplacian),
)

_CONFIDENCES = (
    ("msp", "MSP", one_generation.msp),
    ("perplexity", "perplexity", one_generation.perplexity),
    ("entropy", "entropy", one_generation.mean_token_entropy),
)

_OF_TEXTS = (
    _sampled(
        id="lexical_similarity",
        name="Lexical Similarity ROUGE-L",
        compute=samples.lexical_similarity,
        source=_FOMICHEVA,
    ),
    _sampled(
        id="eigen_score",
        name="EigenScore",
        compute=samples.eigen_score,
        source="Chen et al. (2024), INSIDE",
        sample_extras=("hidden",),
    ),
    *(
        _sampled(id=f"{name}_jaccard", name=f"{label} (Jaccard)", compute=samples.from_words(measure), source=_LIN)
        for name, label, measure in _GRAPHS
    ),
)

_OF_MEANING = (
    *(
        _judged(id=name, name=f"{label} NLI entail.", compute=samples.from_entailment(measure), source=_LIN)
        for name, label, measure in _GRAPHS
    ),
    _judged(id="luq", name="LUQ", compute=samples.luq, source="Zhang et al. (2024), LUQ"),
    _judged(
        id="semantic_entropy", name="Semantic Entropy", compute=samples.semantic_entropy, source="Kuhn et al. (2023)"
    ),
    _sampled(
        id="sar",
        name="SAR",
        compute=samples.sar,
        source="Duan et al. (2024)",
        cost=f"{_PAIRS}, and each without each token",
        needs=frozenset({"samples", "similarity"}),
    ),
    _judged(
        id="semantic_density",
        name="Semantic Density",
        compute=samples.semantic_density,
        source="Qiu and Miikkulainen (2024)",
        cost=f"{_SAMPLES}; the judge reads K pairs of answers",
    ),
    *(
        _sampled(
            id=f"cocoa_{name}",
            name=f"CoCoA ({label})",
            compute=samples.cocoa(confidence),
            source="Vashurin et al. (2025), CoCoA",
            cost=f"{_SAMPLES}; the judge reads 2 K pairs of answers",
            needs=frozenset({"samples", "similarity"}),
        )
        for name, label, confidence in _CONFIDENCES
    ),
    _judged(
        id="kernel_language_entropy",
        name="Kernel Language Entropy",
        compute=samples.kernel_language_entropy,
        source="Nikitin et al. (2024)",
    ),
)

_SUPERVISED_NAMES = (
    ("lookback_lens", "LookBackLens", "Chuang et al. (2024), Lookback Lens"),
    ("saplma", "SAPLMA", "Azaria and Mitchell (2023)"),
    ("mind", "MIND", "Su et al. (2024), MIND"),
    ("sheeps", "Sheeps", "CH-Wang et al. (2023)"),
    ("satrmd", "SATRMD + MSP", "Vazhentsev et al. (2025)"),
    ("tad", "TAD", "Vazhentsev et al. (2024)"),
    ("factoscope", "Factoscope", "He et al. (2024), LLM Factoscope"),
    (
        "head_entropy_linear",
        "Head Entropy (linear detector)",
        "Head Entropy, arXiv 2602.13699: a linear detector on those features, as the paper's supervised form",
    ),
)


def _from_detector(method: str) -> Callable[[Evidence], Uncertainty]:
    """The score of the answer by the detector of this method among the judges."""

    def compute(evidence: Evidence) -> Uncertainty:
        return Uncertainty(_detector(method, evidence).score(evidence.trace))

    return compute


def _detector(method: str, evidence: Evidence) -> Detector:
    """The detector of the method; of several the first that was fitted on the model of the answer.

    Raises:
        InvalidInput: there is none.
    """
    own = [detector for detector in evidence.judges.detectors if detector.method == method]
    if not own:
        raise InvalidInput(no_detector(method))
    return next((detector for detector in own if detector.model == evidence.trace.model), own[0])


_SUPERVISED = tuple(
    _supervised(id=name, name=label, source=source, compute=_from_detector(name), extras=FITTED[name].extras)
    for name, label, source in _SUPERVISED_NAMES
)

_PRESETS: tuple[tuple[str, str, Settings], ...] = (
    ("rauq_probability", "RAUQ (probability)", Settings(signal="probability")),
    ("rauq_entropy", "RAUQ (entropy)", Settings(signal="entropy")),
    ("token_mean", "RAUQ, mean over tokens", Settings(token_aggregation="mean")),
    ("token_median", "RAUQ, median over tokens", Settings(token_aggregation="median")),
    ("token_sum_log", "RAUQ, sum of logs over tokens", Settings(token_aggregation="sum_log")),
    ("layer_mean", "RAUQ, mean over layers", Settings(layer_aggregation="mean")),
    ("layer_median", "RAUQ, median over layers", Settings(layer_aggregation="median")),
    ("no_attention", "RAUQ, no attention", Settings(update="no_attention")),
    ("no_recurrence", "RAUQ, no recurrence", Settings(update="no_recurrence")),
    ("previous_probability", "RAUQ, previous probability", Settings(update="previous_probability")),
    ("product", "RAUQ, probability times attention", Settings(update="product")),
    ("minus_mean", "RAUQ, attention minus its mean", Settings(update="minus_mean")),
    ("minus_recent_mean", "RAUQ, attention minus its recent mean", Settings(update="minus_recent_mean")),
    ("ratio_to_mean", "RAUQ, attention over its mean", Settings(update="ratio_to_mean")),
    ("mean_product", "Mean log probability times mean log attention", Settings(update="mean_product")),
    ("mean_sum", "Mean log probability plus mean log attention", Settings(update="mean_sum")),
    ("heads_mean", "RAUQ, mean of the heads", Settings(heads="mean")),
    ("heads_top5", "RAUQ, top five heads", Settings(heads="top5")),
    ("middle_five", "RAUQ, five middle layers", Settings(layers="middle_five")),
    ("all_layers", "RAUQ, all layers", Settings(layers="all")),
)

_LIG = _ablation(
    id="rauq_lig",
    name="RAUQ (LIG)",
    compute=one_generation.rauq_lig,
    source="the paper, Table 20; what it leaves open is chosen in rauq.capture.attribution",
    cost="W S (N - 1) backward passes through the blocks above each of W layers, at S steps",
    needs=frozenset({"attribution"}),
)

_ABLATIONS = (
    _LIG,
    *(_ablation(id=name, name=label, settings=preset) for name, label, preset in _PRESETS),
    _ablation(
        id="single_head",
        name="RAUQ, one head per layer",
        compute=lambda _: Uncertainty(np.nan, "its heads are selected on other answers"),
        cost="none; the heads are selected on other answers",
        needs=frozenset({"held_out"}),
    ),
)

METHODS: Mapping[str, Method] = MappingProxyType(
    {
        row.id: row
        for row in (
            *_ONE_GENERATION,
            *_OF_TEXTS,
            *_OF_MEANING,
            *map(samples.with_facts, _OF_MEANING),
            *_SUPERVISED,
            *_ABLATIONS,
        )
    }
)
"""Each row under its id."""
