"""With one run at most, the page Runs offers other data, and says how long the model of the run takes."""

import pytest

from analysis.runs.timings import Timing, add_timings
from tests.analysis.report.made_run import made_run
from tests.pages.runs_page import keys, open_runs, said

STEPS = {"next_A file", "next_Facts", "next_The paper's"}


@pytest.fixture(autouse=True)
def root(runs):
    """The folder of runs, empty."""
    runs.mkdir()
    return runs


def test_one_run_has_a_time_for_other_data_and_each_choice_opens_the_form(root):
    made_run(root / "made", quality=[1.0, 0.0])
    assert "for 100 questions" not in said(open_runs())  # no times were recorded
    add_timings(root / "made", 0, [Timing(stage="generate", examples=2, seconds=6.0, tokens=9)])
    page = open_runs()
    assert keys(page) >= STEPS
    assert "made-up: about 5 min for 100 questions, as in this run." in said(page)
    page = page.button(key="next_Facts").click().run()
    assert page.query_params["view"] == "new"
    (source,) = (group for group in page.get("button_group") if group.key == "new_run_source")
    assert source.value == "Facts"


def test_several_runs_fill_the_page_themselves(root):
    assert keys(open_runs()) >= STEPS
    for name in ("one", "two"):
        made_run(root / name, quality=[1.0, 0.0])
    assert not keys(open_runs()) & STEPS
