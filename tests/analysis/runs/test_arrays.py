"""What figures and scores are made of is what the model put out: as floats of half precision, in every alignment."""

from itertools import product

import numpy as np
import pytest

from analysis.runs.arrays import batch, means
from analysis.runs.opened import open_run
from analysis.runs.shard import ALIGNMENTS, OFFSETS, Answered, answers_path, write_shard
from analysis.runs.traces import fact_masks, fact_tokens, trace, traces_in
from rauq.batch import batch as batch_of
from rauq.errors import InvalidInput, RunError
from rauq.methods.method import Uncertainty
from rauq.score import score_many
from rauq.settings import Settings
from tests.analysis.runs.conftest import METHODS
from tests.traces import make_trace

HALF = 1e-3  # half precision has three digits


@pytest.mark.parametrize(("alignment", "offset"), [*product(ALIGNMENTS, OFFSETS)])
def test_means_are_those_of_the_whole_traces(alignment, offset, finished):
    pieces = [tuple(b" w" for _ in range(length)) for length in (1, 2, 5, 9)]
    made = [make_trace(own, num_layers=3, seed=seed) for seed, own in enumerate(pieces)]
    marked = [np.arange(len(own)) % 3 == 2 for own in pieces]
    uncertainties = (Uncertainty(0),) * len(METHODS)
    rows = zip(made, marked, strict=True)
    outcomes = [
        Answered(number=number, trace=own, fact=fact, quality=0.0, quality_reason="", uncertainties=uncertainties)
        for number, (own, fact) in enumerate(rows)
    ]
    write_shard(finished, 0, outcomes, stored=open_run(finished).stored_layers)
    run = open_run(finished)
    for tokens, chosen in (
        ("all", [fact | True for fact in marked]),
        ("fact", marked),
        ("other", [~fact for fact in marked]),
    ):
        found = means(run, alignment, tokens=tokens, offset=offset)[:4]
        for own, mask, row in zip(made, chosen, found, strict=True):
            weights = own.previous_token_attention(alignment, offset)[..., offset - 1 :][..., mask[offset:]]
            expected = weights.mean(axis=-1) if weights.shape[-1] else np.full(row.shape, np.nan)
            assert row == pytest.approx(expected, abs=3 * HALF, nan_ok=True)


@pytest.mark.parametrize("alignment", ALIGNMENTS)
def test_a_batch_scores_as_the_traces_do(alignment, run):
    kept = [own for shard in run.shards for own in traces_in(run, shard)]
    for settings in (Settings(alignment=alignment), Settings(alignment=alignment, alpha=0.5, heads="mean")):
        found = score_many(batch(run, alignment), settings).uncertainty
        assert found == pytest.approx(score_many(batch_of(kept, alignment), settings).uncertainty, abs=1e-9)


def test_scores_of_a_stored_run_are_the_exact_ones_to_a_thousandth(run):
    assert score_many(batch(run)).uncertainty == pytest.approx(run.answers["rauq"].to_numpy(), abs=1e-3)


@pytest.mark.parametrize("options", [{"alignment": "sideways"}, {"tokens": "some"}, {"offset": 0}, {"offset": 7}])
def test_what_a_run_does_not_have_is_refused(options, run):
    with pytest.raises(InvalidInput, match="choose one of"):
        means(run, **options)


def test_the_tokens_of_the_fact_are_those_of_each_answer(run):
    mask = fact_masks(run)
    assert mask.shape == (len(run.answers), run.lengths.max())
    assert mask.any()
    for row, length in enumerate(run.lengths):
        np.testing.assert_array_equal(mask[row, :length], fact_tokens(run, row))
        assert not mask[row, length:].any()


def test_a_row_that_is_not_there_is_refused(run):
    for row in (-1, 12):
        with pytest.raises(InvalidInput, match="There is no answer"):
            trace(run, row)
        with pytest.raises(InvalidInput, match="There is no answer"):
            fact_tokens(run, row)


def test_a_shard_that_broke_after_the_run_was_opened_is_said(finished):
    run = open_run(finished)
    for path in (answers_path(finished, 0), finished / "traces-00000.safetensors"):
        path.write_bytes(b"gone")
    for read in (lambda: means(run), lambda: batch(run), lambda: trace(run, 0), lambda: fact_masks(run)):
        with pytest.raises(RunError, match="Shard 0 of run can no longer be read"):
            read()


def test_a_run_without_any_answer_is_said(finished):
    for path in finished.glob("answers-*.parquet"):
        path.unlink()
    run = open_run(finished)
    assert len(run.faults) == 4
    assert run.answers.empty
    assert means(run).shape == (0, 3, 4)
    assert fact_masks(run).shape == (0, 0)
    with pytest.raises(RunError, match="no answers yet"):
        batch(run)
