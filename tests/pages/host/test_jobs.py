"""Generation in the background: one at a time, can be stopped, and reports every failure."""

import math
import re
import threading
from collections import UserDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import pytest
import streamlit as st
from streamlit.runtime.scriptrunner import StopException

import rauq
from pages.ui.compare import answers
from pages.ui.evidence import check
from pages.ui.host import hosting, jobs, looking, models
from pages.ui.host.hosting import Busy, ModelChoice
from pages.ui.host.jobs import Job
from pages.ui.host.request import Request
from pages.ui.host.store import JobRegistry, Loaded, store
from pages.ui.inspect import form
from pages.ui.shared import state, url_state
from rauq.checkpoints.store import PLACE_VARIABLE
from rauq.errors import InvalidInput, Stopped
from tests.gguf_files import save_gguf
from tests.pages.reading import choose, finished, shown_trace, started, views, written
from tests.traces import make_trace

REQUEST = Request(model=ModelChoice(name="slow"), prompt="Where?")


class SlowModel:
    """Generates its first token, then waits for a signal to continue or for cancellation."""

    def __init__(self):
        self.lock = threading.RLock()
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.calls, self.at_once, self.most_at_once = 0, 0, 0
        self.prompts = []
        self.kind, self.runs_alone = "base", True  # a host answers each prompt alone
        self.engine = SimpleNamespace(about=make_trace().engine)
        self.tokens = SimpleNamespace(tokenizer=SimpleNamespace(chat_template=None))
        self.context_length = None

    def encode(self, prompt, **_options):
        return SimpleNamespace(ids=tuple(prompt.split()), notes=())

    def generate(self, prompt, *, on_token, on_progress, cancel, **_limits):
        self.prompts.append(prompt)
        self.calls += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        on_token(0, 5, " Lima")
        on_progress(lambda: make_trace((b" Lima",), prompt=prompt, stop_reason="cancelled"))
        self.begun.set()
        while not (self.go_on.wait(0.01) or cancel.is_set()):
            pass
        self.at_once -= 1
        return make_trace((b" Lima",), prompt=prompt, stop_reason="cancelled" if cancel.is_set() else "eos")


@pytest.fixture
def slow(monkeypatch):
    model = SlowModel()
    monkeypatch.setattr(models, "model", lambda _name, **_options: model)
    monkeypatch.setattr(models, "if_loaded", lambda _name: model)
    yield model
    model.go_on.set()


class Counting(dict):
    """Jobs whose counting waits for a signal; it records whether two count at the same time."""

    def __init__(self):
        super().__init__()
        self.begun, self.crowded = threading.Event(), threading.Event()
        self.go_on = None
        self.inside = 0

    def __len__(self):
        count = super().__len__()
        self.inside += 1
        self.begun.set()
        if self.inside > 1:
            self.crowded.set()
        assert self.go_on.wait(30)
        self.inside -= 1
        return count


class Overtaken(UserDict):
    """A session whose user clicks again while a callback is about to store a job."""

    def __setitem__(self, key, value):
        if isinstance(value, Job):
            raise StopException
        super().__setitem__(key, value)


def ended(job):
    assert job.done.wait(30)
    return job


def test_tokens_arrive_while_the_job_is_live(slow):
    job = started(REQUEST)
    assert slow.begun.wait(30)
    assert job.live
    assert job.pieces == [" Lima"]
    assert job.so_far.answer == " Lima"
    assert job.trace is None
    slow.go_on.set()
    assert ended(job).trace.stop_reason == "eos"
    assert not job.live
    threads = [thread for thread in threading.enumerate() if thread.name == "generation"]
    for thread in threads:
        thread.join(30)
    assert job.so_far is None


