"""Runs: a data set put to a model, answer by answer, in a process of its own; watched, gone on with, taken along."""

from analysis.runs.library import list_runs
from pages.ui.host.session_runs import runs_folder
from pages.ui.runs import actions, query
from pages.ui.runs.listing import empty_stage, head, run_list
from pages.ui.runs.new_run import new_run
from pages.ui.shared import state
from pages.ui.shared.entrypoint import require_shell
from pages.ui.shared.errors import show_error

require_shell("runs")
query.bring_back_url()
if query.is_new():
    new_run()
else:
    runs = list_runs(runs_folder())
    head()
    if (problem := actions.problem()) and problem.name not in {run.name for run in runs}:
        show_error(problem.error)
    if runs:
        run_list(runs, query.chosen([run.name for run in runs]))
    else:
        empty_stage()
state.tell_notices()
query.remember_url()
