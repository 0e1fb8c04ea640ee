"""An answer that a tab asked for is found again by the next session of the tab, and by no stranger."""

import time

import pytest

from pages.ui.host.hosting import ModelChoice
from pages.ui.host.jobs import Job
from pages.ui.host.request import Request
from pages.ui.host.store import MOST_UNSEEN, UNSEEN_SECONDS, KeyedJobs, store
from pages.ui.inspect import form, own_job
from pages.ui.shared import state
from pages.ui.shared.sent import job_key
from rauq.arguments import Sampling
from rauq.errors import InvalidInput
from tests.pages.reading import drawn_views, open_page, shown_trace, started, views

ASKED = {"_own_job_asked": True}
REQUESTS = {
    "a prompt": Request(model=ModelChoice(), prompt="Where is Lima?", max_new_tokens=3),
    "sampled, without a stop": Request(
        model=ModelChoice(), prompt="سؤال?", max_new_tokens=3, sampling=Sampling(temperature=0.5, seed=3), stop=None
    ),
    "a stop text": Request(model=ModelChoice(), prompt="Q: Who?\nA:", max_new_tokens=3, stop="is"),
    "given": Request(model=ModelChoice(), prompt="Where is Lima?", answer=" In Peru.", end=True),
}


@pytest.fixture
def keyed(monkeypatch):
    monkeypatch.setattr(store(), "keyed", KeyedJobs())
    return store().keyed


def button_keys(page):
    return {button.key for button in page.button}


@pytest.mark.parametrize("asked", REQUESTS.values(), ids=REQUESTS)
def test_another_tab_of_the_user_can_show_an_answer_that_no_tab_has_shown(keyed, asked):
    job = started(asked)
    keyed.hold(job)
    assert job.done.wait(120)
    page = open_page("inspect", state=ASKED)
    assert any("was generated while no tab showed it" in text.value for text in page.text)
    page.button("show_other_job").click().run()
    assert not page.exception
    assert shown_trace(page) is job.trace
    assert page.text_area(key=state.PROMPT).value == asked.prompt
    assert keyed.unseen() == []
    assert "show_other_job" not in button_keys(page)
    assert "show_other_job" not in button_keys(open_page("inspect", state=ASKED))


@pytest.mark.parametrize("asked", REQUESTS.values(), ids=REQUESTS)
def test_the_form_is_filled_with_exactly_the_request(asked, monkeypatch):
    values = {}
    monkeypatch.setattr(form.st, "session_state", values)
    monkeypatch.setattr(state.st, "session_state", values)
    form.fill_with(asked)
    assert form.current_request() == asked


@pytest.mark.usefixtures("host")
def test_on_a_host_no_other_session_is_shown_a_job(keyed):
    keyed.hold(Job(REQUESTS["a prompt"]))
    page = open_page("inspect", state=ASKED)
    assert views(page)["tokens"]
    assert not page.exception
    assert "show_other_job" not in button_keys(page)
    assert not any("Lima" in str(part.proto) for part in page.get("bidi_component") if part not in drawn_views(page))


def test_failed_and_stopped_jobs_are_not_offered(keyed):
    for change in ({"error": InvalidInput("no")}, {}):
        job = Job(REQUESTS["a prompt"], **change)
        job.cancel.set()
        job.done.set()
        keyed.hold(job)
    assert "show_other_job" not in button_keys(open_page("inspect", state=ASKED))


def test_jobs_that_ended_unseen_are_bounded_in_number_and_time(keyed, monkeypatch):
    running = keyed.hold(Job(REQUESTS["a prompt"]))
    keys = []
    for _ in range(MOST_UNSEEN + 3):
        job = Job(REQUESTS["a prompt"])
        job.done.set()
        keys.append(keyed.hold(job))
    assert len({*keys, running}) == len(keys) + 1
    assert [key for key in keys if keyed.find(key) is None] == keys[:3]
    now = time.monotonic()
    monkeypatch.setattr("pages.ui.host.store.time.monotonic", lambda: now + UNSEEN_SECONDS + 1)
    assert [key for key, _ in keyed.unseen()] == [running]


def test_a_visitor_with_many_jobs_drops_none_of_others(keyed):
    def ended(visitor):
        job = Job(REQUESTS["a prompt"], visitor=visitor, error=InvalidInput("no"))
        job.done.set()
        return keyed.hold(job)

    others = [ended("one"), ended("two"), ended("two")]
    many = [ended("many") for _ in range(2 * MOST_UNSEEN)]
    assert [key for key in (*others, *many) if keyed.find(key)] == [*others, *many[3 - MOST_UNSEEN :]]


@pytest.mark.usefixtures("host")
def test_on_a_host_a_tab_that_is_loaded_again_finds_its_job_by_the_key(keyed, monkeypatch):
    job = started(REQUESTS["a prompt"])
    key = keyed.hold(job)
    for found in ("", "no key", 3, None, key):
        values = {job_key.KEY: {"key": found}}
        monkeypatch.setattr(own_job.st, "session_state", values)
        monkeypatch.setattr(state.st, "session_state", values)
        own_job._resume()
        assert (values.get(state.JOB), values.get(state.JOB_KEY)) == ((job, key) if found == key else (None, None))
    assert form.current_request() == job.request
    assert job.done.wait(120)


def components(page):
    return {one.proto.id.rpartition("-")[2] for one in page.get("bidi_component")}


@pytest.mark.parametrize("page", ["learn", "evidence"])
def test_on_a_host_other_pages_ask_a_new_session_for_the_key_too(page, request):
    assert job_key._ELSEWHERE not in components(open_page(page))
    request.getfixturevalue("host")
    assert job_key._ELSEWHERE in components(open_page(page))


@pytest.mark.usefixtures("host")
def test_a_tab_that_is_loaded_again_on_another_page_is_still_there_for_its_job(keyed, monkeypatch):
    job = Job(REQUESTS["a prompt"], sessions={"before"})
    key = keyed.hold(job)
    monkeypatch.setattr(job_key, "session_name", lambda: "again")
    for found in ("no key", 3, None, key):
        values = {job_key._ELSEWHERE: {"key": found}}
        monkeypatch.setattr(job_key.st, "session_state", values)
        job_key._stay()
        assert job.sessions == ({"before", "again"} if found == key else {"before"})
    job.done.set()


@pytest.mark.usefixtures("host")
def test_on_a_host_a_visitor_who_waits_is_told_what_comes_first_and_what_to_read():
    job = Job(REQUESTS["a prompt"])
    job.stage = "Waiting for 9 other answers, about 20 s"
    page = open_page("inspect", state={state.JOB: job})
    assert [one.value for one in page.subheader] == [job.stage]
    assert any("take turns at the model, up to 8" in one.value for one in page.caption)
    assert any(link.proto.page == "learn" for link in page.get("page_link"))
    assert "stop" in button_keys(page)
    assert not page.exception
    job.done.set()