def test_the_answer_so_far_is_taken_at_most_thirty_times_a_second_and_in_a_tenth_of_the_time(monkeypatch):
    now, taken, job = [100.0], [], Job(REQUEST)
    monkeypatch.setattr(jobs.time, "monotonic", lambda: now[0])

    def so_far(seconds):
        taken.append(now[0])
        now[0] += seconds
        return make_trace()

    def note(seconds):
        jobs._note_progress(job, lambda: so_far(seconds), share=0.1)

    note(0.001)
    now[0] = 100.03
    note(0.001)
    assert taken == [100.0]
    now[0] = 100.04
    note(0.5)
    now[0] = 105.5
    note(0.001)
    assert taken == [100.0, 100.04]
    now[0] = 105.6
    note(0.001)
    assert taken == [100.0, 100.04, 105.6]


def test_stop_keeps_what_there_is(slow):
    job = started(REQUEST)
    assert slow.begun.wait(30)
    job.cancel.set()
    assert ended(job).trace.stop_reason == "cancelled"
    assert job.error is None


def test_an_exiting_process_stops_its_jobs_and_waits_for_them(slow):
    job = started(REQUEST)
    assert slow.begun.wait(30)
    job.give_up()
    assert not job.live
    assert job.trace.stop_reason == "cancelled"


def test_jobs_on_one_model_take_turns(slow):
    several = [started(REQUEST) for _ in range(4)]
    assert slow.begun.wait(30)
    slow.go_on.set()
    assert all(ended(job).trace for job in several)
    assert (slow.calls, slow.most_at_once) == (4, 1)


def in_line(slow, count):
    """Start `count` jobs, each once the one before it is in the queue."""
    line = models.queue(slow)
    several = []
    for number in range(count):
        several.append(started(replace(REQUEST, prompt=f"Number {number}?")))
        with line.moved:
            assert line.moved.wait_for(lambda: line.length == len(several), 30)
    return several


def test_jobs_are_answered_in_order_of_arrival(slow):
    several = in_line(slow, 12)
    assert slow.begun.wait(30)
    assert [job.waiting for job in several] == [False, *[True] * 11]
    slow.go_on.set()
    assert all(ended(job).trace for job in several)
    assert slow.prompts == [f"Number {number}?" for number in range(12)]


def test_a_host_admits_no_more_simultaneous_jobs_than_its_limit(slow, monkeypatch):
    monkeypatch.setenv(hosting.HOSTED_VARIABLE, "1")
    monkeypatch.setattr(hosting, "HOST", replace(hosting.HOST, generations=3))
    together = threading.Barrier(12)

    def ask(_):
        together.wait(30)
        return started(REQUEST)

    with ThreadPoolExecutor(12) as pool:
        several = list(pool.map(ask, range(12)))
    let_in = [job for job in several if job.live]
    assert len(let_in) == 3
    assert {str(job.error)[:49] for job in several if job not in let_in} == {
        "3 generations are running or waiting on this host"
    }
    let_in[0].cancel.set()
    ended(let_in[0])
    assert started(REQUEST).live
    assert not started(REQUEST).live
    slow.go_on.set()


def test_admission_is_atomic(monkeypatch):
    """The counting job waits there, so that another one could come between the check and the admission."""
    counting, go_on = Counting(), threading.Event()
    monkeypatch.setenv(hosting.HOSTED_VARIABLE, "1")
    monkeypatch.setattr(hosting, "HOST", replace(hosting.HOST, generations=1))
    registry = JobRegistry(jobs=counting)
    counting.go_on = go_on
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(registry.admit, Job(REQUEST), "") for _ in range(2)]
        assert counting.begun.wait(30)
        assert not counting.crowded.wait(0.1)  # the other one waits for the lock
        go_on.set()
        errors = [one.exception(30) for one in both]
    assert {type(error) for error in errors} == {Busy, type(None)}


def test_a_job_can_be_stopped_while_it_waits_for_its_turn(slow):
    first, second, third = in_line(slow, 3)
    second.cancel.set()
    assert isinstance(ended(second).error, Stopped)
    assert first.live
    assert third.live
    slow.go_on.set()
    assert ended(third).trace
    assert slow.calls == 2


def test_a_job_can_be_stopped_while_another_model_loads(slow, monkeypatch):
    monkeypatch.setattr(models, "if_loaded", lambda _name: None)
    with store().loaded.lock:
        job = started(REQUEST)
        job.cancel.set()
        assert isinstance(ended(job).error, Stopped)
    assert slow.calls == 0


