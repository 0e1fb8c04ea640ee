"""RAUQ: the uncertainty of a model's answer, from its probabilities and one attention head per layer.

`load_model` gives a model, the model gives a `Trace`, and `score` needs the trace alone. Modules that need torch
are imported on first use, so scoring and reading traces do not load it. `rauq.analysis` is the package of answer sets.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from rauq import layout
from rauq.checkpoints.folders import Installed, cached_models, installed_models, local_models
from rauq.checkpoints.named import NAMED_MODELS, NamedModel, get_model
from rauq.errors import (
    Failure,
    InvalidInput,
    MissingPackage,
    ModelNotFound,
    NonFiniteLogits,
    NotCaptured,
    OutOfMemory,
    RauqError,
    TraceFileError,
    UnsupportedModel,
)
from rauq.scoring.part_shares import PartShares, part_shares
from rauq.scoring.score import Score, Scores, score, score_arrays, score_many
from rauq.scoring.sentence_scores import SentenceScore, sentence_scores, span_scores
from rauq.scoring.settings import Settings
from rauq.scoring.surprisal import score_surprisal
from rauq.trace.batch import Batch, batch
from rauq.trace.messages import Message
from rauq.trace.trace import Alternative, Trace
from rauq.version import __version__

if TYPE_CHECKING:
    from rauq.checkpoints.model_info import ModelInfo, inspect_model
    from rauq.detectors.detector import Detector
    from rauq.methods.evaluate import evaluate, evaluate_many
    from rauq.methods.method import Method, Uncertainty
    from rauq.methods.pair_scorers.idf import load_idf
    from rauq.methods.pair_scorers.judges import Judges
    from rauq.methods.pair_scorers.loading import load_judges, load_nli, load_similarity, load_tagger
    from rauq.methods.table import METHODS
    from rauq.model.language_model import LanguageModel
    from rauq.model.loading import load_model, wrap
    from rauq.model.monitor import Monitor
    from rauq.model.p_true import p_true_judge
    from rauq.model.vllm import from_vllm
    from rauq.scoring.watch import MonitoredToken, Watch

__all__ = [
    "METHODS",
    "NAMED_MODELS",
    "Alternative",
    "Batch",
    "Detector",
    "Failure",
    "Installed",
    "InvalidInput",
    "Judges",
    "LanguageModel",
    "Message",
    "Method",
    "MissingPackage",
    "ModelInfo",
    "ModelNotFound",
    "Monitor",
    "MonitoredToken",
    "NamedModel",
    "NonFiniteLogits",
    "NotCaptured",
    "OutOfMemory",
    "PartShares",
    "RauqError",
    "Score",
    "Scores",
    "SentenceScore",
    "Settings",
    "Trace",
    "TraceFileError",
    "Uncertainty",
    "UnsupportedModel",
    "Watch",
    "__version__",
    "batch",
    "cached_models",
    "evaluate",
    "evaluate_many",
    "from_vllm",
    "get_model",
    "inspect_model",
    "installed_models",
    "load_idf",
    "load_judges",
    "load_model",
    "load_nli",
    "load_similarity",
    "load_tagger",
    "local_models",
    "p_true_judge",
    "part_shares",
    "score",
    "score_arrays",
    "score_many",
    "score_surprisal",
    "sentence_scores",
    "span_scores",
    "wrap",
]

_AT_FIRST_USE = {
    "METHODS": "rauq.methods.table",
    "Detector": "rauq.detectors.detector",
    "ModelInfo": "rauq.checkpoints.model_info",
    "Judges": "rauq.methods.pair_scorers.judges",
    "LanguageModel": "rauq.model.language_model",
    "Method": "rauq.methods.method",
    "MonitoredToken": "rauq.scoring.watch",
    "Monitor": "rauq.model.monitor",
    "Uncertainty": "rauq.methods.method",
    "Watch": "rauq.scoring.watch",
    "evaluate": "rauq.methods.evaluate",
    "evaluate_many": "rauq.methods.evaluate",
    "from_vllm": "rauq.model.vllm",
    "inspect_model": "rauq.checkpoints.model_info",
    "load_idf": "rauq.methods.pair_scorers.idf",
    "load_judges": "rauq.methods.pair_scorers.loading",
    "load_model": "rauq.model.loading",
    "load_nli": "rauq.methods.pair_scorers.loading",
    "load_similarity": "rauq.methods.pair_scorers.loading",
    "load_tagger": "rauq.methods.pair_scorers.loading",
    "p_true_judge": "rauq.model.p_true",
    "wrap": "rauq.model.loading",
}


def __getattr__(name: str) -> object:
    if name == "analysis":
        return layout.analysis()
    if name not in _AT_FIRST_USE:
        message = f"module 'rauq' has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(_AT_FIRST_USE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
