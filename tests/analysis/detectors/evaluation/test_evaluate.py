"""The evaluation of runs: its numbers are those of an independent computation, and what text explains is marked."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.detectors.evaluation.answers import answers_of, common_threshold, features_of
from analysis.detectors.evaluation.evaluate import detect, evaluate, split_tables
from analysis.detectors.evaluation.held_out import SPLITS, plans
from analysis.detectors.evaluation.results import ALL_ANSWERS, MEAN
from analysis.intervals import estimate
from analysis.runs.manifest import read_manifest, write_manifest
from analysis.runs.opened import open_run
from analysis.stats import prr, roc_auc
from rauq.errors import InvalidInput, NotCaptured
from tests.analysis.detectors.evaluation.made_up import Linear, asked_run, features, made_up

METHODS = ("line", "noise")


def tables(given, signal, *, split="in_domain"):
    """PRR and ROC-AUC of a detector whose features tell something, and of one whose features do not."""
    plan = plans(given)[split]
    own = {"line": features(given, signal=signal), "noise": features(given, seed=5)}
    found = {name: detect(Linear(id=name), one, given, plan, seed=1, full=False) for name, one in own.items()}
    return split_tables(given, plan, found, seed=1)


@pytest.fixture(scope="module")
def informative():
    return tables(made_up(rauq=1.0), 1.5)[0]


def test_what_the_features_tell_beyond_the_text_is_not_marked_and_noise_is(informative):
    line, noise = informative.detectors
    assert [informative.is_marked(row) for row in (line, noise)] == [False, True]
    assert line.minus_text[-1].low > 0
    assert noise.estimates[-1].low <= 0 <= noise.estimates[-1].high
    assert line.settings == "1.0"


def test_a_detector_that_the_text_does_as_well_as_is_marked():
    """The features tell as much as before, but the words of the answer tell all of it."""
    table = tables(made_up(told=True), 1.5)[0]
    assert table.detectors[0].estimates[-1].low > 0.3
    assert table.is_marked(table.detectors[0])


def test_columns_are_all_answers_then_families_then_their_mean(informative):
    assert informative.columns == (ALL_ANSWERS, *"abcd", MEAN)
    for row in informative.rows:
        values = [one.value for one in row.estimates]
        assert values[-1] == pytest.approx(np.mean(values[1:-1]))
    several = tables(made_up(data=("two", "one")), 1.0)[0]
    assert several.columns == ("one", "two", MEAN)
    alone = tables(made_up(families="a"), 1.0)[0]
    assert alone.columns == (ALL_ANSWERS,)
    out = tables(made_up(), 1.0, split="family_out")[0]
    assert out.columns == (*"abcd", MEAN)  # scores of different fits share no scale


def test_rauq_and_msp_stand_beside_the_detectors_with_the_numbers_of_their_own(informative):
    given = made_up(rauq=1.0)
    assert [row.id for row in informative.rows] == ["line", "noise", "text", "rauq", "msp"]
    for metric, table in zip((prr, roc_auc), tables(given, 1.5), strict=True):
        for name in ("rauq", "msp"):
            expected = estimate(metric, given.beside[name], given.quality)
            assert table.row(name).estimates[0].value == pytest.approx(expected.value)
            assert table.row(name).estimates[0].n == expected.n


def test_differences_are_paired(informative):
    line = informative.detectors[0]
    for minus, other in ((line.minus_text, "text"), (line.minus_rauq, "rauq")):
        rest = informative.row(other).estimates
        for own, base, one in zip(minus, line.estimates, rest, strict=True):
            assert own.value == pytest.approx(base.value - one.value)


def test_shuffled_labels_do_worse(informative):
    line = informative.detectors[0]
    assert line.shuffled[-1].value < line.estimates[-1].value - 0.2


def test_a_method_that_a_run_lacks_is_undefined_with_its_reason():
    given = made_up()
    lacking = replace(given, beside={**given.beside, "rauq": np.full(len(given.quality), np.nan)})
    table = tables(lacking, 1.0)[0]
    assert {one.reason for one in table.row("rauq").estimates} == {"the run has no such score"}
    assert {one.reason for one in table.detectors[0].minus_rauq} == {"the run has no such score"}


def not_captured(_trace):
    message = "The trace has no lookback. Capture it: extras=('lookback',)."
    raise NotCaptured(message)


def test_a_search_that_fails_leaves_its_method_undefined():
    given = made_up()

    def search(*_arguments, **_options):
        message = "singular"
        raise np.linalg.LinAlgError(message)

    plan = plans(given)["in_domain"]
    found = detect(Linear(search=search), features(given), given, plan, seed=1, full=False)
    assert (found.scores.reason, found.shuffled.reason, found.settings) == ("singular", "singular", "")


QUALITY = [float(place % 3 > 0) for place in range(60)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    return [
        asked_run(root / "first", data="one", quality=[*QUALITY[:-1], np.nan]),
        asked_run(root / "second", data="two", quality=QUALITY),
    ]


def test_runs_are_evaluated_under_every_split(runs):
    told = []
    lost = Linear(id="lost", extras=("lookback",), features=not_captured)
    found = evaluate(runs, [Linear(), lost], tell=told.append)
    assert [(one.name, one.data, one.answers) for one in found.runs] == [("first", "one", 59), ("second", "two", 60)]
    assert [table.split for table in found.of_metric("prr")] == list(SPLITS)
    assert {table.columns for table in found.of_metric("prr")[:2]} == {("one", "two", MEAN)}
    assert found.tables[4].columns == ("one: a", "one: b", "two: a", "two: b", MEAN)
    for table in found.tables:
        assert [row.id for row in table.rows] == ["line", "lost", "text", "rauq", "msp"]
        assert np.isfinite(table.rows[0].estimates[0].value)
        (reason,) = {one.reason for one in table.rows[1].estimates}
        assert reason.endswith("In a run: score it again with --keep lookback.")
        assert not table.is_marked(table.rows[1])
    assert "line: features of 119 answers" in told
    again = evaluate(runs, [Linear(), lost])
    assert repr(again) == repr(found)


def test_features_are_those_of_the_answers_in_their_order(runs):
    given, own = answers_of(runs, threshold=0.5), features_of(runs, Linear())
    assert len(own.values) == len(given.quality) == 119
    expected = [0.0, 1.0, 1.0] * 40
    assert given.quality.tolist() == [*expected[:59], *expected[:60]]
    assert given.questions[0] == "one 0?"
    assert given.texts[59] == f"two 0?\n{runs[1].answers['answer'][0]}"
    assert own.values[0].shape == (2,)
    assert np.array_equal(own.values[0], own.values[59])  # the traces of both runs are drawn by the same seeds


def test_one_run_without_families_has_one_split(tmp_path):
    run = asked_run(tmp_path / "run", families=("a",), quality=QUALITY)
    found = evaluate([run], [Linear()])
    assert [bool(table.rows) for table in found.of_metric("prr")] == [True, False, False]
    assert [bool(table.reason) for table in found.of_metric("prr")] == [False, True, True]


def other(run, **changes):
    """The same run with another answering model."""
    manifest = read_manifest(run.folder)
    write_manifest(run.folder, replace(manifest, answerer=replace(manifest.answerer, **changes)))
    return open_run(run.folder)


def test_runs_that_do_not_go_together_are_refused(runs, tmp_path):
    with pytest.raises(InvalidInput, match="No run was given"):
        evaluate([], [Linear()])
    with pytest.raises(InvalidInput, match="Two runs are of the data set one"):
        evaluate([runs[0], runs[0]], [Linear()])
    different = other(asked_run(tmp_path / "run", data="three", quality=QUALITY), name="another")
    with pytest.raises(InvalidInput, match="different models or revisions, a and another"):
        evaluate([runs[0], different], [Linear()])
    for wrong in (-0.1, 1.0, np.nan):
        with pytest.raises(InvalidInput, match="threshold"):
            evaluate(runs, [Linear()], threshold=wrong)


def with_data(run, data):
    return replace(run, manifest=replace(run.manifest, request=replace(run.manifest.request, data=data)))


def test_data_sets_are_told_apart_by_what_is_asked_and_not_by_name(runs):
    found = answers_of([with_data(run, "answers.csv") for run in runs], threshold=0.5)
    assert found.data_sets == ("answers.csv (first)", "answers.csv (second)")
    with pytest.raises(InvalidInput, match=r"Two runs are of the data set answers\.csv"):
        answers_of([with_data(runs[0], "answers.csv"), runs[0]], threshold=0.5)


def test_near_duplicates_of_another_data_set_are_asked_alike(runs):
    examples = tuple(replace(one, question=f"Q: {one.question.upper()}\nA:") for one in runs[0].examples)
    again = replace(with_data(runs[1], "again"), examples=examples)
    found = answers_of([runs[0], again], threshold=0.5)
    assert found.questions[59:-1] == found.questions[:59]
    assert plans(found)["out_of_domain"].dropped == 2 * 59


def test_runs_of_measures_with_different_thresholds_need_one(runs):
    assert common_threshold(runs) == 0.5
    request = replace(runs[1].manifest.request, quality="comet")
    unlike = replace(runs[1], manifest=replace(runs[1].manifest, request=request))
    with pytest.raises(InvalidInput, match=r"different thresholds: 0\.5, 0\.85"):
        common_threshold([runs[0], unlike])


def test_a_run_without_quality_is_undefined_everywhere(tmp_path):
    run = asked_run(tmp_path / "run", quality=[np.nan] * 12)
    found = evaluate([run], [Linear()])
    assert all(table.reason or all(one.reason for row in table.rows for one in row.estimates) for table in found.tables)
