"""The answers of the game follow its rule, and the rule alone selected them."""

from collections import Counter

import numpy as np
import pytest

import rauq
from rauq.atlas import game as atlas_game
from rauq.atlas.evaluation import FAMILIES, judge, load_examples
from rauq.atlas.game import GAME, held_out, load_game
from rauq.model.loading import ATLAS, sha256
from rauq.recorded.answers import find_recorded
from training import game
from training.game import COUNTS, LENGTHS, MOST_LINES, game_answer_of, record_game, subjects

GAME_ANSWERS = load_game()
EXAMPLES = {example.id: example for family in FAMILIES for example in load_examples(family)}


def test_there_are_ten_over_the_three_families():
    assert Counter(EXAMPLES[game_answer.id].family for game_answer in GAME_ANSWERS) == COUNTS
    assert len(GAME_ANSWERS) == 10


def test_no_two_of_a_family_ask_about_the_same_or_come_from_one_stratum():
    for family in FAMILIES:
        asked = [EXAMPLES[game_answer.id] for game_answer in GAME_ANSWERS if EXAMPLES[game_answer.id].family == family]
        assert len({subjects(family)(example.prompt) for example in asked}) == COUNTS[family]
        assert len({example.stratum for example in asked}) == COUNTS[family]


def test_the_index_and_the_folder_hold_the_same():
    assert {game_answer.path for game_answer in GAME_ANSWERS} == set(GAME.glob("*.safetensors"))


@pytest.mark.parametrize("game_answer", GAME_ANSWERS, ids=lambda game_answer: game_answer.id)
class TestRiddle:
    def test_the_invented_tokens_are_those_of_the_one_wrong_statement(self, game_answer):
        trace = game_answer.trace()
        assert held_out(trace) == EXAMPLES[game_answer.id]
        verdict = judge(EXAMPLES[game_answer.id], trace.answer)
        (wrong,) = [statement for statement in verdict.statements if not statement.correct]
        ends = np.cumsum([len(text) for text in trace.answer_tokens])
        # character by character: another way than that of invented_tokens
        owners = {int(np.searchsorted(ends, place, side="right")) for place in range(wrong.start, wrong.end)}
        assert game_answer.invented == tuple(sorted(owners))
        assert game_answer.reference == EXAMPLES[game_answer.id].reference

    def test_it_can_be_read_on_a_page_and_leaves_a_choice(self, game_answer):
        trace, family = game_answer.trace(), EXAMPLES[game_answer.id].family
        assert len(trace.pieces) in LENGTHS[family]
        assert len(trace.prompt.splitlines()) <= MOST_LINES[family]
        assert 0 < 2 * len(game_answer.invented) < len(trace.pieces)

    def test_it_was_made_by_the_weights_beside_it(self, game_answer):
        assert game_answer.trace().revision == sha256(ATLAS / "model.safetensors")


def test_a_correct_answer_is_not_used():
    trace = find_recorded("known-words").trace()
    assert game_answer_of(held_out(trace), trace) is None
    wrong = find_recorded("unknown-word").trace()
    assert game_answer_of(held_out(wrong), wrong).invented == (3, 4, 5)


def test_the_rule_chooses_the_same_again(monkeypatch, tmp_path):
    monkeypatch.setattr(game, "GAME", tmp_path)
    monkeypatch.setattr(atlas_game, "GAME", tmp_path)
    monkeypatch.setattr(game, "GAME_INDEX", tmp_path / "index.json")
    assert record_game(rauq.load_model("atlas")) == GAME_ANSWERS
    assert (tmp_path / "index.json").read_text() == atlas_game.GAME_INDEX.read_text()
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in GAME.iterdir()}
