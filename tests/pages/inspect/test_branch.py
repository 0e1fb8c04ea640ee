"""The answer shown, continued with an alternative: through real jobs of the embedded model, and what is drawn."""

import json
from base64 import b64decode
from dataclasses import replace

import numpy as np
import pytest
import streamlit as st
from streamlit.runtime.scriptrunner import StopException

import rauq
from pages.ui.host import hosting, models
from pages.ui.host.store import store
from pages.ui.inspect import branch
from pages.ui.inspect.branch import (
    branch_job,
    branch_payload,
    branch_problem,
    clear_branch,
    finished_branch,
    start_branch,
    stop_branch,
)
from pages.ui.shared import answers, state
from rauq.errors import ModelNotFound
from rauq.labels import label
from rauq.recorded.answers import find_recorded
from rauq.scoring.settings import Settings
from rauq.trace.messages import Message
from rauq.trace.trace import Alternative
from tests.hostile import PIECES, hostile_trace
from tests.pages.host.test_jobs import SlowModel
from tests.traces import as_lig, make_trace

NAME = "example:unknown-place"
TOKEN = 9
BOUND = 60  # seconds


@pytest.fixture(autouse=True)
def session(monkeypatch):
    own = {}
    monkeypatch.setattr(st, "session_state", own)
    yield own
    if (job := job_of(own)) is not None:
        job.give_up()


@pytest.fixture
def slow(monkeypatch):
    model = SlowModel()
    monkeypatch.setattr(models, "model", lambda _name, **_options: model)
    monkeypatch.setattr(models, "if_loaded", lambda _name: model)
    monkeypatch.setattr(branch.jobs, "_prefix", lambda _lm, _request: [0])
    yield model
    model.go_on.set()


def job_of(session):
    found = session.get(branch._KEY)
    return None if found is None else found.job


def ended(name=NAME):
    """Wait until the job of the branch has ended, as the page does by polling."""
    if (job := branch_job(name)) is not None:
        assert job.done.wait(BOUND)
    return finished_branch(name)


def other_choice(trace, token):
    """The most probable alternative that the answer does not have."""
    row = [one.id for one in trace.alternatives[token]]
    return next(place for place, one in enumerate(row) if one != trace.answer_ids[token])


def two_ways():
    """An answer whose first token has an alternative."""
    row = (Alternative(0, "a", -0.1), Alternative(7, "b", -3.0))
    return make_trace(alternatives=(row,) * 3)


def payload(trace, branch, token, settings):
    return branch_payload(trace, rauq.score(trace, settings), branch, token)


def drawn(found):
    return np.frombuffer(b64decode(found["confidence"]), "<f4")


@pytest.fixture(scope="module")
def origin():
    return find_recorded("unknown-place").trace()


