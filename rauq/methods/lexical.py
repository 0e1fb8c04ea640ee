"""Lexical similarity: how many words, in the same order, the samples have in common (Fomicheva et al., 2020)."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from rauq.errors import MissingPackage
from rauq.methods.answers import texts_of
from rauq.methods.method import Evidence, Uncertainty

ONE_SAMPLE = "it compares samples with each other, and there is only one"


def lexical_similarity(evidence: Evidence) -> Uncertainty:
    """Minus the mean ROUGE-L of pairs of samples, -1 to 0; nan for a single one.

    Raises:
        MissingPackage: rouge-score is not installed.
    """
    texts = texts_of(evidence.samples)
    return Uncertainty(-mean_rouge_l(texts)) if len(texts) > 1 else Uncertainty(np.nan, ONE_SAMPLE)


def mean_rouge_l(texts: Sequence[str]) -> float:
    """The mean F1 of the longest common subsequence of words, stemmed, over all pairs of K > 1 texts.

    Raises:
        MissingPackage: rouge-score is not installed.
    """
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        message = "ROUGE-L needs rouge-score. pip install -r requirements-extra.txt"
        raise MissingPackage(message) from error
    scorer = RougeScorer(["rougeL"], use_stemmer=True)
    pairs = [scorer.score(first, second)["rougeL"].fmeasure for first, second in combinations(texts, 2)]
    return float(np.mean(pairs))
