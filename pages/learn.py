"""Learn: why RAUQ matters, RAUQ in eight steps on recorded generations, then a game."""

from pages.ui.lesson import no_recordings, show_lesson
from pages.ui.lesson.content import content
from pages.ui.shared.entrypoint import require_shell
from pages.ui.shared.errors import show_error
from rauq import RauqError

require_shell("learn")
try:
    shown = content()
except RauqError as error:
    show_error(error)
else:
    if shown is None:
        no_recordings()
    else:
        show_lesson(shown)
