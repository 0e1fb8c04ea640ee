"""The drawer Reference: the rank and the calibration, another run or the table, and a run made for a model."""

import numpy as np
import pytest

import rauq
from analysis.one_answer.standing import rank_in_words, standing
from analysis.runs.job import Status, write_status
from analysis.runs.library import FOLDER_VARIABLE
from analysis.runs.manifest import read_manifest
from analysis.runs.opened import open_run
from analysis.runs.traces import trace
from pages.ui.host import jobs, looking
from pages.ui.host.hosting import ModelChoice
from pages.ui.host.request import Branch, Request
from pages.ui.host.store import store
from pages.ui.inspect.closing import OPEN
from pages.ui.inspect.drawers import EXPORT, REFERENCE, time_in_words
from pages.ui.inspect.reference import FEWER_LAYERS, NO_REFERENCE, TABLE
from rauq import Settings
from rauq.errors import RunError
from tests.jobs import ended
from tests.pages.comparing import unfold
from tests.pages.reading import charts, open_page, views
from tests.pages.sets import make
from tests.traces import make_trace

MAKE = "reference_make"


def text(page):
    assert not page.exception
    return " ".join(element.value for element in page.text)


def about(page):
    return views(page)["judged"]["standing"]["about"]


def unfolded(page):
    page.session_state[OPEN] = REFERENCE
    return page.run()


@pytest.mark.usefixtures("no_model")
def test_a_drawer_is_open_for_one_answer(open_app):
    page = open_app(make_trace())
    page.session_state[OPEN] = EXPORT
    for _ in range(2):
        page.run()
        assert "close_drawer" in [button.key for button in page.button]
    page.query_params["kept"] = other_answer()
    for _ in range(2):
        page.run()
        assert "close_drawer" not in [button.key for button in page.button]


@pytest.fixture
def two(runs):
    """Two runs of one model."""
    make(runs, question="question {}")
    make(runs, "third", quality=(1.0, 0.0) * 30)
    return runs


@pytest.mark.parametrize("settings", [Settings(), Settings(alpha=0.7, alignment="own")])
@pytest.mark.usefixtures("no_model")
def test_the_score_is_ranked_under_the_current_settings(open_app, two, settings):
    query = {} if settings == Settings() else {"alpha": "0.7", "alignment": "own"}
    page = unfolded(open_app(run="small", number="4", **query))
    run = open_run(two / "small")
    uncertainty = rauq.score(trace(run, 4), settings).uncertainty
    values = np.array([rauq.score(trace(run, row), settings).uncertainty for row in range(45)])
    rank = rank_in_words(standing(uncertainty, values, run.answers["quality"].to_numpy() == 1))
    assert f"{rank}. Near this score, " in text(page)
    assert "Reference: the run small" in text(page)
    assert "for ranking, not a probability" in text(page)
    assert "reference_chart" in charts(page)
    [link] = [one for one in page.get("page_link") if one.proto.label == "All answers of this run"]
    assert "run=small" in link.proto.query_string
    assert ("alpha=0.7" in link.proto.query_string) is (settings != Settings())


@pytest.mark.usefixtures("no_model", "two")
def test_it_says_why_there_is_no_rank(open_app):
    assert NO_REFERENCE in text(unfolded(open_app(make_trace())))
    assert FEWER_LAYERS.format("small") in text(unfolded(open_app(make_trace(model="a"), layers="all")))
    undefined = make_trace(model="a", probabilities=[0.5, np.nan, 0.5])
    page = unfolded(open_app(undefined))
    assert "the score is undefined" in text(page)
    assert "reference_chart" not in charts(page)


@pytest.mark.usefixtures("no_model")
def test_a_run_of_one_quality_gives_a_rank_and_no_share(open_app, runs):
    make(runs, quality=(1.0,) * 24)
    page = unfolded(open_app(run="small", number="4"))
    assert "100 % of all 24 are correct; the share near this score is unknown: no question has incorrect" in text(page)
    assert "24 answers" in text(page)


@pytest.mark.usefixtures("no_model", "two")
def test_another_run_is_chosen_and_remembered_for_this_model_alone(open_app):
    page = unfolded(open_app(make_trace(model="a")))
    assert page.selectbox(key="reference_run_a").options == ["The run small", "The run third"]
    page = page.selectbox(key="reference_run_a").select("third").run()
    assert "the run third" in about(page)
    assert page.query_params["reference"] == "third"

    kept = page.query_params["kept"]
    page.query_params["kept"] = other_answer()
    assert views(page.run())["judged"]["standing"] == {"reason": NO_REFERENCE}
    assert "reference" not in page.query_params
    page.query_params["kept"] = kept
    assert "the run third" in about(page.run())
    page.query_params["reference"] = "small"  # by a link, or Back
    assert "the run small" in about(page.run())
    assert "the run small" in about(page.run())


