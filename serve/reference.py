"""Where an answer stands among those of a run of the same model: its rank, and the share of correct ones near it."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from analysis.calibration import Calibration, calibrate, share_at
from analysis.one_answer.likeness import why_unlike
from analysis.one_answer.standing import standing
from analysis.runs.opened import open_run
from analysis.runs.reference import is_written, reference_scores
from rauq.errors import InvalidInput
from rauq.model.context import ModelDescription
from rauq.recorded.scores import ReferenceScores
from rauq.scoring.settings import Settings
from rauq.trace.trace import Trace


@dataclass(frozen=True, eq=False, kw_only=True)
class Reference:
    """The scores of a run with their verdicts, under the settings of the server."""

    name: str
    scores: ReferenceScores
    calibration: Calibration

    def rank(self, trace: Trace, uncertainty: float) -> dict[str, Any]:
        """The rank, and the share of correct answers near this uncertainty with its 95 % interval, or why not."""
        found = standing(uncertainty, np.array(self.scores.uncertainties), np.array(self.scores.correct))
        if found is None:
            return {"no_rank": "the score is undefined"}
        rank = {"run": self.name, "percentile": found.percentile, "count": found.count, "base": self.calibration.base}
        share = share_at(self.calibration, uncertainty)
        if why := why_unlike(trace, self.scores) or self.calibration.reason:
            return {"rank": rank | {"no_share": why}}
        if not math.isfinite(share.value):
            return {"rank": rank | {"no_share": "it is undefined"}}
        return {"rank": rank | {"share_correct": share.value, "low": share.low, "high": share.high}}


def read_reference(folder: Path, lm: ModelDescription, settings: Settings) -> Reference:
    """The run in a folder as reference for the answers of a model.

    Raises:
        InvalidInput: its answers are of another model, were written by others, or lack what the settings need.
        RunError: it cannot be read.
    """
    run = open_run(folder)
    own, other = (lm.name, lm.revision, lm.kind), (run.answerer.name, run.answerer.revision, run.answerer.kind)
    if own != other:
        message = f"The run {folder} has answers of {' '.join(other)}, and {' '.join(own)} is served."
        raise InvalidInput(message)
    if is_written(run):
        message = f"The run {folder} has answers that the model read and did not write; give one of its own answers."
        raise InvalidInput(message)
    paper = None if settings == Settings() else settings
    scores = reference_scores(run, paper)
    clusters = None if scores.clusters is None else np.array(scores.clusters)
    fitted = calibrate(np.array(scores.uncertainties), np.array(scores.correct, dtype=float), clusters=clusters)
    return Reference(name=folder.resolve().name, scores=scores, calibration=fitted)
