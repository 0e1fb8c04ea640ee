"""Evidence: what was compared, measured and attacked, each with the command that does it again, and what was not."""

from pages.ui import state
from pages.ui.errors import show_error
from pages.ui.evidence.asked import PAGE
from pages.ui.evidence.stage import show_evidence
from pages.ui.of_run import place
from pages.ui.shell import require_shell
from rauq.errors import RauqError

require_shell(PAGE)
place.bring_back_url(PAGE)
try:
    show_evidence()
except RauqError as error:
    show_error(error)
state.tell_notices()
place.remember_url(PAGE)