def other_answer():
    store().answers.keep(make_trace(), name="another-one")
    return "another-one"


def test_the_table_can_be_chosen_where_it_fits(monkeypatch, tmp_path):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "none"))
    page = unfolded(open_page("inspect", example="canberra", reference="smollm2-facts"))
    assert "the run smollm2-facts" in about(page)
    box = page.selectbox(key="reference_run_smollm2")
    assert box.options == ["The table that came with the app", "The run smollm2-facts"]
    page = box.select(TABLE).run()
    assert "the table that came with the app" in about(page)
    page.query_params["alpha"] = "0.3"
    assert "the run smollm2-facts" in about(page.run())
    assert "798 answers" in views(page)["judged"]["standing"]["rank"]


def test_a_run_that_is_made_becomes_the_reference(runs):
    store().speeds.clear()  # no answer of this model has been generated yet
    page = unfold(unfolded(open_page("inspect", example="myth", alpha="0.3")), MAKE)
    assert "make a reference" in text(page)
    assert "unknown until the model has generated an answer" in " ".join(one.value for one in page.caption)
    assert page.selectbox(key="reference_form_atlas").options == ["Prompts held out from its training"]
    page.number_input(key="reference_count").set_value(20)
    page = page.button(key="start_reference").click().run()
    assert not page.exception
    assert not page.error
    folder = runs / "atlas-atlas"
    request = read_manifest(folder).request
    assert (request.model, request.count, request.quality) == ("atlas", 20, "exact_truth")
    assert ended(folder).state == "finished"
    page = unfolded(page)
    assert "the run atlas-atlas" in about(page)
    assert page.query_params["reference"] == "atlas-atlas"


@pytest.mark.parametrize(
    ("state", "said"), [("answering", "It becomes the reference"), ("failed", "It would have become the reference")]
)
@pytest.mark.usefixtures("no_model")
def test_progress_is_shown_and_the_former_reference_stays_meanwhile(open_app, two, monkeypatch, state, said):
    monkeypatch.setattr("analysis.runs.job.is_held", lambda folder: state == "answering" and folder.name == "third")
    page = open_app(make_trace(model="a"))
    write_status(two / "third", Status(state=state, total=61, saved=30, message="Out of memory."))
    page.session_state["_reference_making"] = {("a", "0", "base"): "third"}
    page = unfolded(page)
    assert f"The run third is {state}. {said} of this model. Out of memory." in text(page)
    assert "30 of 61 answers" in text(page)
    assert "the run small" in about(page)
    assert (MAKE in [one.key for one in page.toggle]) is (state == "failed")


def test_a_run_that_cannot_start_is_an_error(open_app, runs, monkeypatch):
    def fail(folder, **_):
        message = f"{folder.name} ended at once: no such model"
        raise RunError(message)

    monkeypatch.setattr("pages.ui.host.session_runs.start_job", fail)
    page = unfold(unfolded(open_app(make_trace())), MAKE)
    page = page.button(key="start_reference").click().run()
    assert not page.exception
    assert "ended at once" in " ".join(one.value for one in page.error) + text(page)
    request = read_manifest(runs / "facts-made-up").request
    assert (request.count, request.quality, request.max_new_tokens) == (300, "facts", 40)


@pytest.mark.parametrize(
    ("speed", "words"),
    [
        (None, "How long this takes is unknown until the model has generated an answer in this app."),
        (
            10.0,
            "About 20 min once the model is loaded: 300 answers of up to 40 tokens at the 10 tokens per second",
        ),
        (3000.0, "About 4 s once the model is loaded: 300 answers"),
    ],
)
def test_the_time_is_said_beforehand(speed, words):
    assert time_in_words(speed, 300, 40).startswith(words)


def test_the_speed_is_that_of_the_models_last_answer():
    choice = ModelChoice(name="speedy", kind="base")
    job = jobs.Job(Request(model=choice, prompt="Where?"))
    job.pieces[:] = ["a"] * 4
    jobs._note_speed(job, 2.0)
    assert looking.tokens_per_second(choice) is None
    job.pieces[:] = ["a"] * 30
    jobs._note_speed(job, 2.0)
    assert looking.tokens_per_second(ModelChoice(name="speedy")) == 15
    branch = Branch(origin=make_trace(), token=1, instead="b")
    branched = jobs.Job(Request(model=choice, prompt="Where?", branch=branch), pieces=["a"] * 90)
    jobs._note_speed(branched, 2.0)
    assert looking.tokens_per_second(choice) == 15
    assert looking.tokens_per_second(ModelChoice(name="other")) is None
