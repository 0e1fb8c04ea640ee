"""RAUQ: how sure was a model of its answer, read from its probabilities and from one attention head a layer.

`load_model` gives a model, the model gives a `Trace`, and `score` needs the trace alone. What loads torch is imported
at its first use, so that scoring and reading traces stay light.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from rauq.batch import Batch, batch
from rauq.errors import (
    Failure,
    InvalidInput,
    ModelNotFound,
    NonFiniteLogits,
    NotCaptured,
    OutOfMemory,
    RauqError,
    TraceFileError,
    UnsupportedModel,
)
from rauq.installed import Installed, installed_models
from rauq.messages import Message
from rauq.model_folders import cached_models, local_models
from rauq.score import Score, Scores, score, score_arrays, score_many
from rauq.settings import Settings
from rauq.trace import Alternative, Trace

if TYPE_CHECKING:
    from rauq.candidate import Candidate, examine
    from rauq.judges.idf import load_idf
    from rauq.judges.judges import Judges
    from rauq.judges.loading import load_judges
    from rauq.judges.nli import load_nli
    from rauq.judges.similarity import load_similarity
    from rauq.judges.tagger import load_tagger
    from rauq.language_model import LanguageModel
    from rauq.methods.evaluate import evaluate
    from rauq.methods.method import Method, Uncertainty
    from rauq.methods.table import METHODS
    from rauq.models import load_model, wrap

__version__ = "0.1.0"

__all__ = [
    "METHODS",
    "Alternative",
    "Batch",
    "Candidate",
    "Failure",
    "Installed",
    "InvalidInput",
    "Judges",
    "LanguageModel",
    "Message",
    "Method",
    "ModelNotFound",
    "NonFiniteLogits",
    "NotCaptured",
    "OutOfMemory",
    "RauqError",
    "Score",
    "Scores",
    "Settings",
    "Trace",
    "TraceFileError",
    "Uncertainty",
    "UnsupportedModel",
    "batch",
    "cached_models",
    "evaluate",
    "examine",
    "installed_models",
    "load_idf",
    "load_judges",
    "load_model",
    "load_nli",
    "load_similarity",
    "load_tagger",
    "local_models",
    "score",
    "score_arrays",
    "score_many",
    "wrap",
]

_AT_FIRST_USE = {
    "METHODS": "rauq.methods.table",
    "Candidate": "rauq.candidate",
    "Judges": "rauq.judges.judges",
    "LanguageModel": "rauq.language_model",
    "Method": "rauq.methods.method",
    "Uncertainty": "rauq.methods.method",
    "evaluate": "rauq.methods.evaluate",
    "examine": "rauq.candidate",
    "load_idf": "rauq.judges.idf",
    "load_judges": "rauq.judges.loading",
    "load_model": "rauq.models",
    "load_nli": "rauq.judges.nli",
    "load_similarity": "rauq.judges.similarity",
    "load_tagger": "rauq.judges.tagger",
    "wrap": "rauq.models",
}


def __getattr__(name: str) -> object:
    if name not in _AT_FIRST_USE:
        message = f"module 'rauq' has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(_AT_FIRST_USE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
