"""Copy link: it opens the answer itself for as long as that is in memory, and offers to generate it afterwards."""

from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

import pytest

from pages.ui.host.store import store
from pages.ui.inspect.closing import OPEN
from pages.ui.inspect.drawers import EXPORT
from pages.ui.inspect.verdict import NOTHING
from pages.ui.shared import state
from pages.ui.shared.url_state import LONGEST
from tests.pages.conftest import NAME
from tests.pages.reading import drawn_views, finished, interpreted, shown_trace, views
from tests.traces import make_trace


@pytest.fixture
def trace():
    return make_trace((b" Lima", b"."), prompt="Where is Lima?", model="atlas", stop_reason="given")


def copied(page):
    """The parameters of the copied link, and the caption above it."""
    page.session_state[OPEN] = EXPORT
    page.run()
    link = page.code[0]
    (about,) = (caption.value for caption in page.caption if caption.value.startswith("The link opens"))
    return dict(parse_qsl(urlsplit(link.value).query)), about


@pytest.mark.usefixtures("no_model")
def test_a_copied_link_opens_the_same_answer_and_says_for_how_long(open_app, trace):
    query, about = copied(open_app(trace, token="1"))
    assert query["kept"] == NAME
    assert query["prompt"] == trace.prompt
    assert "until the app restarts, or newer answers need the room (268.4 MB for all)" in about
    assert "After that it shows prompt and answer, which it contains, and offers to score them again." in about
    page = open_app(**query)
    assert views(page)["selection"]["token"] == 1
    assert shown_trace(page) is trace
    assert not page.title


@pytest.mark.usefixtures("no_model")
def test_the_link_of_a_generated_answer_offers_to_generate_it_again(open_app, trace):
    _, about = copied(open_app(replace(trace, stop_reason="eos")))
    assert "After that it shows the prompt, which it contains, and offers to generate the answer again." in about


def test_the_link_of_a_pasted_answer_that_is_gone_says_so_and_offers_to_score_it(open_app, trace):
    query, _ = copied(open_app(trace))
    del store().answers.kept[NAME]
    page = open_app(**query)
    assert [page.button(key=key).label for key in ("run", "run_link")] == ["Score answer", "Score answer"]
    assert "No prompt yet" not in " ".join(caption.value for caption in page.caption)
    assert page.title[0].value == "The answer of this link is no longer in memory"
    assert page.code[0].value == trace.prompt
    assert not drawn_views(page)
    page = finished(page.button(key="run_link").click().run())
    assert not page.exception
    assert shown_trace(page).prompt == trace.prompt
    assert query["kept"] != page.query_params["kept"]
    assert "prompt" not in page.query_params


@pytest.mark.usefixtures("no_model")
def test_the_link_of_an_answer_scored_without_its_loop_asks_for_the_whole_answer(open_app):
    looping = make_trace((b" no",) * 16, prompt="no", model="atlas", stop_reason="length")
    query, _ = copied(open_app(looping, loop="without"))
    assert (query["loop"], query["max_new_tokens"]) == ("without", "16")
    given = make_trace((b" no",) * 16, prompt="no", model="atlas", stop_reason="given")
    query, _ = copied(open_app(given, loop="without"))
    assert (query["loop"], query["answer"]) == ("without", " no" * 16)


@pytest.mark.usefixtures("no_model")
def test_the_scoring_button_says_by_what_the_pasted_answer_of_a_link_will_be_scored(open_app):
    asked = {"prompt": "Where is Lima?", "answer": " Lima", "kept": "gone"}
    labels = [scoring(open_app(**asked, **settings)) for settings in ({}, {"by": "rauq"}, {"alpha": "0.5"})]
    assert labels == ["Scoring: largest surprisal", "Scoring: paper's", "Scoring: alpha 0.5"]
    page = open_app(**asked)
    page.button(key="paper").click().run()
    assert scoring(page) == "Scoring: paper's"


def scoring(page):
    return page.get("popover")[-1].proto.popover.label


@pytest.mark.usefixtures("no_model")
def test_a_link_without_an_answer_says_nothing_of_one_that_is_gone(open_app):
    page = open_app(prompt="Where is Lima?")
    assert page.title[0].value == "This link asks for an answer"
    assert state.JOB not in page.session_state
    assert "no longer" not in interpreted(page)


@pytest.mark.usefixtures("no_model")
def test_a_prompt_too_long_for_a_link_is_said_to_be_left_out(open_app):
    query, about = copied(open_app(make_trace((b" Lima", b"."), prompt="where " * 1000)))
    assert query == {"kept": NAME}
    assert "The prompt is too long for a link" in about


def judged(page):
    return {name: views(page)["judged"]["verdict"][name] for name in ("verdict", "source", "correctAnswer")}


def said(page, **own):
    """Say of the answer shown what a person says in the browser; the page runs again."""
    page.session_state["_own_verdicts"] = {f"kept:{NAME}": replace(NOTHING, **own)}
    return page.run()


@pytest.mark.usefixtures("no_model")
def test_a_copied_link_carries_the_verdict_and_the_correct_answer(open_app, trace):
    page = said(open_app(trace), verdict="incorrect", correct_answer="Peru")
    query, about = copied(page)
    assert about.endswith("It contains your verdict and your correct answer.")
    page = open_app(**query)
    assert judged(page) == {"verdict": "incorrect", "source": "set in the link", "correctAnswer": "Peru"}
    assert copied(page)[0] == query
    query, about = copied(said(open_app(trace), verdict="correct"))
    assert about.endswith("It contains your verdict.")
    assert "correct_answer" not in query
    assert judged(open_app(**query))["verdict"] == "correct"


@pytest.mark.usefixtures("no_model")
def test_a_link_without_the_users_verdict_says_nothing_of_one(open_app, trace):
    query, about = copied(open_app(trace))
    assert not {"verdict", "correct_answer"} & set(query)
    assert "contains your" not in about


def test_the_verdict_of_a_link_is_there_once_its_answer_was_made_again_and_on_no_other(open_app, trace):
    query, _ = copied(said(open_app(trace), verdict="correct", correct_answer="Peru"))
    del store().answers.kept[NAME]
    page = finished(open_app(**query).button(key="run_link").click().run())
    assert judged(page) == {"verdict": "correct", "source": "set in the link", "correctAnswer": "Peru"}
    assert page.query_params["verdict"] == query["verdict"]
    page = finished(open_app(**query | {"answer": " Rome."}).button(key="run_link").click().run())
    assert (judged(page)["source"], judged(page)["correctAnswer"]) == ("by the rule for facts", "Peru")
    assert "verdict" not in page.query_params
    [notice] = page.toast
    assert notice.value == "The link's verdict cannot be used for this answer and was left out."
    page.text_area(key="prompt").set_value("Where is Rome?")
    page = finished(page.button(key="run").click().run())
    assert judged(page) == {"verdict": None, "source": "", "correctAnswer": ""}
    assert not {"verdict", "correct_answer"} & set(page.query_params)


@pytest.mark.usefixtures("no_model")
def test_a_correct_answer_gives_way_to_the_prompt_in_a_link(open_app):
    long = make_trace((b" Lima", b"."), prompt="w" * (LONGEST - 200), model="atlas", stop_reason="given")
    query, about = copied(said(open_app(long), verdict="correct", correct_answer="秘" * 100))
    assert {"prompt", "verdict"} <= set(query)
    assert "correct_answer" not in query
    assert about.endswith("It contains your verdict. Your correct answer is too long for it.")
