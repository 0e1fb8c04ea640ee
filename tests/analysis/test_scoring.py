"""Runs with methods and a function of quality of the user's own, in Python: scored, resumed, ranked, and read back."""

import copy
import itertools
import signal
import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import analysis
import rauq
from analysis.datasets.example import DataSet, Example
from analysis.methods.comparison import compare, groups_of, name_of
from analysis.methods.tables import methods_table, ranking_table
from analysis.quality.judgement import Thresholds
from analysis.report import writing
from analysis.report.results import ReportSettings
from analysis.report.writing import write_report
from analysis.runs.manifest import MANIFEST, Request, answers_path, read_manifest, write_manifest
from analysis.runs.methods import COLUMNS
from analysis.runs.opened import open_run
from analysis.runs.own import NOTHING_OWN, check_given, own_methods, within
from analysis.runs.timings import costs
from analysis.runs.work import load_for, work
from rauq.errors import InvalidInput, RunError
from rauq.methods.method import Uncertainty
from tests.analysis.report.made_run import made_run, with_own_method
from tests.architectures import save_tiny

PLACES = ("Oslo", "Lima", "Rome", "Cairo")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(save_tiny(tmp_path_factory.mktemp("model")))


@pytest.fixture(autouse=True)
def one_model(monkeypatch, model):
    loaded = _loaded(model)
    monkeypatch.setattr("analysis.runs.work.load_for", lambda _request: loaded)


_LOADED = {}


def _loaded(model):
    if model not in _LOADED:
        _LOADED[model] = load_for(Request(model=model, data="", data_sha256="", count=1))
    return _LOADED[model]


@pytest.fixture
def data():
    examples = tuple(
        Example(
            id=place, prompt=f"Where is {place}?", answer=f" In {place}", references=(place,), quality=float(number % 2)
        )
        for number, place in enumerate(PLACES)
    )
    return DataSet(name="places", examples=examples, quality="given")


def mine(compute, name="mine", **options):
    return rauq.Method(id=name, name=options.pop("called", name), compute=compute, **options)


def negative_sum(evidence):
    return -evidence.trace.logprobs.sum()


def loop(_evidence):
    for number in itertools.count():
        number * number


def fail(_evidence):
    message = "no luck"
    raise ValueError(message)


def test_methods_of_ones_own_stand_beside_the_table_and_none_that_fails_stops_another(data, model, tmp_path):
    calls = [
        mine(negative_sum, "total", called="Total surprise"),
        mine(fail, "failing"),
        mine(lambda evidence: evidence.trace.logprobs, "several"),
        mine(lambda _: "3", "text"),
        mine(lambda _: float("inf"), "infinite"),
        mine(loop, "endless"),
        mine(lambda evidence: evidence.trace.extras["hidden"].sum(), "hidden_sum", extras=("hidden",)),
        mine(lambda evidence: len(evidence.samples), "sampled", needs=frozenset({"samples"})),
    ]
    asked = {"methods": ["msp", *calls], "samples": 2, "method_seconds": 0.2}
    run = analysis.score_run(tmp_path / "run", data, model=model, **asked)
    found = run.frame()
    assert list(found) == [
        "id",
        "group",
        "prompt",
        "references",
        "answer",
        "quality",
        "unclear",
        "msp",
        *(one.id for one in calls),
    ]
    assert found["id"].tolist() == list(PLACES)
    np.testing.assert_allclose(found["total"], found["msp"])
    assert (found["sampled"] == 2).all()
    assert np.isfinite(found["hidden_sum"]).all()
    reasons = {
        "failing": "the method failed (ValueError: no luck)",
        "text": "the method failed (TypeError: it returned a value of type str; one number is needed)",
        "infinite": "it is infinite",
        "endless": "it took more than 0.2 s",
    }
    for method, reason in reasons.items():
        assert found[method].isna().all()
        assert (run.reasons[method] == reason).all()
    assert run.reasons["several"][0].startswith("the method failed (TypeError: it returned a value of type ndarray of")
    assert (run.reasons[["msp", "total"]] == "").all(axis=None)


def test_a_method_of_ones_own_is_ranked_under_its_name_with_its_cost(data, model, tmp_path):
    own = mine(negative_sum, "total", called="Total surprise", cost="none at all", needs=frozenset({"samples"}))
    analysis.score_run(tmp_path / "run", data, model=model, methods=["msp", own], samples=2)
    run = analysis.open_run(str(tmp_path / "run"))
    assert run.methods == ("msp", "total")
    assert run.manifest.request.unknown_methods == ()
    assert [name_of(method) for method in copy.deepcopy(run.methods)] == ["MSP", "Total surprise"]
    ranked = ranking_table(run.answers, run.methods, Thresholds())
    assert ranked["method"].tolist() == ["MSP", "Total surprise"]
    assert ranked["prr"][0] == ranked["prr"][1]
    compared = compare(run.answers, run.methods, groups_of(run.answers["group"]), metric="prr", thresholds=Thresholds())
    assert methods_table(compared, costs(run))["forward passes"].tolist() == ["none", "none at all"]
    assert {cost.method: cost.seconds for cost in costs(run)}["total"] > 0


