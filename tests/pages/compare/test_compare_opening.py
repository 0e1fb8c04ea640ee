"""Compare opens on two recorded answers that the score tells apart, and offers two that it does not."""

import numpy as np
import pytest

from pages.ui.compare.answers import default_other
from rauq.recorded import answers as recorded
from tests.pages.comparing import charts, of, open_compare, strips

A, B = "example:switzerland", "example:bern"

pytestmark = pytest.mark.usefixtures("no_model")


@pytest.fixture(autouse=True)
def all_recorded(recorded_by_atlas, monkeypatch):
    del recorded_by_atlas  # undone here
    monkeypatch.setattr(recorded, "INDEX", recorded.FOLDER.parent / "index.json")


def test_the_page_opens_on_answers_that_are_told_apart_and_offers_two_that_are_not():
    page = open_compare()
    assert not page.exception
    a, b = (page.selectbox(key=f"answer_{side}").value for side in "ab")
    verdicts = {f"example:{one.id}": one.verdict for one in recorded.load_recorded()}
    assert (verdicts[a], verdicts[b]) == ("incorrect", "correct")
    assert strips(page)["headline"].startswith("A is more uncertain than B (")
    page = page.button(key="not_apart").click().run()
    assert [page.selectbox(key=f"answer_{side}").value for side in "ab"] == [A, B]
    assert strips(page)["headline"].startswith("A and B have similar uncertainty (−2.13 and −2.14; ")
    assert "not_apart" not in [button.key for button in page.button]


def test_the_pair_of_one_prompt_shows_the_first_difference_of_its_answers():
    page = open_compare(a=A)
    assert not page.exception
    assert [page.selectbox(key=f"answer_{side}").value for side in "ab"] == [A, B]
    a, b = of(A), of(B)
    assert (a.model, a.prompt) == (b.model, b.prompt) == ("smollm2", "What is the capital of Switzerland?")
    first = strips(page)["first_difference"]
    assert [trace.answer_tokens[first] for trace in (a, b)] == [" L", " Bern"]
    assert strips(page)["columns"][: first + 1] == [[token, token] for token in range(first + 1)]
    assert set(charts(page)) == {"overlay", "difference_map"}


def test_the_recorded_branch_is_an_alternative_at_the_largest_collapse():
    a, b = of(A), of(B)
    branch = 5
    np.testing.assert_array_equal(a.answer_ids[:branch], b.answer_ids[:branch])
    alternative = next(other for other in a.alternatives[branch] if other.id == b.answer_ids[branch])
    assert alternative.logprob == pytest.approx(float(b.logprobs[branch]), abs=1e-3)
    assert branch in a.wrong
    assert not b.wrong
    np.testing.assert_allclose(b.logprobs[:branch], a.logprobs[:branch], atol=1e-3)


def test_a_branch_is_compared_with_its_origin_and_any_other_answer_as_before():
    assert default_other(B) == A
    assert default_other(A) == B
    assert default_other("example:canberra") not in {A, B}
