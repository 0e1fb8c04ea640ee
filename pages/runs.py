"""Runs: a data set put to a model, answer by answer, in a process of its own; watched, gone on with, taken along."""

from analysis.runs.library import list_runs
from pages.ui import state
from pages.ui.errors import show_error
from pages.ui.runs import actions, place
from pages.ui.runs.listing import run_list
from pages.ui.runs.new_run import new_run
from pages.ui.runs.stage import empty_stage, head
from pages.ui.session_runs import runs_folder
from pages.ui.shell import require_shell

require_shell("runs")
place.bring_back_url()
if place.is_new():
    new_run()
else:
    runs = list_runs(runs_folder())
    head()
    if (problem := actions.problem()) and problem.name not in {run.name for run in runs}:
        show_error(problem.error)
    if runs:
        run_list(runs, place.chosen([run.name for run in runs]))
    else:
        empty_stage()
state.tell_notices()
place.remember_url()
