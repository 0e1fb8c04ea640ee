"""Methods: does RAUQ rank the answers of a run better than other methods do, and what of it does the ranking?"""

from pages.ui.methods.chosen import PAGE
from pages.ui.methods.stage import empty_stage, show_run
from pages.ui.of_run.stage import page_about_a_run

page_about_a_run(PAGE, empty=empty_stage, show=show_run)