def test_dequantising_is_shown_and_can_be_stopped(tmp_path, monkeypatch):
    monkeypatch.setenv(PLACE_VARIABLE, str(tmp_path / "store"))  # other tests may have dequantised the same weights
    save_gguf(tmp_path / "tiny.gguf")
    monkeypatch.setattr(store(), "loaded", Loaded())
    stages, load = [], rauq.load_model

    def loaded(*arguments, on_progress, cancel, **options):
        def tell(done, total):
            on_progress(done, total)
            stages.append(job.stage)
            job.cancel.set()

        return load(*arguments, on_progress=tell, cancel=cancel, **options)

    monkeypatch.setattr(rauq, "load_model", loaded, raising=False)
    job = Job(replace(REQUEST, model=ModelChoice(name=str(tmp_path / "tiny.gguf"))))
    jobs.begin(job)
    assert isinstance(ended(job).error, Stopped)
    assert len(stages) == 1
    assert re.fullmatch(r"Dequantising the weights, once for this file: [\d.]+ kB of 178\.0 kB", stages[0])
    monkeypatch.setattr(rauq, "load_model", load, raising=False)
    again = started(replace(job.request, max_new_tokens=2))
    assert ended(again).trace.model == str(tmp_path / "tiny.gguf")
    assert len(again.trace.revision) == 64


def test_a_model_that_others_wait_for_is_loaded_although_its_visitor_left(tmp_path, monkeypatch):
    monkeypatch.setenv(PLACE_VARIABLE, str(tmp_path / "store"))
    save_gguf(tmp_path / "tiny.gguf")
    monkeypatch.setattr(store(), "loaded", Loaded())
    request = replace(REQUEST, model=ModelChoice(name=str(tmp_path / "tiny.gguf")), max_new_tokens=2)
    first, second, load, loads = Job(request), Job(replace(request, prompt="When?")), rauq.load_model, []

    def loaded(*arguments, on_progress, **options):
        loads.append(arguments)

        def tell(done, total):
            on_progress(done, total)
            if second.live and second not in store().jobs.jobs:
                jobs.begin(second)
                first.cancel.set()

        return load(*arguments, on_progress=tell, **options)

    monkeypatch.setattr(rauq, "load_model", loaded, raising=False)
    jobs.begin(first)
    assert ended(second).trace
    assert isinstance(ended(first).error, Stopped)
    assert len(loads) == 1


def test_five_clicks_are_one_generation(slow, open_app):
    page = open_app()
    page.text_area(key=state.PROMPT).set_value("Where?")
    button = page.button(key="run")
    for _ in range(5):  # on the page as it was before the first click, as with fast clicking
        button.click().run()
    assert slow.begun.wait(30)
    page.run()
    assert "run" not in {button.key for button in page.button}
    page.button(key="stop").click().run()
    assert shown_trace(finished(page)).stop_reason == "cancelled"
    assert slow.calls == 1


@pytest.mark.parametrize("click", [form.run, lambda: answers.start(REQUEST), check.start])
def test_a_click_interrupted_by_the_next_one_starts_nothing(click, monkeypatch):
    monkeypatch.setattr(st, "session_state", Overtaken(prompt="Where?"))
    begun = []
    monkeypatch.setattr(threading.Thread, "start", begun.append)
    with pytest.raises(StopException):
        click()
    assert begun == []


def test_an_answer_survives_an_interrupted_script_run(slow, open_app, monkeypatch):
    def cut_short(*_arguments):
        raise StopException

    page = open_app()
    page.text_area(key=state.PROMPT).set_value("Where?")
    page.button(key="run").click().run()
    slow.go_on.set()
    assert page.session_state[state.JOB].done.wait(30)
    with monkeypatch.context() as patched:
        patched.setattr(url_state, "write", cut_short)
        page.run()
    assert shown_trace(page.run()).answer == " Lima"


