"""Compare: two answers side by side, or one answer and how else it could have gone on."""

from pages.ui import state
from pages.ui.compare import answers_at_hand, making
from pages.ui.compare.answers_at_hand import Answer
from pages.ui.compare.pickers import pickers
from pages.ui.compare.settings import settings_of_both
from pages.ui.compare.stage import empty_stage, follow
from pages.ui.compare.views import views
from pages.ui.errors import show_error
from pages.ui.shell import require_shell
from rauq.errors import RauqError


def compare(a: Answer, b: Answer) -> None:
    """The two answers, or, while another is being made, A and how that one grows."""
    pickers(a, b)
    if error := making.problem():
        show_error(error)
    settings = settings_of_both(a.trace, b.trace)
    job = making.job()
    if job is not None:
        follow(job, a, settings[0])
    else:
        views((a, b), settings)


require_shell("compare")
answers_at_hand.bring_back_url()
making.collect()
try:
    pair = answers_at_hand.pair()
    if pair is None:
        empty_stage()
    else:
        compare(*pair)
except RauqError as error:
    show_error(error)
state.tell_notices()
answers_at_hand.remember_url()
