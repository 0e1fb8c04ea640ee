"""What a new answer is compared with: scores, verdicts, collapse of tokens and the worth of weak points of a run."""

from dataclasses import replace

import numpy as np
import pytest

import rauq
from analysis.datasets.names import WRITTEN, load
from analysis.one_answer.standing import weak_point_share, weak_token
from analysis.runs.create import prepare, request_for
from analysis.runs.library import bundled_folder
from analysis.runs.opened import open_run
from analysis.runs.reference import reference_scores
from analysis.runs.traces import fact_tokens, traces_in, traces_of
from analysis.runs.work import work
from rauq import InvalidInput, Settings
from rauq.recorded.scores import load_scores
from rauq.scoring.surprisal import surprisal
from rauq.trace.parts import shows_text
from rauq.trace.words import named_tokens
from tests.analysis.report.made_run import made_run

OTHER = Settings(alpha=0.3, signal="probability")


@pytest.fixture(scope="module")
def run():
    return open_run(bundled_folder())


@pytest.fixture(scope="module")
def scored(run):
    """Every answer of the run as a trace, with its score under other settings than the paper's."""
    traces = [trace for shard in run.shards for trace in traces_in(run, shard)]
    return [(trace, rauq.score(trace, OTHER)) for trace in traces]


@pytest.fixture(scope="module")
def decided(run, scored):
    """Those of the answers that are correct or incorrect, and not unclear."""
    return [one for one, unclear in zip(scored, run.answers["unclear"], strict=True) if not unclear]


def test_that_of_the_bundled_run_is_the_table_that_comes_with_the_app(run):
    assert reference_scores(run) in load_scores()


def test_uncertainties_follow_the_settings(run, decided):
    found = reference_scores(run, OTHER)
    np.testing.assert_allclose(found.uncertainties, [score.uncertainty for _, score in decided], atol=1e-9)
    assert found.correct == reference_scores(run).correct
    assert found.heads == reference_scores(run).heads
    assert reference_scores(run, Settings(alignment="own")).heads is None


def test_four_of_five_tokens_collapse_no_further(run, decided):
    found = reference_scores(run, OTHER)
    values = np.concatenate([score.collapse[shows_text(trace)] for trace, score in decided])
    assert (values <= found.token_collapse + 1e-4).mean() >= 0.8
    assert (values <= found.token_collapse - 1e-4).mean() < 0.8
    assert found.longest == max(len(trace.answer_ids) for trace, _ in decided)


@pytest.mark.parametrize("marked", [True, False])
def test_weak_points_are_compared_with_the_fact_or_with_names(run, scored, marked):
    def carries(row, trace):
        return fact_tokens(run, row) if marked else named_tokens(trace.answer_tokens, run.examples[row].asked)

    changed = replace(run, answers=run.answers.assign(num_fact_tokens=int(marked)))
    found = reference_scores(changed, OTHER).weak_point
    for side, quality in ((found.correct, 1), (found.incorrect, 0)):
        rows = np.flatnonzero(run.answers["quality"] == quality)
        own = ((row, *scored[row]) for row in rows)
        expected = [weak_token(score.collapse, shows_text(trace), carries(row, trace)) for row, trace, score in own]
        assert side == weak_point_share(expected)
    assert found.marked is marked


def test_marks_count_where_most_incorrect_answers_have_some(run):
    incorrect = np.flatnonzero(run.answers["quality"] == 0)
    for share, marked in ((0.4, False), (0.6, True)):
        marks = run.answers["num_fact_tokens"].to_numpy() * 0
        marks[incorrect[: int(share * len(incorrect))]] = 1
        changed = replace(run, answers=run.answers.assign(num_fact_tokens=marks))
        assert reference_scores(changed, OTHER).weak_point.marked is marked


def test_answers_without_a_verdict_are_left_out(tmp_path):
    made_run(tmp_path / "run", quality=(1.0, np.nan, 0.0, 1.0))
    found = reference_scores(open_run(tmp_path / "run"))
    assert found.correct == (True, False, True)
    assert len(found.uncertainties) == 3
    assert (found.weak_point.correct, found.weak_point.incorrect) == (None, None)


def test_a_run_of_one_side_says_nothing_of_heads(tmp_path):
    made_run(tmp_path / "run", quality=(1.0,) * 4)
    assert reference_scores(open_run(tmp_path / "run")).heads is None


def test_layers_that_the_run_does_not_store_are_refused(run):
    with pytest.raises(InvalidInput):
        reference_scores(run, Settings(layers=(0, 1)))


def test_by_surprisal_a_run_of_written_answers_ranks_them_as_single_answers(tmp_path):
    data = load(WRITTEN, kind="base", per_group=2)
    prepare(tmp_path / "written", data, request_for(data, model="atlas"))
    work(tmp_path / "written")
    run = open_run(tmp_path / "written")
    found = reference_scores(run, by="surprisal")
    alone = [surprisal(trace) for trace in traces_of(run)]
    np.testing.assert_allclose(found.uncertainties, [one.uncertainty for one in alone], atol=1e-4)
    np.testing.assert_allclose(run.answers["surprisal"], found.uncertainties, atol=1e-4)
    assert found.correct == tuple(example.quality == 1 for example in data.examples)
    assert np.bincount(found.clusters).tolist() == [2] * (len(data.examples) // 2)
    compared = np.concatenate([one.values[one.compared] for one in alone])
    assert (compared <= found.token_collapse).mean() == pytest.approx(0.8, abs=1 / len(compared))
    assert found.heads is None
