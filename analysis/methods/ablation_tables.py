"""The control, alpha and the ablations as tables: one row a finding, numbers in full, nan where undefined."""

from collections.abc import Sequence

import pandas as pd

from analysis.estimate import Estimate
from analysis.methods.ablations import Ablated
from analysis.methods.control_ranking import EXCHANGES, GroupControl
from analysis.methods.names import name_of
from analysis.methods.sweep import Sweep
from analysis.metrics import METRICS


def ablation_table(found: Ablated) -> pd.DataFrame:
    """As the paper lays it out: a row for each variant; its metric in each group, and their mean."""
    compared = found.comparison
    metric = METRICS[compared.metric]
    return pd.DataFrame(
        [
            {found.ablation.title.lower(): name_of(method)}
            | {f"{metric} of {group}": one.value for group, one in zip(compared.groups, row, strict=True)}
            | {f"mean {metric}": mean.value}
            for method, row, mean in zip(compared.methods, compared.estimates, compared.means, strict=True)
        ]
    )


def sweep_table(found: Sweep) -> pd.DataFrame:
    """A row for each alpha in each group."""
    start = {"alignment": found.alignment, "signal": found.signal}
    return pd.DataFrame(
        [
            start | {"group": group, "alpha": alpha, "paper": alpha == found.paper_alpha} | _cells(found.metric, one)
            for group, row in zip(found.groups, found.estimates, strict=True)
            for alpha, one in zip(found.alphas, row, strict=True)
        ]
    )


def control_table(controls: Sequence[GroupControl]) -> pd.DataFrame:
    """A row for each exchange in each group: the metric with other attention put in, and the real one minus it."""
    return pd.DataFrame(
        [
            {"alignment": control.alignment, "group": control.group, "tokens": control.tokens}
            | {"attention put in": EXCHANGES[one.exchange]}
            | {control.metric: one.estimate.value}
            | _cells("real minus it", one.difference)
            for control in controls
            for one in control.exchanged
        ]
    )


def _cells(name: str, one: Estimate) -> dict[str, object]:
    interval = {name: one.value, "low": one.low, "high": one.high}
    return interval | {"answers": one.n, "excluded": one.excluded, "undefined": one.reason}
