"""Methods that were fitted on labelled answers: a row of the table asks the detector of its id."""

from collections.abc import Callable

from rauq.detectors.detector import Detector
from rauq.errors import InvalidInput
from rauq.methods.method import Evidence, Uncertainty, no_detector


def from_detector(method: str) -> Callable[[Evidence], Uncertainty]:
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
