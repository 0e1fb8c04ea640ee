"""Answer sets: do attention heads tell the right answers of a run from the wrong ones? The paper's figures 2 and 3."""

from pages.ui.answer_sets.controls import PAGE
from pages.ui.answer_sets.layout import empty_stage, show_run
from pages.ui.shared.run_page import page_about_a_run

page_about_a_run(PAGE, empty=empty_stage, show=show_run)