def test_a_live_job_shows_its_tokens_and_hides_the_answer_before(slow, open_app):
    page = choose(open_app(make_trace()), state.TASK, "generate")
    page.text_area(key=state.PROMPT).set_value("Where?")
    page.button(key="run").click()
    page.run()
    assert slow.begun.wait(30)
    page.run()
    assert not page.exception
    assert not page.get("plotly_chart")
    assert "Lima" in page.get("bidi_component")[0].proto.json


@pytest.mark.parametrize("error", [InvalidInput("too long"), ValueError("of another kind")])
def test_a_failure_is_reported(error, slow, monkeypatch, caplog):
    def fail(*_arguments, **_options):
        raise error

    monkeypatch.setattr(slow, "generate", fail, raising=False)
    job = ended(started(REQUEST))
    assert str(error) in str(job.error)
    assert len(caplog.records) == (not isinstance(error, InvalidInput))


def test_a_lone_surrogate_is_refused():
    job = ended(started(Request(model=ModelChoice(), prompt="a\ud800b")))
    assert isinstance(job.error, InvalidInput)


def test_a_job_whose_thread_cannot_start_leaves_its_place(slow, monkeypatch):
    del slow
    monkeypatch.setenv(hosting.HOSTED_VARIABLE, "1")
    monkeypatch.setattr(hosting, "HOST", replace(hosting.HOST, generations=1))

    class NoThread:
        def __init__(self, **_options):
            raise RuntimeError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs.threading, "Thread", NoThread)
        for _ in range(3):
            assert "cannot start another generation now" in str(started(REQUEST).error)
    assert started(REQUEST).live


def test_where_there_are_many_jobs_each_polls_less_often(monkeypatch):
    waiting, growing = Job(REQUEST), Job(REQUEST, waiting=False)

    def together(*others):
        monkeypatch.setattr(store().jobs, "jobs", dict.fromkeys(others, "visitor"))
        return looking.poll_seconds(growing), looking.poll_seconds(waiting)

    assert together(growing) == (0.05, 0.5)
    monkeypatch.setitem(store().speeds, REQUEST.model, 3.0)  # tokens a second
    assert together(growing)[0] == 0.2
    assert together(growing, waiting) == (0.2, 0.5)
    many = [Job(REQUEST) for _ in range(20)]
    assert together(*many) == (0.2, 5.0)  # those that wait take nothing from those that grow
    assert together(*many, *(Job(REQUEST, waiting=False) for _ in range(20))) == (2.0, 10.0)
    assert together(*(Job(REQUEST, absent=True) for _ in range(100)), waiting) == (0.2, 0.5)


def test_who_is_next_looks_often_and_a_page_runs_again_to_do_so(monkeypatch):
    left = iter([math.nan, 90.0, 8.0, 8.0, 3.0, 0.1])
    job = Job(REQUEST)
    monkeypatch.setattr(store().jobs, "jobs", dict.fromkeys([Job(REQUEST) for _ in range(80)], "visitor"))
    monkeypatch.setattr(looking, "_place", lambda _job: (1, next(left)))
    assert [looking.poll_seconds(job) for _ in range(3)] == [20.0, 20.0, 8.0]
    moved = [looking.has_moved(job, waiting=True, every=every) for every in (12.0, 8.0, 0.5)]
    assert moved == [False, True, False]
    assert looking.has_moved(job, waiting=False, every=0.5)
    job.done.set()
    assert looking.has_moved(job, waiting=True, every=0.5)


def test_the_speed_of_an_answer_stands_beside_it_until_another_one_is_shown(open_app):
    page = written(
        choose(open_app(), state.MODEL, "atlas"), prompt="Q: What is the capital of France?\nA:", max_new_tokens=8
    )
    page = finished(page.button(key="run").click().run())
    speed = re.compile(r"Generated at (< )?[\d,]+ tokens per second\.")
    assert speed.search(views(page)["source"])
    page = page.run()
    assert speed.search(views(page)["source"])
    page.selectbox(key="_example").select_index(0).run()
    assert not speed.search(views(page)["source"])
