"""The figure of the signals of tokens: each in three comparisons."""

import plotly.graph_objects as go

from analysis.figures import ATTENTION, QUIET, UNCERTAINTY, Row, interval_panels
from analysis.stats import Estimate
from analysis.tokens.detection import COMPARISONS, SIGNALS, Comparison, Detection, Found, Signal
from analysis.tokens.sentences import COMPARISON_NAMES, SIGNAL_NAMES, undefined_reason

_LOOKS: dict[Signal, tuple[str, str]] = {
    "collapse": (UNCERTAINTY, "diamond"),
    "selected": (ATTENTION, "circle"),
    "best": (ATTENTION, "circle-open"),
}


def signals_chart(detection: Detection, *, dark: bool = False) -> go.Figure:
    """ROC-AUC of each signal, a panel for each comparison; chance is 0.5."""
    reason = undefined_reason(detection)
    panels = {} if reason else {COMPARISON_NAMES[one]: _rows(detection, one) for one in COMPARISONS}
    figure = interval_panels(panels or {"": []}, title="ROC-AUC", reference=0.5, reason=reason, dark=dark)
    return figure.update_xaxes(matches="x")


def _rows(detection: Detection, comparison: Comparison) -> list[Row]:
    return [
        Row(SIGNAL_NAMES[signal], _auc(own, comparison), *_LOOKS.get(signal, (QUIET, "circle")))
        for signal, own in zip(SIGNALS, detection.found, strict=True)
    ]


def _auc(own: Found, comparison: Comparison) -> Estimate:
    return own.place if comparison == "place" else getattr(own, comparison).auc
