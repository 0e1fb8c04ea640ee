"""The comparison of detectors as tables: in words for a page, and tidy for a file."""

import pandas as pd

from analysis.detectors.comparison import NAMES, SPLITS, Detectors, Split
from analysis.detectors.sentences import SPLIT_NAMES
from analysis.stats import Estimate, in_words


def detectors_cells(found: Detectors) -> pd.DataFrame:
    """A row for each detector; PRR over all answers and within groups, on unseen questions and on groups left out."""
    columns = {
        f"{SPLIT_NAMES[split].capitalize()}, {title}": [_cell(found, split, name, over) for name in NAMES]
        for split in SPLITS
        for over, title in _over(found).items()
    }
    return pd.DataFrame({"Detector": list(NAMES.values()), **columns})


def _over(found: Detectors) -> dict[str, str]:
    return {"all": "all answers", "within": "within groups"} if found.num_groups > 1 else {"all": "all answers"}


def _cell(found: Detectors, split: Split, name: str, over: str) -> str:
    if found.reasons[split]:
        return "–"
    one: Estimate = getattr(found.judged[split][name], over)
    return "–" if one.reason else in_words(one)


def detectors_table(found: Detectors) -> pd.DataFrame:
    """A row for each detector, split and set of answers: PRR with its interval, in full."""
    return pd.DataFrame(
        [
            {
                "detector": NAMES[name],
                "scored": SPLIT_NAMES[split],
                "over": title,
                "prr": one.value,
                "low": one.low,
                "high": one.high,
                "answers": one.n,
                "undefined": one.reason,
            }
            for split, judged in found.judged.items()
            for name, own in judged.items()
            for over, title in _over(found).items()
            for one in [getattr(own, over)]
        ]
    )
