"""The logistic function, with which several detectors end."""

import numpy as np


def probability(log_odds: float) -> float:
    """The probability of these log-odds, 0 to 1; nothing overflows."""
    return float(np.exp(-np.logaddexp(0.0, -log_odds)))