def test_a_report_ranks_it_too(tmp_path, monkeypatch):
    made_run(tmp_path / "run", quality=[1.0, 0.0, 1.0, 0.5, 0.0] * 4)
    run = with_own_method(tmp_path / "run", "msp", id="weakest", name="Weakest token")
    monkeypatch.setattr(writing, "write_pictures", lambda *_: "")
    page = write_report(run, tmp_path / "report", ReportSettings()).page
    assert "Weakest token" in page.read_text(encoding="utf-8")
    rows = (tmp_path / "report" / "tables" / "methods_prr.csv").read_text(encoding="utf-8").splitlines()
    assert {row.partition(",")[0] for row in rows} == {
        *("method", "RAUQ", "Weakest token", "Perplexity", "Mean Token Entropy")
    }


def close_to(example, answer):
    if example.id == "Lima":
        message = "no map"
        raise LookupError(message)
    return {"Oslo": True, "Rome": 0.25, "Cairo": float("nan")}[example.id] if example.id in answer else 0.0


def test_a_function_judges_and_its_faults_are_reasons(data, model, tmp_path):
    run = analysis.score_run(tmp_path / "run", data, model=model, methods=["msp"], quality=close_to)
    np.testing.assert_array_equal(run.frame()["quality"], [1.0, np.nan, 0.25, np.nan])
    assert run.answers["quality_reason"].tolist() == [
        "",
        "the function of quality failed (LookupError: no map)",
        "",
        "the function of quality gave 'nan'; a finite number is needed",
    ]
    request = run.manifest.request
    assert (request.quality, request.own_quality.name, len(request.own_quality.sha256)) == ("own", "close_to", 64)


@pytest.mark.parametrize("returned", ["1", None, [1.0], np.ones(1), 1j, object])
def test_what_is_no_number_is_no_quality(returned, data, model, tmp_path):
    def odd(_example, _answer):
        return returned

    run = analysis.score_run(tmp_path / "run", data, model=model, methods=["msp"], quality=odd)
    assert run.frame()["quality"].isna().all()
    assert run.answers["quality_reason"].str.endswith("a finite number is needed").all()


@pytest.fixture
def half(data, model, tmp_path):
    """A run of a method and a function of quality of one's own, half of which is lost."""
    folder = tmp_path / "run"
    asked = {"model": model, "methods": ["msp", mine(negative_sum)], "quality": close_to, "batch_size": 2}
    run = analysis.score_run(folder, data, shard_size=2, **asked)
    answers_path(folder, 1).unlink()
    return run, {**asked, "shard_size": 2}


def test_a_stopped_run_goes_on_with_the_same_methods_and_quality(half, data):
    whole, asked = half
    assert len(open_run(whole.folder).answers) == 2
    again = analysis.score_run(whole.folder, data, **asked)
    pd.testing.assert_frame_equal(again.frame(), whole.frame())


def test_without_them_it_is_not_resumed_and_says_what_to_give(half, data):
    folder = half[0].folder
    with pytest.raises(RunError, match=r"uses your own mine\. Give them to analysis\.score_run"):
        work(folder)
    with pytest.raises(InvalidInput, match=r"quality of this run is a Python function .*score_run"):
        work(folder, own=own_methods([mine(negative_sum)]))
    with pytest.raises(InvalidInput, match="does not use the method other"):
        work(folder, own=own_methods([mine(negative_sum), mine(len, "other")], quality=close_to))
    with pytest.raises(RunError, match=r"score_run with the same arguments|Unknown|holds another run"):
        analysis.score_run(folder, data, model=half[1]["model"], methods=["msp"])


