"""The figure of the comparison of detectors."""

import plotly.graph_objects as go

from analysis.detectors.comparison import HEADS, HEADS_RAUQ, NAMES, SPLIT_NAMES, SPLITS, Detectors
from analysis.detectors.comparison import RAUQ as RAUQ_ALONE
from analysis.figures import ATTENTION, QUIET, UNCERTAINTY, Row, interval_panels

_LOOKS = {RAUQ_ALONE: (UNCERTAINTY, "diamond"), HEADS: (ATTENTION, "circle"), HEADS_RAUQ: (ATTENTION, "circle")}


def detectors_chart(found: Detectors, *, dark: bool = False) -> go.Figure:
    """PRR of each detector within groups, on unseen questions and on groups left out; the controls are grey."""
    over = "within" if found.num_groups > 1 else "all"
    panels = {
        SPLIT_NAMES[split]: [
            Row(
                words,
                getattr(found.judged[split][name], over),
                *_LOOKS.get(name, (QUIET, "circle-open")),
                bold=name == HEADS_RAUQ,
            )
            for name, words in NAMES.items()
        ]
        for split in SPLITS
        if split in found.judged
    }
    reason = next(filter(None, found.reasons.values()), "")
    title = "PRR within groups" if over == "within" else "PRR"
    figure = interval_panels(panels or {"": []}, title=title, reference=0.0, reason=reason, dark=dark)
    return figure.update_xaxes(matches="x")
