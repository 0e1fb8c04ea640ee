"""Answer sets: do attention heads separate correct from incorrect answers of a run? The paper's figures 2 and 3."""

from pages.ui.answer_sets.choices import PAGE
from pages.ui.answer_sets.views import empty_state, show_run
from pages.ui.shared.run_views.page import page_about_a_run

page_about_a_run(PAGE, empty=empty_state, show=show_run)
