"""Evidence: what was compared, measured and tested, the command that repeats each, and what is missing."""

from pages.ui.evidence.layout import show_evidence
from pages.ui.evidence.query import PAGE
from pages.ui.shared import state, url_state
from pages.ui.shared.entrypoint import require_shell
from pages.ui.shared.errors import show_error
from pages.ui.shared.run_views import filters as run_filters
from rauq.errors import RauqError

require_shell(PAGE)
if run_filters.is_arriving(PAGE):
    url_state.restore_url(PAGE)
try:
    show_evidence()
except RauqError as error:
    show_error(error)
state.show_notices()
url_state.remember(PAGE)
