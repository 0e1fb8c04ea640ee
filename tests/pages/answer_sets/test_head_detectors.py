"""The view Heads beyond its map: detectors behind a button, two maps, the detector as a file, and a null result."""

import numpy as np
import pytest

from analysis.detectors import fit
from rauq.detectors import added_heads
from tests.analysis.report.made_run import HEADS, LAYERS
from tests.pages.reading import charts, choose, open_page
from tests.pages.sets import QUALITY, drawn, make, open_sets, said

pytestmark = pytest.mark.usefixtures("runs")
ATTACK = "<b>two</b> *x*"
OPEN = {"heads_carried": True}


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    root = tmp_path_factory.mktemp("shared")
    make(root, groups=("one", ATTACK))
    make(root, "another", quality=QUALITY[::-1], groups=("one", ATTACK))
    return root


@pytest.fixture(autouse=True)
def one_penalty(monkeypatch):
    monkeypatch.setattr(fit, "STRENGTHS", (0.1,))


def selectbox(page, key):
    return next(box for box in page.selectbox if box.key == key)


def test_detectors_are_fitted_on_request_and_stay_for_these_answers(runs):
    make(runs, quality=QUALITY, question="Who?")
    page = open_sets(run="small")
    assert "detectors" not in drawn(page)
    assert "Takes about 2 s." in said(page)
    page.button(key="fit_detectors").click().run()
    assert not page.exception
    assert "detectors" in drawn(page)
    assert "fit_detectors" not in [button.key for button in page.button]
    table = page.dataframe[1].value
    assert table["Detector"].tolist()[:3] == ["RAUQ alone, not fitted", "All heads", "All heads and RAUQ"]
    assert table.shape == (7, 5)
    words = said(page)
    assert "Unseen questions: undefined, all answers are to one question." in words  # all prompts of this run are one
    page = choose(page, "answers_added", 2)
    assert "detectors" in drawn(page)
    page.query_params["group"] = "one"
    assert "detectors" not in drawn(page.run())


def test_detectors_are_judged_where_questions_differ(runs, monkeypatch):
    from analysis.runs import opened

    make(runs, quality=QUALITY * 2)
    asked = opened.Example.asked.fget
    monkeypatch.setattr(opened.Example, "asked", property(lambda own: f"{asked(own)} {own.id}"))
    page = open_sets(run="small")
    page.button(key="fit_detectors").click().run()
    assert not page.exception
    table = page.dataframe[1].value
    assert table.iloc[:, 1:].map(lambda cell: cell.count("[") == 1).all(axis=None)
    assert "Unseen questions: PRR within groups" in said(page)
    assert "Groups left out: PRR within groups" in said(page)


@pytest.mark.usefixtures("small")
def test_two_groups_have_maps_beside_each_other_and_names_are_text():
    page = open_page("answer_sets", OPEN, run="small")
    assert not page.exception
    assert {"heads_left", "heads_right"} <= drawn(page)
    left, right = (selectbox(page, f"answers_{name}") for name in ("first", "second"))
    assert set(left.options) == {"all answers", "one", ATTACK}
    assert right.options[0] == "all other groups"
    assert right.options[-1] == "run another"
    assert "rank correlation of 24 heads" in said(page)
    assert ATTACK not in said(page)
    maps = charts(page)
    low, high = (maps[f"answers_heads_{side}"]["data"][0]["zmin"] for side in ("left", "right"))
    assert low == high


@pytest.mark.usefixtures("small")
def test_another_run_of_the_model_is_compared_and_the_choice_is_in_the_url():
    page = open_page("answer_sets", OPEN, run="small")
    other = {"one": ATTACK, ATTACK: "one"}[selectbox(page, "answers_first").value]
    page = selectbox(page, "answers_first").set_value(other).run()
    page = selectbox(page, "answers_second").set_value("run:another").run()
    assert not page.exception
    assert page.query_params == {"run": "small", "first": other, "second": "run:another"}
    page = selectbox(page, "answers_first").set_value("all:").run()
    assert not page.exception
    assert selectbox(page, "answers_second").options == ["run another"]
    again = open_page("answer_sets", OPEN, run="small", first="one", second="run:another")
    assert [selectbox(again, f"answers_{name}").value for name in ("first", "second")] == ["one", "run:another"]
    unknown = open_page("answer_sets", OPEN, run="small", first="nothing", second="run:gone")
    assert not unknown.exception
    assert selectbox(unknown, "answers_second").value == "all:"
    assert "first" in unknown.toast[0].value


def test_one_group_of_the_only_run_cannot_be_compared(runs):
    make(runs, groups=("one",))
    page = open_page("answer_sets", OPEN, run="small")
    assert "Comparing needs another group" in said(page)
    assert "heads_left" not in drawn(page)


def test_another_run_without_answers_has_nothing_to_compare(runs):
    make(runs)
    begun = make(runs, "begun").folder
    for path in [*begun.glob("answers-*"), *begun.glob("traces-*")]:
        path.unlink()
    page = open_page("answer_sets", OPEN, run="small", first="all:", second="run:begun")
    assert not page.exception
    assert "Nothing to compare: on the right, no correct and no incorrect answer has attention." in said(page)
    assert "heads_left" not in drawn(page)


@pytest.mark.usefixtures("small")
def test_the_detector_is_saved_for_the_library():
    page = open_sets(run="small")
    button = next(one for one in page.get("download_button") if one.proto.label == "Detector as JSON")
    assert button.proto.url
    assert "All heads as CSV" in [one.proto.label for one in page.get("download_button")]
    words = said(page)
    assert "The detector adds layer " in words
    assert "chosen by all 45 answers shown" in words


@pytest.mark.parametrize("k", [2, 5])
def test_what_is_saved_is_what_was_fitted(runs, k):
    from analysis.quality.measures import measure
    from pages.ui.host import head_cache
    from rauq.scoring.settings import Settings

    run = make(runs)
    rows, limits = np.arange(len(run.answers)), measure("given").thresholds
    found = head_cache.fitted_added_heads(run, rows, Settings(), limits, k)
    again = added_heads.read(found.to_json())
    assert again == found
    assert (again.k, again.num_layers, again.num_heads) == (k, LAYERS, HEADS)
    assert len(again.reference) == len(run.answers)
    assert dict(again.groups) == {"one": 23, "two": 22}


def test_answers_of_one_side_have_no_detector(runs):
    make(runs, groups=("one",), quality=(1.0, 0.0))
    page = open_sets(run="small", added="10")
    assert not page.exception
    assert "chosen by all 2 answers shown" in said(page)


def test_a_run_in_which_no_head_separates_says_so(runs):
    """Attention is drawn at random and labels are shuffled within groups: whatever is found is chance."""
    rng = np.random.default_rng(1)
    quality = np.array([1.0, 1.0, 0.0] * 20)
    for group in range(2):
        quality[group::2] = rng.permutation(quality[group::2])
    make(runs, quality=quality.tolist())
    page = open_page("answer_sets", OPEN, run="small")
    assert not page.exception
    assert (
        page.header[0].value == "Not one of 24 heads is shown to attend differently in correct and in incorrect answers"
    )
    assert "No head separates correct from incorrect answers beyond chance; the best of" in said(page)
    assert "no significant change" in said(page)
    assert "No significant agreement: rank correlation of 24 heads" in said(page)
    assert "Beyond chance: " not in said(page)
