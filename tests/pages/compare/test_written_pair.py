"""Two answers that the model did not write are compared by their largest surprisal, among written answers."""

from analysis.two_answers.comparison import (
    about_curves,
    by_position,
    different_scales,
    reference_of,
    score_by_surprisal,
    verdict,
)
from analysis.two_answers.figures import overlay
from rauq.recorded.scores import WRITTEN, load_scores
from rauq.scoring.score import score
from rauq.scoring.surprisal import score_surprisal
from tests.traces import make_trace

NAMES = {"wrong": (b" Charles", b" Dickens"), "right": (b" William", b" Shakespeare")}
SMOLLM2 = next(one for one in load_scores(WRITTEN) if one.model == "smollm2")


def read(side, *, stop_reason="given"):
    pieces = (b"Hamlet", b" was", b" by", *NAMES[side], b".")
    probability = {"wrong": 1e-6, "right": 0.9}[side]
    fields = {"model": SMOLLM2.model, "revision": SMOLLM2.revision, "kind": SMOLLM2.kind, "prompt": "Who wrote Hamlet?"}
    return make_trace(pieces, probabilities=(0.5, 0.5, 0.5, probability, 0.5, 0.5), stop_reason=stop_reason, **fields)


def test_the_one_with_the_surprising_name_is_more_uncertain():
    wrong, right = read("wrong"), read("right")
    [row] = score_by_surprisal(wrong, right)
    assert row.in_words == "largest surprisal"
    scales = different_scales(wrong, right, row.a, row.b)
    assert scales == ()
    said = verdict(row.a, row.b, scales, reference_of(wrong, row.a))
    assert said.startswith("A is more uncertain than B")
    assert f"of {len(SMOLLM2.correct):,} other answers" in said


def test_a_given_answer_is_never_compared_with_generated_ones():
    assert reference_of(read("wrong"), score(read("wrong"))) == ()
    assert score_by_surprisal(read("wrong"), read("right", stop_reason="eos")) == ()


def test_two_measures_are_two_scales():
    wrong = read("wrong")
    assert "measures" in different_scales(wrong, wrong, score(wrong), score_surprisal(wrong))


def test_the_curves_are_named_as_what_they_are():
    wrong, right = score_surprisal(read("wrong")), score_surprisal(read("right"))
    about = about_curves((wrong, right), (), common=0)
    assert "surprisal" in about
    assert "layer" not in about
    pieces = [[b"a"] * 6] * 2
    drawn = overlay(by_position(6, 6), (wrong, right), tuple(pieces), first_difference=None, selected=None, dark=False)
    assert [one.name for one in drawn.data if "surprisal" in (one.name or "")] == ["A surprisal", "B surprisal"]
