"""Entailment, by a model for natural-language inference."""

from functools import partial

import numpy as np

from rauq.errors import UnsupportedModel
from rauq.judges.classifier import Classifier, load_classifier, logits
from rauq.judges.judges import Entailment, Texts

NLI = "microsoft/deberta-large-mnli"
_LABELS = ("contradiction", "neutral", "entailment")


def load_nli(name: str = NLI, *, device: str = "auto", revision: str | None = None) -> Entailment:
    """The judge of entailment that a folder or a model of the hub is; the paper's is the default.

    It gives probabilities (n, 3) of contradiction, neutral and entailment, in this order whatever the model's own is.

    Raises:
        ModelNotFound: nothing usable is there, or the network is missing.
        UnsupportedModel: no model for natural-language inference with these three labels, or an incomplete one.
        OutOfMemory: it does not fit.
        InvalidInput: unknown device.
    """
    classifier = load_classifier(name, device=device, revision=revision)
    return partial(_probabilities, classifier, _order(classifier))


def _order(classifier: Classifier) -> list[int]:
    """Where among the model's outputs each of the three labels stands."""
    found = [label.strip().lower() for label in classifier.labels]
    if sorted(found) != sorted(_LABELS):
        message = (
            f"{classifier.name} has the labels {', '.join(classifier.labels)}. A model for natural-language inference "
            f"is needed, with {', '.join(_LABELS)} in its config's id2label, such as {NLI}."
        )
        raise UnsupportedModel(message)
    return [found.index(label) for label in _LABELS]


def _probabilities(classifier: Classifier, order: list[int], premises: Texts, hypotheses: Texts) -> np.ndarray:
    ordered = logits(classifier, premises, hypotheses)[:, order]
    likelihoods = np.exp(ordered - ordered.max(axis=1, keepdims=True))
    return likelihoods / likelihoods.sum(axis=1, keepdims=True)
