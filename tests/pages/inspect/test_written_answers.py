"""An answer that the model did not write: what it is scored by, what it is compared with, and how it is named."""

import pytest

from pages.ui.inspect.reference import BY_RAUQ, NO_WRITTEN
from rauq.recorded.scores import WRITTEN, load_scores
from rauq.scoring.score import score
from rauq.scoring.surprisal import surprisal
from tests.pages.reading import settings_of, views
from tests.traces import make_trace

HAMLET = (b"Ham", b"let", b" was", b" written", b" by", b" Charles", b" Dick", b"ens", b".")
PROBABILITIES = (1e-3, 0.9, 0.01, 0.5, 0.9, 1e-4, 0.1, 0.9, 0.2)
SMOLLM2 = next(one for one in load_scores(WRITTEN) if one.model == "smollm2")

pytestmark = pytest.mark.usefixtures("no_model")


def read(**changes):
    fields = {"prompt": "Who wrote Hamlet?", "stop_reason": "given", "kind": "instruct"} | changes
    return make_trace(HAMLET, probabilities=PROBABILITIES, **fields)


def read_by_smollm2():
    return read(model=SMOLLM2.model, revision=SMOLLM2.revision)


def test_it_is_scored_by_the_surprisal_of_its_names_and_named_as_read(open_app):
    trace = read()
    data = views(open_app(trace))
    assert data["headline"] == "Most surprising: “Charles Dickens”"
    assert data["source"].startswith("Written by another, read by made-up (instruct")
    assert (data["collapseAt"], data["scoreLayer"]) == (surprisal(trace).token, None) == (5, None)


def test_the_papers_setting_is_one_click_away_and_so_is_the_way_back(open_app):
    trace = read()
    page = open_app(trace)
    page.button(key="paper").click().run()
    assert settings_of(page) == {"by": "rauq"}
    assert views(page)["scoreLayer"] == score(trace).layer
    assert page.run().button(key="paper").disabled
    page.button(key="by_surprisal").click().run()
    assert settings_of(page) == {}
    assert views(page)["headline"].startswith("Most surprising")


def test_a_setting_of_rauq_in_the_address_scores_by_rauq(open_app):
    assert views(open_app(read(), alpha="0.5"))["scoreLayer"] is not None


def test_a_generated_answer_is_scored_by_rauq_whatever_the_address_says(open_app):
    page = open_app(read(stop_reason="eos"))
    assert views(page)["scoreLayer"] is not None
    assert not [button for button in page.button if button.key == "by_surprisal"]


def test_it_ranks_among_written_answers_and_the_share_is_for_equal_numbers(open_app):
    standing = views(open_app(read_by_smollm2()))["judged"]["standing"]
    assert f"{len(SMOLLM2.correct):,} written answers that this model read" in standing["rank"]
    assert standing["nearest"].startswith("Where as many written answers are right as wrong")
    assert sum(standing["correct"]) == sum(standing["incorrect"]) == len(SMOLLM2.correct) // 2
    assert standing["uncertainty"] == surprisal(read_by_smollm2()).uncertainty


@pytest.mark.parametrize(
    ("trace", "query", "reason"), [(read(), {}, NO_WRITTEN), (read_by_smollm2(), {"by": "rauq"}, BY_RAUQ)]
)
def test_without_written_answers_of_this_score_there_is_no_rank_and_no_share(open_app, trace, query, reason):
    assert views(open_app(trace, **query).run())["judged"]["standing"] == {"reason": reason}