def test_other_code_under_the_same_name_is_refused(half, data):
    whole, asked = half
    with pytest.raises(RunError, match=r"not what the run was started with.*score into a new folder"):
        analysis.score_run(whole.folder, data, **{**asked, "methods": ["msp", mine(fail)]})
    with pytest.raises(RunError, match=r"The method mine is not what the run was started with"):
        work(whole.folder, own=own_methods([mine(fail)], quality=close_to))

    def other(_example, _answer):
        return 1.0

    with pytest.raises(RunError, match="function of quality is not what the run was started with"):
        work(whole.folder, own=own_methods([mine(negative_sum)], quality=other))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"methods": [negative_sum]}, r"negative_sum is a function, not a method\. Give rauq\.Method"),
        ({"methods": [mine(len, "rauq")]}, "rauq is the id of another method"),
        ({"methods": [mine(len, "Mine")]}, "its id is 'Mine', but must be lower-case letters"),
        ({"methods": [mine(len, "../mine")]}, "its id is '../mine'"),
        ({"methods": [mine(len, called="RAUQ")]}, "RAUQ is the name of another method"),
        ({"methods": [mine(len, called="<b>mine</b>")]}, "its name is '<b>mine</b>'"),
        ({"methods": [mine(None)]}, "neither a function to compute nor settings"),
        ({"methods": [mine(7)]}, "neither a function to compute nor settings"),
        ({"methods": [mine(len, needs=frozenset({"luck"}))]}, "its needs include 'luck'; choose from samples, nli"),
        ({"methods": [mine(len, extras=("hiden",))]}, "its extras include 'hiden'; choose from max_attention"),
        ({"methods": [mine(len, direction="higher is better")]}, "return minus the value"),
        (
            {"methods": [mine(len, needs=frozenset({"nli"}))]},
            "mine needs a model for natural-language inference. Add --nli",
        ),
        ({"methods": [mine(len), mine(abs)]}, "Two of your methods have the same id"),
        ({"methods": [mine(len), mine(abs, "other", called="mine")]}, "Two of your methods have the same name"),
        ({"methods": [mine(len, "quality")]}, "the id 'quality', which is a column of every run"),
        ({"methods": ["luck"]}, "Unknown method 'luck'"),
        ({"method_seconds": 0, "methods": [mine(len)]}, "Got a limit of 0 seconds"),
        ({"quality": "own"}, "'own' is a function of yours"),
        ({"quality": "taste"}, "Unknown measure of quality 'taste'"),
        ({"quality": lambda *_: 1.0}, "Got <lambda> as the function of quality"),
        ({"luck": 7}, "Unknown option 'luck'; choose from .*batch_size"),
        ({"count": 7}, "Unknown option 'count'"),
    ],
)
def test_what_no_run_can_have_is_refused_before_anything_is_written(options, said, data, model, tmp_path):
    with pytest.raises(InvalidInput, match=said):
        analysis.score_run(tmp_path / "run", data, model=model, **options)
    assert not (tmp_path / "run").exists()


def test_no_id_is_a_column_that_a_run_has_already(data, model, tmp_path):
    run = analysis.score_run(tmp_path / "run", data, model=model, methods=["msp"])
    assert set(run.answers) - {"msp"} <= COLUMNS


def test_a_method_of_rauq_under_other_settings_is_ones_own_too(data, model, tmp_path):
    own = rauq.Method(id="rauq_own", name="RAUQ, α = 0.9", settings=rauq.Settings(alpha=0.9))
    run = analysis.score_run(tmp_path / "run", data, model=model, methods=["rauq", own])
    assert np.isfinite(run.frame()["rauq_own"]).all()
    assert (run.frame()["rauq_own"] != run.frame()["rauq"]).any()


@pytest.mark.parametrize(
    "wrong",
    [
        {"module": "a; rm -rf b:c"},
        {"module": "../a:b"},
        {"name": "<img src=x onerror=alert(1)>"},
        {"name": ":red[x]"},
        {"id": "other"},
        {"sha256": "0"},
        {"needs": ("luck",)},
    ],
)
def test_a_manifest_with_another_note_is_damaged(wrong, data, model, tmp_path):
    analysis.score_run(tmp_path / "run", data, model=model, methods=["msp", mine(negative_sum)])
    manifest = read_manifest(tmp_path / "run")
    (note,) = manifest.request.own_methods
    request = replace(manifest.request, own_methods=(replace(note, **wrong),))
    write_manifest(tmp_path / "run", replace(manifest, request=request))
    with pytest.raises(RunError, match=f"{MANIFEST} is damaged"):
        read_manifest(tmp_path / "run")


def test_a_limit_is_refused_where_it_cannot_be_kept():
    given, caught = own_methods([mine(len)]), []

    def check(own):
        try:
            check_given(own, own.notes, None)
        except InvalidInput as error:
            caught.append(str(error))

    for own in (given, replace(given, seconds=None), NOTHING_OWN):
        thread = threading.Thread(target=check, args=(own,))
        thread.start()
        thread.join()
    assert len(caught) == 1
    assert "main thread" in caught[0]
    check_given(given, given.notes, None)


def test_a_limit_leaves_no_alarm_behind():
    assert within(60, lambda: Uncertainty(2)) == 2
    assert within(0.05, lambda: loop(None)).reason == "it took more than 0.05 s"
    with pytest.raises(ValueError, match="no luck"):
        within(60, lambda: fail(None))
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_frame_is_a_copy(data, model, tmp_path):
    run = analysis.score_run(tmp_path / "run", data, model=model, methods="msp")
    changed = run.frame()
    changed["quality"] = 7.0
    assert run.frame()["quality"].tolist() == [0.0, 1.0, 0.0, 1.0]
    assert run.frame()["unclear"].tolist() == [False] * 4
    assert list(run.reasons) == ["msp"]
