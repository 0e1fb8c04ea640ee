"""The answers of the game follow its rule, and the rule alone selected them."""

import json
import re
from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest

import rauq
from analysis.datasets.facts.tables import names
from analysis.datasets.names import load
from rauq.checkpoints.named import NAMED_MODELS
from rauq.recorded import answers
from rauq.recorded.answers import GAME, GAME_INDEX, load_game
from tests.real_models import SMOLLM2
from tests.traces import make_trace
from training import game
from training.game import COUNT, LENGTHS, MOST_PER_FAMILY, drawn, marked, record_game

GAME_ANSWERS = load_game()
EXAMPLES = {example.id: example for example in load("facts", kind="instruct").examples}
TRUTH = {"capitals-namibia": "Windhoek", "years-gregor-mendel-die": "1884", "symbols-thallium": "Tl"}


def test_there_are_ten_and_at_most_two_of_a_family():
    families = Counter(EXAMPLES[game_answer.id].group for game_answer in GAME_ANSWERS)
    assert families.total() == COUNT == 10
    assert max(families.values()) <= MOST_PER_FAMILY == 2
    assert len(families) >= 5


def test_the_index_and_the_folder_hold_the_same():
    assert {game_answer.path for game_answer in GAME_ANSWERS} == set(GAME.glob("*.safetensors"))
    assert {game_answer.id: game_answer.correct_answer for game_answer in GAME_ANSWERS}.items() >= TRUTH.items()


@pytest.mark.parametrize("game_answer", GAME_ANSWERS, ids=lambda game_answer: game_answer.id)
class TestAnswer:
    def test_the_invented_tokens_are_those_of_one_other_name_of_the_kind(self, game_answer):
        trace, example = game_answer.trace(), EXAMPLES[game_answer.id]
        invented = "".join(trace.answer_tokens[token] for token in trace.wrong).strip()
        assert trace.prompt == example.prompt
        assert re.fullmatch(r"\d+", invented) or re.search(rf"(?i)\b{invented}\b", " | ".join(every_name()))
        assert invented.casefold() not in map(str.casefold, example.references)
        assert game_answer.correct_answer == example.references[0]
        # character by character: another way than that of tokens_in
        assert trace.answer.count(invented) == 1
        ends = np.cumsum([len(text) for text in trace.answer_tokens])
        start = trace.answer.index(invented)
        owners = {int(np.searchsorted(ends, place, side="right")) for place in range(start, start + len(invented))}
        assert trace.wrong == tuple(sorted(owners))

    def test_it_can_be_read_on_a_page_and_leaves_a_choice(self, game_answer):
        trace = game_answer.trace()
        assert trace.stop_reason == "eos"
        assert len(trace.pieces) in LENGTHS
        assert 0 < 2 * len(trace.wrong) < len(trace.pieces)

    def test_nothing_else_in_it_is_a_name_or_a_number_that_the_question_lacks(self, game_answer):
        trace = game_answer.trace()
        rest = "".join(text for token, text in enumerate(trace.answer_tokens) if token not in trace.wrong)
        stated = re.findall(r"\b[A-Z]\w*|\w*\d\w*", rest.removeprefix("The"))
        assert [word for word in stated if word not in trace.prompt] == []

    def test_no_correct_answer_begins_with_its_first_invented_token(self, game_answer):
        trace = game_answer.trace()
        first = trace.answer_tokens[trace.wrong[0]].strip().lower()
        assert first
        assert not any(text.lower()[: len(first)] == first for text in EXAMPLES[game_answer.id].references)

    def test_it_was_made_by_the_weights_of_that_name(self, game_answer):
        made = (game_answer.trace().model, game_answer.trace().revision)
        assert made in {(model.name, model.sha256) for model in NAMED_MODELS}

    def test_neither_probabilities_nor_attention_change_what_is_marked(self, game_answer):
        trace = game_answer.trace()
        other = replace(
            trace,
            wrong=(),
            logprobs=trace.logprobs[::-1].copy(),
            entropies=trace.entropies[::-1].copy(),
            attention=np.zeros_like(trace.attention),
        )
        assert marked(EXAMPLES[game_answer.id], other).wrong == trace.wrong


