"""Answer sets: do attention heads tell the right answers of a run from the wrong ones? The paper's figures 2 and 3."""

from pages.ui import state
from pages.ui.answer_sets import place
from pages.ui.answer_sets.stage import empty_stage, show_run, way_to_runs
from pages.ui.errors import show_error
from pages.ui.shell import require_shell
from rauq.errors import RauqError

require_shell("answer_sets")
place.bring_back_url()
name = place.run_name()
try:
    if name is None:
        empty_stage()
    else:
        show_run(name)
except RauqError as error:
    show_error(error)
    if name is not None:
        way_to_runs(name)
state.tell_notices()
place.remember_url()
