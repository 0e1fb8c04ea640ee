import json

import numpy as np
import pandas as pd
import pytest

from analysis.runs.library import bundled_folder
from analysis.runs.opened import open_run
from analysis.runs.traces import trace as trace_of
from analysis.tokens.claims import COLUMNS, SCORES, claims_auc, score_claims
from rauq.errors import InvalidInput
from rauq.scoring.score import score
from rauq.scoring.sentence_scores import sentence_scores
from rauq.scoring.settings import Settings
from tests.traces import make_trace

PIECES = (b"Oslo", b" is", b" old", b".\n", b"Lima", b" is", b" too", b".", b"")
OSLO = "Oslo is old.\nLima is too."


def oslo(**changes):
    return make_trace(PIECES, probabilities=(0.9, 0.8, 0.3, 0.9, 0.6, 0.9, 0.2, 0.9, 0.9), **changes)


def claim(start, end, *, of=OSLO, text=None, correct=True, **named):
    text = of[max(start, 0) : max(end, 0)] if text is None else text
    return {**(named or {"id": "a"}), "start": start, "end": end, "text": text, "correct": correct}


def scored(answers, *claims, **options):
    return score_claims(answers, pd.DataFrame(claims), **options)


def test_the_sentences_of_an_answer_as_claims_have_the_scores_of_its_sentences():
    run = open_run(bundled_folder())
    chosen = sorted(range(len(run.answers)), key=lambda row: -run.lengths[row])[:5]
    claims, expected = [], []
    for row in chosen:
        trace = trace_of(run, row)
        for one in sentence_scores(trace, score(trace)):
            span = {"start": one.start, "end": one.end, "of": trace.answer, "id": run.answers["id"].iloc[row]}
            claims.append(claim(**span))
            expected.append(one)
    found = scored(run, *claims)
    assert tuple(found.columns) == COLUMNS
    for name in ("uncertainty", "mean_surprisal", "mean_entropy", "weakest_token"):
        assert found[name].tolist() == pytest.approx([getattr(one, name) for one in expected])
    assert found["num_tokens"].tolist() == [one.tokens[1] - one.tokens[0] for one in expected]


def test_a_claim_has_the_means_of_its_tokens_and_the_weakest_of_them():
    trace = oslo()
    whole = score(trace)
    row = whole.layers.index(whole.layer)
    (found,) = scored({"a": trace}, claim(13, 17)).itertuples()
    assert (found.text, found.num_tokens, found.weakest_token) == ("Lima", 1, 4)
    assert found.uncertainty == pytest.approx(-np.log(whole.confidence[row, 4]))
    assert found.mean_surprisal == pytest.approx(-np.log(0.6))


def test_claims_keep_their_order_over_several_answers_and_may_overlap():
    answers = {"b": oslo(), "a": oslo()}
    claims = [claim(13, 25), claim(0, 25, id="b"), claim(0, 12), claim(5, 11, id="b", correct=None)]
    found = scored(answers, *claims)
    assert found["id"].tolist() == ["a", "b", "a", "b"]
    assert found["num_tokens"].tolist() == [5, 9, 4, 2]
    assert found["correct"].isna().tolist() == [False, False, False, True]


def test_an_answer_is_named_by_its_text_too():
    answers = {"a": oslo(), "b": make_trace((b"Rome",))}
    assert scored(answers, claim(0, 4, answer=OSLO))["id"].tolist() == ["a"]


