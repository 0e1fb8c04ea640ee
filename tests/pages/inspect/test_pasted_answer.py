"""The fields for a pasted answer: unfolded to type in, folded once it is scored, unfolded by an error."""

from pages.ui.shared import state
from tests.pages.reading import choose, finished, written

QUESTION, ANSWER = "Q: Where is Sodo?\nA:", " Sodo is in Peru."


def is_open(page):
    return next(one.proto.expanded for one in page.get("expander") if one.label == "Pasted answer")


def pasting(open_app):
    return written(choose(open_app(), state.TASK, "paste"), prompt=QUESTION, answer=ANSWER)


def scored(page):
    return finished(page.button(key="run").click().run())


def test_they_fold_once_the_answer_is_scored_and_unfold_for_an_error_once(open_app):
    page = pasting(open_app).run()
    assert is_open(page)
    page = scored(page)
    assert not page.exception
    assert not is_open(page)
    page = written(page, prompt="").button(key="run").click().run()
    assert is_open(page)
    page.session_state[state.ANSWER_OPEN] = False
    assert not is_open(page.run())
    page = written(page, answer="").button(key="run").click().run()
    assert is_open(page)


def test_they_keep_what_was_typed_and_stay_open_while_it_is_changed(open_app):
    page = scored(pasting(open_app))
    page.session_state[state.ANSWER_OPEN] = True
    page = written(page.run(), answer=" Sodo is in Chad.").run()
    assert is_open(page)
    assert page.text_area(key=state.ANSWER).value == " Sodo is in Chad."
    assert not is_open(scored(page))


def test_an_answer_of_a_link_is_folded_where_the_page_shows_it(open_app):
    assert not is_open(open_app(prompt=QUESTION, answer=ANSWER))
