"""Similarity in meaning, by a cross-encoder."""

from functools import partial

import numpy as np

from rauq.errors import UnsupportedModel
from rauq.judges.classifier import Classifier, load_classifier, logits
from rauq.judges.judges import Similarity, Texts

SIMILARITY = "cross-encoder/stsb-roberta-large"


def load_similarity(name: str = SIMILARITY, *, device: str = "auto", revision: str | None = None) -> Similarity:
    """The judge of similarity that a folder or a model of the hub is; the paper's is the default.

    It gives the sigmoid (n,) of the model's one output, 0 to 1, as the library of cross-encoders does. The order of
    the two texts counts.

    Raises:
        ModelNotFound: nothing usable is there, or the network is missing.
        UnsupportedModel: not one output that a sigmoid follows, or an incomplete model.
        OutOfMemory: it does not fit.
        InvalidInput: unknown device.
    """
    classifier = load_classifier(name, device=device, revision=revision)
    _check(classifier)
    return partial(_similarities, classifier)


def _check(classifier: Classifier) -> None:
    if len(classifier.labels) != 1:
        message = (
            f"{classifier.name} has {len(classifier.labels)} outputs, {', '.join(classifier.labels)}. A cross-encoder "
            f"of similarity has one; choose such a model, for example {SIMILARITY}."
        )
        raise UnsupportedModel(message)
    if (follows := _activation(classifier)) not in ("", "Sigmoid"):
        message = (
            f"The output of {classifier.name} goes through {follows}, so it is no similarity from 0 to 1. "
            f"Choose a model with a sigmoid, for example {SIMILARITY}."
        )
        raise UnsupportedModel(message)


def _activation(classifier: Classifier) -> str:
    """What its config says follows the output; empty where it says nothing, which means a sigmoid."""
    config = classifier.model.config
    newer = (getattr(config, "sentence_transformers", None) or {}).get("activation_fn")
    older = getattr(config, "sbert_ce_default_activation_function", None)
    return (newer or older or "").rpartition(".")[2]


def _similarities(classifier: Classifier, firsts: Texts, seconds: Texts) -> np.ndarray:
    return 1 / (1 + np.exp(-logits(classifier, firsts, seconds)[:, 0]))
