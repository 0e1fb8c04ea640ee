"""All views of a set of answers, for whatever goes through them: pages, reports, tests."""

from typing import Any

from analysis.views import answer_sets
from analysis.views.alarms import ALARMS
from analysis.views.methods import AGREEMENT, ERRORS, RANKING, REJECTION, SCORES, Choices
from analysis.views.survival import SURVIVAL, TOKEN_SURVIVAL
from analysis.views.variants import ABLATIONS, ALPHA, ATTENTION
from analysis.views.view import View

OF_METHODS: tuple[View[Choices, Any], ...] = (
    *(RANKING, REJECTION, SCORES, SURVIVAL, TOKEN_SURVIVAL, ATTENTION, ALPHA, ABLATIONS, AGREEMENT, ERRORS, ALARMS),
)
"""Those of the page Methods, in its order and that of a report."""
VIEWS: tuple[View[Any, Any], ...] = (*answer_sets.VIEWS, *OF_METHODS)
