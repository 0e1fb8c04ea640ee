"""Every field of the settings is in the URL, in the form, in the report and in the comparison of two answers."""

from dataclasses import fields, replace

import pytest

import rauq
from analysis.exports.html_report import settings_table
from analysis.two_answers.comparison import different_scales
from pages.ui.shared.settings_form import _FIELDS
from pages.ui.shared.url_state import SETTINGS
from rauq.scoring.settings import Settings
from tests.traces import make_trace

NAMES = {field.name for field in fields(Settings)}
OTHER = {
    "alpha": 0.35, "signal": "entropy", "layers": "all", "alignment": "own", "heads": "mean", "update": "no_recurrence",
    "token_aggregation": "sum_log", "layer_aggregation": "median", "part": "all",
}  # fmt: skip


def test_url_and_form_have_every_field():
    assert set(SETTINGS) == set(_FIELDS) == set(OTHER) == NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_changed_field_is_in_the_report_and_keeps_two_scores_from_being_compared(name):
    trace = make_trace()
    plain, changed = (rauq.score(trace, replace(Settings(), **own)) for own in ({}, {name: OTHER[name]}))
    assert name.replace("_", " ") in {row.name for row in settings_table(trace, changed)}
    assert different_scales(trace, trace, plain, changed)
