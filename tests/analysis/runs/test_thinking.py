"""A run keeps which tokens are thinking, and everything that is computed from it is computed from the answer parts."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest

from analysis.datasets.example import DataSet, Example
from analysis.quality.judgement import Judgement
from analysis.runs.answering import Evaluated, _rows
from analysis.runs.archive import validate
from analysis.runs.attention import batch, means
from analysis.runs.create import prepare, request_for
from analysis.runs.opened import open_run
from analysis.runs.traces import fact_masks, traces_in
from analysis.runs.work import work
from rauq.methods.pair_scorers.judges import Judges
from rauq.methods.table import METHODS as ALL_METHODS
from rauq.scoring.score import score, score_many
from rauq.scoring.settings import Settings
from rauq.trace.batch import batch as batch_of
from rauq.trace.parts import part_of
from rauq.trace.trace import Alignment
from tests.analysis.runs.conftest import write_first_shard
from tests.rauq.methods.evidence import same_letter, shared_words
from tests.rauq.trace.test_thinking import CLOSE, OPEN, QUESTION, A, B, C, thinking_lm
from tests.shards import rewrite, without_checksums
from tests.traces import make_trace

SPANS = ((0, 3), None, (1, 6), (2, 5))  # of answers of six tokens: the third is never finished
FACT = np.array([False, True, False, False, True, False])


@pytest.fixture
def thought(finished):
    """A finished run whose first four answers think."""
    made = [make_trace((b" w",) * 6, num_layers=3, seed=seed, thinking=span) for seed, span in enumerate(SPANS)]
    write_first_shard(finished, made, [FACT] * len(made))
    return finished, made


@pytest.mark.parametrize("alignment", ["predicting", "own"])
def test_answers_are_scored_without_their_thinking(thought, alignment: Alignment):
    folder, made = thought
    run = open_run(folder)
    assert not run.faults
    assert [trace.thinking for trace in traces_in(run, run.shards[0])] == list(SPANS)
    found = score_many(batch(run, alignment), Settings(alignment=alignment))
    expected = [score(trace, Settings(alignment=alignment)).uncertainty for trace in made]
    np.testing.assert_allclose(found.uncertainty[:4], expected, atol=1e-3)
    assert np.isnan(found.uncertainty[2])
    assert "still thinking" in found.reasons[2]
    cut = [trace if span is None else part_of(trace, "answer") for trace, span in zip(made, SPANS, strict=True)]
    wanted = [np.full((3, 4), np.nan) if each is None or len(each.answer_ids) < 2
              else each.previous_token_attention(alignment).mean(axis=2) for each in cut]  # fmt: skip
    np.testing.assert_allclose(means(run, alignment)[:4], wanted, atol=1e-3)
    whole = [trace for shard in run.shards for trace in traces_in(run, shard)]
    np.testing.assert_allclose(
        found.uncertainty, score_many(batch_of(whole, alignment), Settings(alignment=alignment)).uncertainty, atol=1e-9
    )


def test_facts_are_those_of_the_answer_part(thought):
    run = open_run(thought[0])
    masks = fact_masks(run)
    assert masks.shape[1] == batch(run).lengths.max()
    assert [row.nonzero()[0].tolist() for row in masks[:4]] == [[1], [1, 4], [], []]
    other = means(run, tokens="other")
    assert np.isfinite(other[0]).all()


def test_a_run_from_before_there_was_thinking_has_none(finished):
    expected = score_many(batch(open_run(finished))).uncertainty
    for path in finished.glob("answers-*.parquet"):
        pq.write_table(pq.read_table(path).drop_columns(["thinking_start", "thinking_stop"]), path)
    for path in finished.glob("traces-*.safetensors"):
        path.write_bytes(without_checksums(path.read_bytes()))
    run = open_run(finished)
    assert not run.faults
    assert not run.part_starts.any()
    assert {trace.thinking for shard in run.shards for trace in traces_in(run, shard)} == {None}
    np.testing.assert_array_equal(score_many(batch(run)).uncertainty, expected)


@pytest.mark.parametrize("span", [(3, 3), (4, 2), (-1, 2), (0, 7), (2**31 - 2, 2**31 - 1)])
def test_a_span_outside_of_the_answer_breaks_the_shard(thought, span):
    rewrite(thought[0], 0, lambda row: row | dict(zip(("thinking_start", "thinking_stop"), span, strict=True)))
    assert "thinking span is outside the answer" in open_run(thought[0]).faults[0]


def test_what_is_judged_has_no_thinking():
    trace = make_trace((b"<think>", b"Oslo?", b"</think>", b"It is", b" Oslo"), thinking=(0, 3))
    judged = []

    def judge(_examples, answers):
        judged.extend(answers)
        return [Judgement(1.0, facts=((6, 10),)) for _ in answers]

    results = [Evaluated(trace=each, uncertainties=(), timings=(), tokens=5)
               for each in (trace, replace(trace, thinking=(0, 5)), replace(trace, thinking=None))]  # fmt: skip
    rows = _rows(range(3), [SimpleNamespace()] * 3, results, judge)
    assert judged == ["It is Oslo", "", "<think>Oslo?</think>It is Oslo"]
    assert [row.fact.nonzero()[0].tolist() for row in rows] == [[4], [], [0, 1]]


def test_no_thinking_reaches_a_verdict_a_judge_or_a_table(model, tmp_path, monkeypatch):
    """The model answers a question by "<think>ab</think>c"."""
    lm, asked = thinking_lm([QUESTION, OPEN, A, B, CLOSE, C]), set()

    def told(judge):
        def tell(firsts, seconds):
            asked.update(firsts, seconds)
            return judge(firsts, seconds)

        return tell

    judges = Judges(nli=told(same_letter), similarity=told(shared_words))
    monkeypatch.setattr("analysis.runs.work.load_for", lambda _request: lm)
    monkeypatch.setattr("rauq.methods.pair_scorers.loading.load_judges", lambda **_names: judges)
    examples = [Example(id=text, prompt="Say it?", question="Say it?", references=(text,)) for text in ("c", "ab")]
    methods = [name for name, row in ALL_METHODS.items() if row.needs and row.needs <= {"samples", "nli", "similarity"}]
    data = DataSet(name="made up", examples=tuple(examples), quality="contains", max_new_tokens=8)
    request = request_for(
        data, model=model, methods=("rauq", *methods), samples=3, nli="of words", similarity="of words"
    )
    prepare(tmp_path / "run", data, request)
    assert work(tmp_path / "run").state == "finished"
    run = open_run(tmp_path / "run")
    assert not run.faults
    validate(run.folder)
    assert run.answers["thinking_stop"].tolist() == [4, 4]
    assert run.answers["answer"].tolist() == ["c", "c"]
    assert run.answers["quality"].tolist() == [1, 0]
    assert run.answers[methods].notna().all(axis=None)
    assert asked
    assert not [text for text in asked if "a" in text.replace("Say", "") or "think" in text]
