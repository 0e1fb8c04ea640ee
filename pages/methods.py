"""Methods: does RAUQ rank the answers of a run better than other methods do, and which part of RAUQ matters?"""

from pages.ui.methods.choices import PAGE
from pages.ui.methods.views import empty_state, show_run
from pages.ui.shared.run_views.page import page_about_a_run

page_about_a_run(PAGE, empty=empty_state, show=show_run)
