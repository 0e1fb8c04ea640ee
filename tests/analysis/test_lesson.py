"""The numbers in the lesson's pictures are those of the recordings, computed here another way."""

import numpy as np
import pytest

import rauq
from analysis.lesson import END, TAUGHT, lesson, look, puzzle, words
from rauq.recorded.answers import find_recorded, load_game
from rauq.scoring.settings import is_paper_setting
from tests.answers import random_trace
from tests.traces import make_trace

NAMES = {"wrong": "switzerland", "right": "canberra", "confident": "istanbul"}


@pytest.fixture(scope="module")
def wrong():
    return find_recorded("switzerland").trace()


@pytest.fixture(scope="module")
def drawn():
    found = {role: find_recorded(name) for role, name in NAMES.items()}
    return lesson(fluent=find_recorded("magic-flute"), corrected=find_recorded("bern"), **found, layer=19)


def test_what_is_taught_is_the_papers_setting_for_chat_models_with_probability(drawn):
    score = rauq.score(find_recorded("switzerland").trace(), TAUGHT)
    assert is_paper_setting(TAUGHT, "instruct")
    assert (score.settings.signal, score.settings.alpha, drawn.recurrence.alpha) == ("probability", 0.6, 0.6)
    assert drawn.model == "smollm2"


@pytest.mark.parametrize("offset", [1, 2])
def test_a_look_is_the_head_with_the_largest_mean_weight_that_far_back(offset, wrong):
    found = look(wrong, offset=offset)
    rows = range(offset, len(wrong.pieces))  # answer tokens whose `offset`-th token before is in the answer
    means = np.mean([wrong.attention[:, :, row, offset - 1] for row in rows], axis=0)
    assert (found.layer, found.head) == np.unravel_index(means.argmax(), means.shape)


@pytest.mark.parametrize("seed", range(3))
def test_arcs_are_weights_of_the_band_inside_the_answer(seed):
    trace = random_trace(6, seed=seed)
    found = look(trace, offset=1)
    band = trace.attention[trace.layers.index(found.layer), found.head]
    drawn = {(arc.token, arc.to): arc.weight for arc in found.arcs}
    for token in range(6):
        for to in range(token):
            weight = band[token, token - 1 - to]  # row of the query that writes the token, key `to`
            assert drawn.get((token, to), 0.0) == pytest.approx(weight if weight >= 0.02 else 0.0)
    assert all(0 <= arc.to < arc.token for arc in found.arcs)
    assert found.previous[0] is None
    np.testing.assert_allclose(found.previous[1:], trace.previous_token_attention()[found.layer, found.head])


def test_the_selected_heads_are_those_of_the_score(drawn, wrong):
    score = rauq.score(wrong, TAUGHT)
    assert [picked.layer for picked in drawn.picked] == list(score.layers)
    assert [picked.head for picked in drawn.picked] == score.heads.tolist()
    np.testing.assert_allclose([picked.layer_score for picked in drawn.picked], score.layer_scores)
    for picked, weights in zip(drawn.picked, score.attention, strict=True):
        assert picked.weights[0] is None
        np.testing.assert_allclose(picked.weights[1:], weights)
        assert drawn.head_means[picked.layer][picked.head] == pytest.approx(picked.mean)
        assert picked.mean == pytest.approx(max(drawn.head_means[picked.layer]))
    means = [sum(picked.weights[token] for picked in drawn.picked) / 11 for token in range(1, len(wrong.pieces))]
    assert drawn.mean_weights[0] is None
    np.testing.assert_allclose(drawn.mean_weights[1:], means)


def test_what_the_reader_computes_by_hand_is_the_scores_confidence(drawn, wrong):
    score, given = rauq.score(wrong, TAUGHT), drawn.recurrence
    row = score.layers.index(score.layer)
    by_hand, sure = [given.signal[0]], [1.0]
    for signal, attention in zip(given.signal[1:], given.attention[1:], strict=True):
        by_hand.append(given.alpha * signal + (1 - given.alpha) * attention * by_hand[-1])
        sure.append(given.alpha + (1 - given.alpha) * given.reference_attention * sure[-1])
    np.testing.assert_allclose(by_hand, score.confidence[row])
    np.testing.assert_allclose(sure, score.reference_confidence[row])
    assert -np.log(by_hand).mean() == pytest.approx(drawn.wrong.uncertainty)
    np.testing.assert_allclose(np.log(sure) - np.log(by_hand), drawn.wrong.collapse)


@pytest.mark.parametrize(("role", "name"), NAMES.items())
def test_an_answer_is_scored_and_has_its_recorded_verdict(role, name, drawn):
    answer, recorded = getattr(drawn, role), find_recorded(name)
    trace = recorded.trace()
    score = rauq.score(trace, TAUGHT)
    assert (answer.prompt, answer.answer, answer.reference) == (trace.prompt, trace.answer, recorded.correct_answer)
    assert (answer.uncertainty, answer.layer) == (score.uncertainty, score.layer)
    np.testing.assert_allclose(np.add(answer.attention_shares, score.collapse_shares[:, 0]), answer.collapse)
    np.testing.assert_allclose(answer.collapse, score.collapse)
    np.testing.assert_allclose(answer.probability, np.exp(trace.logprobs))
    assert answer.correct == (not answer.invented) == (role == "right")
    invented = "".join(trace.answer_tokens[token] for token in answer.invented).strip()
    assert invented == {"wrong": "Lier", "right": "", "confident": "Istanbul"}[role]


def test_tokens_are_drawn_without_the_mark_of_a_space_but_never_empty():
    trace = make_trace((b" Oslo", b" ", b"\n", b"<b>"), stop_reason="length")
    assert words(trace) == ("Oslo", "·", "↵", "<b>")


def test_the_token_that_ends_an_answer_is_drawn_as_its_end(drawn):
    assert words(make_trace((b" Oslo", b".", b"<|im_end|>"))) == ("Oslo", ".", END)
    assert {getattr(drawn, role).tokens[-1] for role in NAMES} == {END}


@pytest.mark.parametrize("game_answer", load_game(), ids=lambda game_answer: game_answer.id)
def test_a_puzzle_has_the_tokens_of_rauq_and_of_the_probability(game_answer):
    trace, found = game_answer.trace(), puzzle(game_answer)
    collapse, logprobs = rauq.score(trace).collapse, trace.logprobs
    said = [token for token, text in enumerate(trace.answer_tokens) if text.strip()]
    assert all(collapse[found.rauq] >= collapse[token] for token in said)
    assert all(logprobs[found.probability] <= logprobs[token] for token in said)
    assert {found.rauq, found.probability} <= set(said)
    assert "".join(found.parts) == trace.answer
    assert found.parts[1] == "".join(trace.answer_tokens[token] for token in found.invented)
    assert (found.invented, found.reference) == (trace.wrong, game_answer.correct_answer)
