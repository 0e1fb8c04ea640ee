"""Compare: two answers side by side, or one answer and another continuation of it."""

from pages.ui.compare import answers
from pages.ui.compare.answers import Answer
from pages.ui.compare.form import pickers, settings_of_both
from pages.ui.compare.layout import answers_gone, empty_state, follow, views
from pages.ui.shared import state, url_state
from pages.ui.shared.entrypoint import require_shell
from pages.ui.shared.errors import show_error
from rauq.errors import RauqError


def compare(a: Answer, b: Answer) -> None:
    """Show the two answers, or, while another is being generated, A with the new one under it."""
    pickers(a, b)
    if error := answers.problem():
        show_error(error)
    settings = settings_of_both(a.trace, b.trace)
    job = answers.job()
    if job is not None:
        follow(job, a, settings[0])
    else:
        views((a, b), settings)


require_shell(answers.PAGE)
answers.restore_page_url()
answers.collect()
try:
    if sides := answers.gone():
        answers_gone(sides)
    elif pair := answers.pair():
        compare(*pair)
    else:
        empty_state()
except RauqError as error:
    show_error(error)
state.show_notices()
url_state.remember(answers.PAGE)