@pytest.fixture(scope="module")
def made(origin):
    """A branch by the embedded model, made once for all tests of what is drawn."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(st, "session_state", {})
        start_branch(NAME, origin, TOKEN, other_choice(origin, TOKEN))
        trace, token = ended()
    assert token == TOKEN
    return trace


def test_a_branch_keeps_the_tokens_before_it_and_has_the_chosen_one(origin, made):
    assert made.prompt == origin.prompt
    np.testing.assert_array_equal(made.answer_ids[:TOKEN], origin.answer_ids[:TOKEN])
    chosen = origin.alternatives[TOKEN][other_choice(origin, TOKEN)]
    assert made.answer_ids[TOKEN] == chosen.id
    assert made.logprobs[TOKEN] == pytest.approx(chosen.logprob, abs=1e-5)
    assert np.isfinite(made.attention[:, :, -1, 0]).all()  # so that the own alignment can be scored


def test_an_alternative_without_an_id_is_continued_by_its_text(origin, made, session):
    rows = [[one._replace(id=-1) for one in row] for row in origin.alternatives]
    of_server = replace(origin, alternatives=tuple(map(tuple, rows)))
    choice = other_choice(origin, TOKEN)
    session[state.LIMIT] = 2
    start_branch(NAME, of_server, TOKEN, choice)
    trace, _ = ended()
    assert trace.answer_ids[TOKEN] == made.answer_ids[TOKEN]
    for found in (origin, of_server):
        assert payload(found, trace, TOKEN, Settings())["choice"] == choice


def test_a_finished_branch_is_kept_and_remembered_until_it_is_cleared(origin, session):
    session[state.LIMIT] = 2
    start_branch(NAME, origin, TOKEN, other_choice(origin, TOKEN))
    trace, token = ended()
    assert (token, len(trace.answer_ids)) == (TOKEN, TOKEN + 3)
    assert list(answers.mine().values()) == [trace]
    assert finished_branch(NAME) == (trace, TOKEN)
    assert branch_job(NAME) is None
    assert branch_problem(NAME) is None
    assert state.JOB not in session
    clear_branch()
    assert finished_branch(NAME) is None
    assert list(answers.mine().values()) == [trace]


def test_another_answer_forgets_the_branch_and_stops_its_job(slow):
    start_branch(NAME, two_ways(), 0, 1)
    assert slow.begun.wait(BOUND)
    job = branch_job(NAME)
    assert job.live
    assert branch_job("kept:other") is None
    assert job.cancel.is_set()
    assert job.done.wait(BOUND)
    assert finished_branch(NAME) is None


def test_a_second_click_starts_nothing_while_a_job_runs(slow):
    start_branch(NAME, two_ways(), 0, 1)
    assert slow.begun.wait(BOUND)
    job = branch_job(NAME)
    start_branch(NAME, two_ways(), 1, 1)
    assert branch_job(NAME) is job
    slow.go_on.set()
    assert ended()[1] == 0
    assert slow.calls == 1


def test_stop_keeps_what_there_is(slow):
    start_branch(NAME, two_ways(), 0, 1)
    assert slow.begun.wait(BOUND)
    stop_branch()
    assert ended()[0].stop_reason == "cancelled"
    assert branch_problem(NAME) is None


def test_a_new_branch_replaces_the_one_before_which_stays_kept(slow):
    slow.go_on.set()
    start_branch(NAME, two_ways(), 0, 1)
    assert job_of(st.session_state).done.wait(BOUND)
    start_branch(NAME, two_ways(), 2, 1)
    assert ended()[1] == 2
    assert len(answers.mine()) == 2


def test_a_branch_of_a_conversation_continues_the_conversation(slow):
    texts = (("user", "Who?"), ("assistant", "Ibsen."), ("user", "Where?"))
    messages = tuple(Message(role=role, content=content) for role, content in texts)
    start_branch(NAME, replace(two_ways(), messages=messages, chat_applied=True, prompt_form="messages"), 0, 1)
    assert slow.begun.wait(BOUND)
    assert slow.prompts == [messages]


@pytest.mark.parametrize(
    ("token", "choice"),
    [(0, 2), (0, -1), (3, 0), (-1, 1), (None, 1), (0, None), ("0", 1), (0, "1"), (0, 1.0), ([], {})],
)
def test_an_alternative_that_the_answer_does_not_have_is_refused(token, choice, slow):
    start_branch(NAME, two_ways(), token, choice)
    assert branch_job(NAME) is None
    assert "no such alternative" in str(branch_problem(NAME))
    assert slow.calls == 0


def test_the_token_of_the_answer_is_no_alternative(slow):
    start_branch(NAME, two_ways(), 0, 0)
    assert "already continues with this token" in str(branch_problem(NAME))
    assert slow.calls == 0


def test_a_refused_choice_leaves_the_branch_shown(slow):
    slow.go_on.set()
    start_branch(NAME, two_ways(), 0, 1)
    shown = ended()
    start_branch(NAME, two_ways(), 0, 99)
    assert finished_branch(NAME) == shown
    assert branch_problem(NAME) is not None
    start_branch(NAME, two_ways(), 0, 1)
    assert branch_problem(NAME) is None


def test_a_model_that_is_not_here_is_an_error_in_words(tmp_path):
    start_branch(NAME, replace(two_ways(), model=str(tmp_path / "gone")), 0, 1)
    assert ended() is None
    assert "not found" in str(branch_problem(NAME))
    assert isinstance(branch_problem(NAME), ModelNotFound)  # read again: it stays
    assert branch_problem("kept:other") is None


def test_a_host_refuses_a_model_that_it_does_not_offer(monkeypatch):
    monkeypatch.setenv(hosting.HOSTED_VARIABLE, "1")
    start_branch(NAME, two_ways(), 0, 1)
    assert ended() is None
    assert "made-up" in str(branch_problem(NAME))


def test_another_model_of_that_name_tokenises_the_prompt_differently(origin):
    start_branch(NAME, replace(origin, prompt_ids=origin.prompt_ids[1:]), TOKEN, other_choice(origin, TOKEN))
    assert ended() is None
    assert "tokenises the prompt differently" in str(branch_problem(NAME))


def test_an_evicted_branch_is_reported(slow):
    slow.go_on.set()
    start_branch(NAME, two_ways(), 0, 1)
    assert ended() is not None
    store().answers.kept.clear()
    assert finished_branch(NAME) is None
    assert "no longer in memory" in str(branch_problem(NAME))


def test_a_branch_survives_an_interrupted_script_run(slow, monkeypatch):
    def cut_short(_trace):
        raise StopException

    slow.go_on.set()
    start_branch(NAME, two_ways(), 0, 1)
    assert job_of(st.session_state).done.wait(BOUND)
    assert branch_job(NAME) is None
    with monkeypatch.context() as patched:
        patched.setattr(answers, "keep", cut_short)
        with pytest.raises(StopException):
            finished_branch(NAME)
    assert finished_branch(NAME)[0].answer == " Lima"


def test_without_a_branch_nothing_is_there_to_stop():
    stop_branch()
    clear_branch()
    assert (branch_job(NAME), finished_branch(NAME), branch_problem(NAME)) == (None, None, None)


@pytest.mark.parametrize("settings", [Settings(), Settings(alignment="own", layers="all"), Settings(heads="mean")])
def test_what_is_drawn_is_the_score_of_the_branch(origin, made, settings):
    found, score = payload(origin, made, TOKEN, settings), rauq.score(made, settings)
    json.dumps(found, allow_nan=False)
    layers, tokens = len(score.layers), len(made.answer_ids)
    np.testing.assert_allclose(drawn(found).reshape(layers, tokens), score.confidence, rtol=1e-6)
    assert found["layers"] == list(score.layers)
    assert found["uncertainty"] == score.uncertainty
    assert (found["from"], found["why"]) == (TOKEN, "")
    assert origin.alternatives[TOKEN][found["choice"]].id == made.answer_ids[TOKEN]
    assert found["tokens"] == [label(piece) for piece in made.pieces]
    assert answers.find(found["kept"]) is made


def test_the_text_is_that_of_the_continuation_in_visible_characters(origin, made):
    text = payload(origin, made, TOKEN, Settings())["text"]
    assert text == "".join(made.answer_tokens[TOKEN:]).replace("\n", "↵")
    hostile = hostile_trace()
    found = payload(hostile, hostile, 0, Settings())
    assert "\u202e" not in found["text"]
    assert "\x1b" not in found["text"]
    assert [len(one) <= 60 for one in found["tokens"]] == [True] * len(PIECES)


def with_weight(trace, layer, head):
    """The trace with this head as the one that attends most to previous tokens in its layer."""
    attention = trace.attention.copy()
    attention[layer, head] = 0.9
    return replace(trace, attention=attention)


def test_a_note_says_where_the_branch_selects_another_head():
    trace = make_trace()
    layer = rauq.score(trace).layer
    head = int(rauq.score(trace).heads[rauq.score(trace).layers.index(layer)])
    other = (head + 1) % trace.num_heads
    changed = with_weight(trace, layer, other)
    note = f"In layer {layer} RAUQ selects head {other} in the continuation, head {head} in the answer."
    assert payload(trace, changed, 1, Settings())["note"] == note
    assert payload(trace, trace, 1, Settings())["note"] == ""


@pytest.mark.parametrize(
    "settings",
    [
        Settings(heads="mean"),
        Settings(heads="top5"),
        Settings(layers=(2,), heads=((2, 1),)),
        Settings(layer_aggregation="median"),
    ],
)
def test_without_one_selected_head_there_is_nothing_to_note(settings):
    trace = make_trace(num_heads=8)
    changed = with_weight(trace, slice(None), 7)
    assert (rauq.score(trace).heads != rauq.score(changed).heads).all()
    assert payload(trace, changed, 1, settings)["note"] == ""


def test_a_branch_of_one_token_selects_no_head():
    trace = make_trace()
    found = payload(trace, make_trace((b" Rome",), num_layers=6), 0, Settings())
    assert found["note"] == ""
    assert len(drawn(found)) == len(found["layers"])


def test_a_branch_that_cannot_be_scored_says_why(origin, made):
    unscored = replace(made, entropies=np.full(len(made.entropies), np.nan))
    found = payload(origin, unscored, TOKEN, Settings(signal="entropy", alpha=0.5))
    json.dumps(found, allow_nan=False)
    assert found["uncertainty"] is None
    assert "nan" in found["why"]
    assert found["confidence"]


def test_a_branch_without_text_says_so():
    trace = make_trace()
    found = payload(trace, make_trace((b" ", b"\n")), 0, Settings())
    assert "only white space" in found["why"]
    assert found["text"] == " ↵"


def test_settings_that_the_branch_cannot_follow_are_a_reason():
    trace = make_trace()
    attention = trace.attention.copy()
    attention[:, :, -1] = np.nan
    found = payload(trace, replace(trace, attention=attention), 1, Settings(alignment="own"))
    assert "last_row" in found["why"]
    assert (found["confidence"], found["layers"], found["uncertainty"], found["note"]) == ("", [], None, "")


def test_a_continuation_is_not_scored_beside_attributions():
    found = payload(as_lig(two_ways()), two_ways(), 0, None)
    assert found["confidence"] == ""
    assert "the answer above are LIG attributions" in found["why"]