def test_the_spans_of_an_answer_do_not_count_its_thinking():
    trace = make_trace((b"<think>", b"Hm.", b"</think>", b"Oslo", b" so."), thinking=(0, 3))
    (found,) = scored({"a": trace}, claim(0, 4, text="Oslo")).itertuples()
    assert (found.start, found.end, found.num_tokens, found.weakest_token) == (0, 4, 1, 3)
    assert scored({"a": trace}, claim(0, 4, text="Oslo"), settings=Settings(part="all"))["num_tokens"].tolist() == [1]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (claim(0, 4, text="Lima"), r"the text is 'Lima', but the answer has 'Oslo' from 0 to 4"),
        (claim(0, 25, text="x" * 99), rf"the text is '{'x' * 39}…', but the answer has 'Oslo is old"),
        (claim(4, 4), "from 4 to 4; it must have at least one character"),
        (claim(4, 0), "from 4 to 0"),
        (claim(-4, 4), "from -4 to 4"),
        (claim(20, 26), "from 20 to 26; .*within 0 to 25"),
        (claim(4, 5), "white space alone"),
        (claim(0, 4, id="c"), "none of 2 answers is 'c'"),
        (claim(0, 4, answer="Rome"), "none of 2 answers is 'Rome'"),
    ],
)
def test_a_claim_that_does_not_fit_its_answer_is_an_error_that_names_the_row(wrong, message):
    with pytest.raises(InvalidInput, match=rf"data frame, row 1: .*{message}"):
        scored({"a": oslo(), "b": make_trace((b"Lima",))}, wrong)


def test_a_text_of_two_answers_names_neither():
    with pytest.raises(InvalidInput, match="row 1: 2 answers are 'Oslo is"):
        scored({"a": oslo(), "b": oslo()}, claim(0, 4, answer=OSLO))


def test_offsets_in_utf_16_are_found_out(tmp_path):
    path = tmp_path / "claims.jsonl"
    row = {"answer": "😀 Oslo", "start": 3, "end": 7, "text": "Oslo", "correct": True}
    path.write_text(json.dumps(row))
    trace = make_trace(("😀".encode(), b" Oslo", b"!"), answer_tokens=("😀", " Oslo", "!"))
    path.write_text(json.dumps(row | {"answer": "😀 Oslo!"}))
    with pytest.raises(InvalidInput, match=r"row 1: the text is 'Oslo', but the answer has 'slo!'.* UTF-16"):
        score_claims({"a": trace}, path)
    path.write_text(json.dumps(row | {"answer": "😀 Oslo!", "start": 2, "end": 6}))
    assert score_claims({"a": trace}, str(path))["num_tokens"].tolist() == [1]


def frame_of(effect, *, answers=200, seed=0):
    rng = np.random.default_rng(seed)
    found = scored({"a": oslo()}, *[claim(0, 4)] * (2 * answers))
    correct = rng.random(2 * answers) < 0.5
    values = rng.normal(size=2 * answers) + effect * ~correct
    return found.assign(uncertainty=values, correct=correct, id=np.repeat(np.arange(answers).astype(str), 2))


def test_the_roc_auc_of_claims_has_an_interval_by_answer_with_an_effect_and_without():
    found, none = claims_auc(frame_of(1.0)), claims_auc(frame_of(0.0))
    assert found.low > 0.6
    assert found.low < 0.76 < found.high  # of normal values one standard deviation apart
    assert none.low < 0.5 < none.high
    assert claims_auc(frame_of(1.0).iloc[::2]).high - claims_auc(frame_of(1.0).iloc[::2]).low > found.high - found.low


def test_claims_of_one_answer_count_as_one_and_claims_without_truth_are_left_out():
    frame = frame_of(1.0)
    incorrect = (~frame["correct"]).sum()
    assert claims_auc(frame.assign(id="a")).no_interval == f"{incorrect} incorrect claims in 1 answer are too few"
    assert claims_auc(frame.assign(correct=True)).reason.startswith("all 400 claims have the same quality")
    judged = frame.assign(correct=frame["correct"].astype("boolean").where(frame.index % 4 > 0))
    assert claims_auc(judged).excluded == 100


@pytest.mark.parametrize("by", SCORES)
def test_every_score_of_a_claim_can_be_ranked(by):
    assert claims_auc(frame_of(0.0), by).n == 400


def test_another_score_is_refused():
    with pytest.raises(InvalidInput, match="Got 'reason'; claims can be ranked by uncertainty"):
        claims_auc(frame_of(0.0), "reason")
