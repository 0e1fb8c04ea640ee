"""For which answers no share of correct answers is given, and which rule says so."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.one_answer.likeness import (
    COPIED_TOKENS,
    MOST_COPIED,
    MOST_MEASURED,
    copied_share,
    script_of,
    scripts_of,
    why_unlike,
)
from rauq.recorded.answers import find_recorded
from rauq.recorded.scores import WRITTEN, load_scores, scores_of
from tests.traces import make_trace, trace_of_text

LIKE = find_recorded("canberra").trace()
SCORES, BY_OTHERS = scores_of(LIKE), scores_of(LIKE, WRITTEN)


def answer(ids, *, prompt_ids=(1, 2, 3), **changes):
    return make_trace((b" a",) * len(ids), answer_ids=np.array(ids), prompt_ids=np.array(prompt_ids), **changes)


def test_an_answer_like_those_of_the_reference_is_not_unlike_them():
    assert why_unlike(LIKE, SCORES) == ""


COPIED = list(range(10, 30))
CASES = {
    "longer": (answer(range(28)), BY_OTHERS, "is longer (28 tokens) than all of these (at most 27)"),
    "script": (trace_of_text("الرباط هي عاصمة"), SCORES, "is written in Arabic script, and these in Latin"),
    "copied": (answer(COPIED, prompt_ids=COPIED), SCORES, "100 % of this answer is copied from the prompt"),
}


@pytest.mark.parametrize("case", CASES)
def test_each_rule_gives_its_reason_and_no_other_rule_does(case):
    trace, scores, reason = CASES[case]
    said = why_unlike(trace, scores)
    assert said.startswith("No share of correct answers: this answer ") or case == "copied"
    assert reason in said
    assert said.endswith(".")


def test_what_is_not_known_of_a_reference_is_no_reason():
    unknown = replace(BY_OTHERS, longest=None, scripts=())
    assert why_unlike(CASES["longer"][0], unknown) == why_unlike(CASES["script"][0], unknown) == ""
    assert why_unlike(CASES["script"][0], replace(SCORES, scripts=("Arabic", "Latin"))) == ""


def test_the_length_of_a_generated_answer_is_a_reason_only_beyond_what_was_measured():
    assert why_unlike(answer(range(MOST_MEASURED)), SCORES) == ""
    reason = "this answer has 129 tokens, and the share was compared with answers of at most 128"
    assert reason in why_unlike(answer(range(MOST_MEASURED + 1)), SCORES)
    longer = replace(SCORES, longest=200)
    assert why_unlike(answer(range(200)), longer) == ""
    assert "is longer (201 tokens) than all of these (at most 200)" in why_unlike(answer(range(201)), longer)


def test_a_loop_alone_is_no_reason():
    """The reference holds such answers too."""
    assert why_unlike(answer([5, 6, *[7] * 20]), SCORES) == ""


@pytest.mark.parametrize("script", ["Latin", "Arabic", "Cyrillic", "Chinese"])
def test_the_script_is_that_of_most_letters(script):
    texts = {"Latin": "Oslo, 2 Мск", "Arabic": "الرباط 12", "Cyrillic": "Москва, Oslo", "Chinese": "北京, a"}
    assert script_of(texts[script]) == script


def test_scripts_of_a_set_are_those_of_one_in_twenty():
    assert script_of("12, 13!") == ""
    assert scripts_of(["a"] * 19 + ["ж"]) == ("Cyrillic", "Latin")
    assert scripts_of(["a"] * 20 + ["ж"]) == ("Latin",)
    assert scripts_of(["1", ""]) == ()


def test_only_long_rows_of_the_prompt_are_copies():
    prompt = list(range(20))
    assert copied_share(prompt[: COPIED_TOKENS - 1], prompt) == 0
    assert copied_share(prompt[:COPIED_TOKENS], prompt) == 1
    assert copied_share([*prompt[5 : 5 + COPIED_TOKENS], *range(50, 50 + COPIED_TOKENS)], prompt) == 0.5 == MOST_COPIED
    assert copied_share([], prompt) == 0


def test_each_table_that_came_with_the_app_knows_its_scripts_and_lengths():
    for scores in (*load_scores(), *load_scores(WRITTEN)):
        assert scores.scripts == ("Latin",)
        assert scores.longest
