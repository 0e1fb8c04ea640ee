"""The logistic function, with which several detectors end."""

import numpy as np


def probability(log_odds: np.ndarray | float) -> np.ndarray:
    """The probabilities (...) of log-odds (...), 0 to 1; nothing overflows."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -np.asarray(log_odds))))
