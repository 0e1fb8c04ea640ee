"""Runs: a model answers a data set in a process of its own; runs are watched, resumed, exported and imported."""

from analysis.runs.library import list_runs
from pages.ui.host.session_runs import runs_folder
from pages.ui.host.store import store
from pages.ui.runs import query
from pages.ui.runs.from_clients import from_clients, tabs
from pages.ui.runs.listing import empty_state, head, run_list
from pages.ui.runs.new_run import new_run, problem
from pages.ui.runs.next_steps import next_steps
from pages.ui.shared import state, url_state
from pages.ui.shared.entrypoint import require_shell
from pages.ui.shared.errors import show_error
from pages.ui.shared.url_state import GOAL, RUN, VIEW

require_shell(query.PAGE)
url_state.restore_url(query.PAGE)
url_state.hold((RUN, VIEW, GOAL))
clients = store().clients
if query.is_new():
    new_run()
elif query.is_from_clients() and clients is not None:
    head(about=False)
    tabs()
    from_clients(clients)
else:
    runs = list_runs(runs_folder())
    head()
    tabs()
    if (failed := problem()) and failed.name not in {run.name for run in runs}:
        show_error(failed.error)
    if runs:
        run_list(runs, query.chosen([run.name for run in runs]))
    else:
        empty_state()
    next_steps(runs)
state.show_notices()
url_state.remember(query.PAGE)
