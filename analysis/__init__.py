"""Sets of answers: a data set is scored into a run, and a run gives tables and findings.

Everything is imported on first use, so that `from rauq import analysis` loads neither pandas nor a model.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.datasets.columns import Columns
    from analysis.datasets.example import DataSet, Example
    from analysis.datasets.rows import data_set
    from analysis.one_answer.figures import plot
    from analysis.online.compared import alarm_threshold
    from analysis.runs.library import bundled_folder
    from analysis.runs.opened import Run, open_run
    from analysis.runs.traces import traces_of
    from analysis.scoring import score, score_run
    from analysis.stores import local_copy
    from analysis.tokens.claims import claims_auc, score_claims

__all__ = [
    "Columns",
    "DataSet",
    "Example",
    "Run",
    "alarm_threshold",
    "bundled_folder",
    "claims_auc",
    "data_set",
    "local_copy",
    "open_run",
    "plot",
    "score",
    "score_claims",
    "score_run",
    "survive",
    "traces_of",
]

_AT_FIRST_USE = {
    "Columns": ".datasets.columns",
    "DataSet": ".datasets.example",
    "Example": ".datasets.example",
    "Run": ".runs.opened",
    "alarm_threshold": ".online.compared",
    "bundled_folder": ".runs.library",
    "claims_auc": ".tokens.claims",
    "data_set": ".datasets.rows",
    "local_copy": ".stores",
    "open_run": ".runs.opened",
    "plot": ".one_answer.figures",
    "score": ".scoring",
    "score_claims": ".tokens.claims",
    "score_run": ".scoring",
    "survive": ".survival.asked",
    "traces_of": ".runs.traces",
}


def __getattr__(name: str) -> object:
    if name not in _AT_FIRST_USE:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(_AT_FIRST_USE[name], __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