def every_name():
    kinds = ("city", "country", "currency", "element", "symbol", "author", "painter", "composer")
    return [text for kind in kinds for name in names(kind) for text in name.texts]


CASES = {
    "fits": ("capitals-namibia", "The| capital| of| Namibia| is| Cape| Town|.|", (5, 6)),
    "correct": ("capitals-namibia", "The| capital| of| Namibia| is| Wind|hoek|.|", None),
    "both": ("capitals-namibia", "The| capital| of| Namibia| is| Windhoek|,| Cape| Town|.|", None),
    "twice": ("capitals-namibia", "Suva| is| the| capital| of| Namibia|.| It| is| Suva|.|", None),
    "two names": ("capitals-canada", "The| capital| of| Canada| is| Suva| in| Canberra|.|", None),
    "nothing": ("capitals-namibia", "The| capital| of| Namibia| is| unknown|.|", None),
    "another name": ("capitals-namibia", "The| capital| of| Namibia| is| Suva| on| the| Zambezi|.|", None),
    "another number": ("years-gregor-mendel-die", "Mendel| died| on| 6| January| |2|0|1|3|.|", None),
    "another word": ("capitals-namibia", "The| largest| capital| of| Namibia| is| Suva|.|", None),
    "inflected": ("years-gregor-mendel-die", "Gregor| Mendel| died| in| |2|0|1|3|.|", (5, 6, 7, 8)),
    "begins correctly": ("years-gregor-mendel-die", "Gregor| Mendel| died| in| |1|9|1|3|.|", None),
    "half of it": ("capitals-namibia", "It| is| Cape| Tow|n|.", None),
    "too short": ("capitals-namibia", "It| is| Suva|.|", None),
    "too long": ("capitals-namibia", "The" + "|" * 15 + "| capital| of| Namibia| is| Suva|.|", None),
}


@pytest.mark.parametrize("name", CASES)
def test_the_rule(name):
    identity, text, invented = CASES[name]
    found = marked(EXAMPLES[identity], trace_of(text))
    assert (found and found.wrong) == invented


def test_an_answer_that_was_cut_off_does_not_fit():
    identity, text, _ = CASES["fits"]
    assert marked(EXAMPLES[identity], trace_of(text, stop_reason="length")) is None


def trace_of(text, **changes):
    tokens = tuple(text.split("|"))
    return make_trace(tuple(token.encode() or b"<end>" for token in tokens), answer_tokens=tokens, **changes)


def test_the_order_is_drawn_by_the_seed():
    first, again, other = (drawn(Random(seed)) for seed in (0, 0, 1))
    assert first == again != other
    assert {example.id for example in first} == {example.id for example in other}
    assert COUNT < len(first) == len({example.id for example in first})


def test_the_rule_chooses_the_same_first_answers_again(monkeypatch, tmp_path):
    monkeypatch.setattr(game, "COUNT", 2)
    for module in (game, answers):
        monkeypatch.setattr(module, "GAME", tmp_path / "game")
        monkeypatch.setattr(module, "GAME_INDEX", tmp_path / "game" / "index.json")
    (tmp_path / "game").mkdir()
    (tmp_path / "game" / "of-another-choice.safetensors").touch()
    assert record_game(rauq.load_model(SMOLLM2)) == GAME_ANSWERS[:2]
    names = {game_answer.path.name for game_answer in GAME_ANSWERS[:2]}
    assert {path.name for path in (tmp_path / "game").iterdir()} == {"index.json", *names}
    assert json.loads((tmp_path / "game" / "index.json").read_text()) == json.loads(GAME_INDEX.read_text())[:2]
    for game_answer in GAME_ANSWERS[:2]:
        kept = rauq.Trace.load(GAME / game_answer.path.name)
        assert (game_answer.trace().answer, game_answer.trace().wrong) == (kept.answer, kept.wrong)


def test_too_few_answers_are_an_error(monkeypatch):
    monkeypatch.setattr(game, "drawn", lambda _rng: [])
    with pytest.raises(RuntimeError, match="Only 0 answers fit the game, and it needs 10"):
        record_game(None)
