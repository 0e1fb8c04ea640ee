"""What figures and scores are made of is what the model put out: as floats of half precision, in every alignment."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from analysis.answer_sets.heads import pick
from analysis.methods.attention_permutation import control_of_groups
from analysis.runs.attention import batch, means, picks
from analysis.runs.files.arrays import ALIGNMENTS, OFFSETS
from analysis.runs.files.examples import ExamplesFile
from analysis.runs.manifest import answers_path
from analysis.runs.opened import open_run, part_of
from analysis.runs.traces import fact_masks, fact_tokens, trace, traces_in
from rauq.errors import InvalidInput, RunError
from rauq.scoring.algorithm import score_grid
from rauq.scoring.score import score, score_many
from rauq.scoring.settings import Settings
from rauq.trace.batch import batch as batch_of
from tests.analysis.report.made_run import made_run
from tests.analysis.runs.conftest import write_first_shard
from tests.shards import without_picks
from tests.traces import make_trace

HALF = 1e-3  # half precision has three digits


@pytest.mark.parametrize(("alignment", "offset"), [*product(ALIGNMENTS, OFFSETS)])
def test_means_are_those_of_the_whole_traces(alignment, offset, finished):
    pieces = [tuple(b" w" for _ in range(length)) for length in (1, 2, 5, 9)]
    made = [make_trace(own, num_layers=3, seed=seed) for seed, own in enumerate(pieces)]
    marked = [np.arange(len(own)) % 3 == 2 for own in pieces]
    write_first_shard(finished, made, marked)
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


def test_a_shard_that_breaks_after_opening_is_reported(finished):
    run = open_run(finished)
    for path in (answers_path(finished, 0), finished / "traces-00000.safetensors"):
        path.write_bytes(b"gone")
    for read in (lambda: means(run), lambda: batch(run), lambda: trace(run, 0), lambda: fact_masks(run)):
        with pytest.raises(RunError, match="Shard 0 of run can no longer be read"):
            read()


def test_a_run_without_answers_is_reported(finished):
    for path in finished.glob("answers-*.parquet"):
        path.unlink()
    run = open_run(finished)
    assert len(run.faults) == 4
    assert run.answers.empty
    assert means(run).shape == (0, 3, 4)
    assert fact_masks(run).shape == (0, 0)
    with pytest.raises(RunError, match="no answers yet"):
        batch(run)


LENGTHS = (3, 600, 1, 7, 2, 40, 3, 1, 45, 12, 5, 5)


@pytest.fixture(scope="module")
def uneven(tmp_path_factory):
    """A run with one long answer among short ones."""
    return made_run(tmp_path_factory.mktemp("runs") / "run", quality=np.arange(len(LENGTHS)) % 2, lengths=LENGTHS)


def padded(run, alignment="predicting"):
    return batch_of([own for shard in run.shards for own in traces_in(run, shard)], alignment)


def test_one_long_answer_does_not_pad_the_others(uneven):
    stored, heads, half = len(uneven.stored_layers), uneven.answerer.num_heads, 2
    weights = stored * heads * half * sum(length - 1 for length in LENGTHS)
    batches = [own for _, own in batch(uneven).blocks()]
    assert weights <= sum(own.attention.nbytes for own in batches) <= 1.25 * weights
    assert sum(own.logprobs.size for own in batches) <= 1.25 * sum(LENGTHS)


@pytest.mark.parametrize("alignment", ALIGNMENTS)
def test_blocks_are_scored_as_one_padded_batch(alignment, uneven):
    blocks, whole = batch(uneven, alignment), padded(uneven, alignment)
    np.testing.assert_array_equal(blocks.lengths, LENGTHS)
    settings = [
        Settings(alignment=alignment, **changes)
        for changes in (
            {},
            {"heads": "mean"},
            {"heads": "top5"},
            {"token_aggregation": "median"},
            {"update": "mean_sum"},
        )
    ]
    for one in settings:
        found, expected = score_many(blocks, one), score_many(whole, one)
        for name in ("uncertainty", "layer_scores"):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12)
        for name in ("heads", "layer", "reasons"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    np.testing.assert_allclose(score_grid(blocks, settings), score_grid(whole, settings), rtol=1e-12)
    np.testing.assert_array_equal(blocks.head_means((2, 4)), whole.head_means((2, 4)))


def test_attention_is_exchanged_in_blocks_as_in_one_padded_batch(uneven):
    names, tokens = ["a", "b", "b"] * 4, fact_masks(uneven)
    for chosen in (None, tokens):
        found = control_of_groups(batch(uneven), Settings(), names, tokens=chosen, derangements=3)
        expected = control_of_groups(padded(uneven), Settings(), names, tokens=chosen, derangements=3)
        for name in ("real", "shuffled", "constant", "random_head", "mean_of_heads"):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("rows", [slice(None), slice(3, 9), np.array([8, 1, 1, 0]), np.array([4])])
def test_answers_are_taken_from_blocks_in_the_order_that_is_asked_for(rows, uneven):
    taken = batch(uneven).take(rows)
    np.testing.assert_array_equal(taken.lengths, np.array(LENGTHS)[rows])
    expected = score_many(padded(uneven)).uncertainty[rows]
    np.testing.assert_allclose(score_many(taken).uncertainty, expected, rtol=1e-12)


def test_taking_all_answers_or_none_copies_nothing(uneven):
    blocks = batch(uneven)
    everything, nothing = blocks.take(np.arange(len(LENGTHS))), blocks.take(np.array([], dtype=int))
    assert [own for _, own in everything.blocks()] == [own for _, own in blocks.blocks()]
    assert score_many(nothing).uncertainty.shape == (0,)


def nearly_tied(seed, num_tokens, *, thinking=None):
    """An answer in which heads 1 and 3 differ by less than half precision can tell, and 3 is ahead."""
    made = make_trace((b" w",) * num_tokens, num_layers=3, seed=seed, thinking=thinking)
    attention = made.attention.copy()
    attention[:, 1] = attention[:, 1] / 2 + 0.6
    attention[:, 3] = attention[:, 1] + np.float32(1e-6)
    return replace(made, attention=attention)


@pytest.fixture
def tied(finished):
    """A finished run whose first four answers have two heads nearly tied, and the traces of these."""
    made = [
        nearly_tied(0, 5),
        nearly_tied(1, 1),
        nearly_tied(2, 6, thinking=(0, 2)),
        nearly_tied(3, 3, thinking=(0, 3)),
    ]
    write_first_shard(finished, made, [np.zeros(len(own.answer_ids), dtype=bool) for own in made])
    return finished, made


@pytest.mark.parametrize("alignment", ALIGNMENTS)
def test_picks_are_those_of_scoring_in_full_precision(alignment, tied):
    folder, made = tied
    run = open_run(folder)
    found = picks(run, alignment)
    settings = Settings(alignment=alignment, layers="all")
    for row in (0, 2):
        np.testing.assert_array_equal(found.heads[row], score(made[row], settings).heads)
    np.testing.assert_array_equal(found.heads[[0, 2]], np.full((2, 3), 3))
    np.testing.assert_array_equal(found.heads[[1, 3]], np.full((2, 3), -1))
    np.testing.assert_array_equal(pick(means(run, alignment))[[0, 2]], np.full((2, 3), 1))
    assert found.stored.all()


@pytest.mark.parametrize("alignment", ALIGNMENTS)
def test_a_run_from_before_picks_were_stored_picks_by_its_means(alignment, tied):
    folder, _ = tied
    without_picks(folder)
    run = open_run(folder)
    assert not run.faults
    found = picks(run, alignment)
    np.testing.assert_array_equal(found.heads[:4], pick(means(run, alignment))[:4])
    assert found.stored.tolist() == [False] * 4 + [True] * (len(run.answers) - 4)
    with pytest.raises(InvalidInput, match="alignment"):
        picks(run, "sideways")


def test_answers_to_near_duplicate_questions_have_one_number_also_in_a_part_and_from_the_file(run):
    asked = ["Who wrote Dune?", "Q: who wrote dune\nA:", "Who wrote Emma?"]
    examples = tuple(replace(one, question=asked[at % 3]) for at, one in enumerate(run.examples))
    given = replace(run, examples=examples)
    assert given.clusters.tolist() == [{0: 0, 1: 0, 2: 1}[number % 3] for number in run.answers["number"]]
    part = part_of(given, given.shards[1:])
    rows = len(given.answers) - len(part.answers)
    assert np.array_equal(np.equal.outer(part.clusters, part.clusters), np.equal.outer(*[given.clusters[rows:]] * 2))
    assert replace(run, examples=ExamplesFile(run.folder)).questions == run.questions
    assert part_of(replace(run, examples=ExamplesFile(run.folder)), run.shards[1:]).questions == run.questions[rows:]
