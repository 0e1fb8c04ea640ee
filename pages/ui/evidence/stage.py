"""The page Evidence: one view of what is kept, or what can be compared now."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from analysis.evidence.record import Record, records
from pages.ui.evidence import check_view, limits_view, paper_view, record_views
from pages.ui.evidence.asked import Asked, View, read_asked
from pages.ui.of_run.controls import view_picker

Draw = Callable[[Asked, Mapping[str, Record]], None]


@dataclass(frozen=True, kw_only=True)
class _Sight:
    """A view: what it is called, and what draws it."""

    name: str
    draw: Draw


_SIGHTS = MappingProxyType[View, _Sight](
    {
        "models": _Sight(name="Models", draw=record_views.models),
        "check": _Sight(name="Self-check now", draw=check_view.self_check),
        "reference": _Sight(name="Reference", draw=record_views.reference),
        "speed": _Sight(name="Speed", draw=record_views.speed),
        "robustness": _Sight(name="Hard to break", draw=record_views.robustness),
        "paper": _Sight(name="The paper", draw=paper_view.paper_tables),
        "limits": _Sight(name="Limits", draw=limits_view.limits),
    }
)


def show_evidence() -> None:
    """Draw the view that the URL asks for.

    Raises:
        InvalidInput: a record that is kept cannot be read.
        RunError: the run that stands beside the paper cannot be opened.
    """
    asked = read_asked()
    view_picker({view: one.name for view, one in _SIGHTS.items()}, asked.view, usual="")
    _SIGHTS[asked.view].draw(asked, records())
