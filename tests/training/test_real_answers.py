"""Recorded answers of real models: an answer that no longer says what was marked in it is not recorded."""

from collections import Counter
from dataclasses import replace

import pytest

from rauq.recorded.answers import load_recorded
from training.paper_like import PAPER_LIKE
from training.real_answers import CHOSEN, _invented_tokens

RECORDED = {recorded.id: recorded for recorded in load_recorded()}


@pytest.mark.parametrize("chosen", [*CHOSEN, *PAPER_LIKE], ids=lambda chosen: chosen.id)
def test_the_index_and_the_marks_are_those_of_the_table(chosen):
    recorded = RECORDED[chosen.id]
    trace = recorded.trace()
    stated = (recorded.name, recorded.verdict, recorded.correct_answer, recorded.what_to_see)
    assert stated == (chosen.name, chosen.verdict, chosen.correct_answer, chosen.what_to_see)
    assert (trace.model, trace.prompt) == (chosen.model, chosen.prompt)
    assert trace.wrong == _invented_tokens(trace, chosen)


def test_twelve_prompts_are_like_the_papers_five_kinds_and_answered_by_two_models():
    kinds = [chosen.name.removeprefix("Paper-like, ").partition(":")[0] for chosen in PAPER_LIKE]
    assert Counter(kinds) == {"misconception": 6, "myth": 6, "biography": 4, "translation": 4, "rare name": 4}
    assert Counter(chosen.model for chosen in PAPER_LIKE) == {"smollm2": 12, "gemma3-270m": 12}


def test_an_answer_that_does_not_say_what_was_marked_is_refused():
    chosen = CHOSEN[0]
    with pytest.raises(RuntimeError, match=r"'magic-flute' does not say \['Mozart'\]"):
        _invented_tokens(RECORDED[chosen.id].trace(), replace(chosen, invented=("Mozart",)))
