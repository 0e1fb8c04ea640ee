"""Evidence: what was compared, measured and attacked, each with the command that does it again, and what was not."""

from pages.ui.evidence.layout import show_evidence
from pages.ui.evidence.query import PAGE
from pages.ui.shared import run_filters, state
from pages.ui.shared.entrypoint import require_shell
from pages.ui.shared.errors import show_error
from rauq.errors import RauqError

require_shell(PAGE)
run_filters.bring_back_url(PAGE)
try:
    show_evidence()
except RauqError as error:
    show_error(error)
state.tell_notices()
run_filters.remember_url(PAGE)
