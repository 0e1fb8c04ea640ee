"""Is the answer correct: what the user said, by what the user typed, as recorded, or in its run, in this order."""

import json
from dataclasses import replace

import pytest
import streamlit as st

from analysis.runs.files.corrections import read_corrections
from analysis.runs.manifest import CORRECTIONS
from pages.ui.inspect import verdict
from pages.ui.inspect.linked_views.reported import Corrected, Judged
from pages.ui.inspect.verdict import (
    LONGEST,
    MOST,
    NOTHING,
    Own,
    Verdict,
    apply_event,
    known_verdict,
    linked_verdict,
    overrule,
    said_in_link,
    set_correct_answer,
    verdict_payload,
)
from pages.ui.shared import state
from rauq.recorded.answers import find_recorded, load_recorded
from tests.hostile import ATTACK
from tests.imports import imported_after
from tests.pages.sets import make
from tests.traces import make_trace

ASKED = "What is the capital of Norway?"
OSLO = make_trace((b"It", b" is", b" Oslo", b"."), prompt=ASKED)
NAME = "kept:a"
ANSWER_4 = "run:small:4"


class Query(dict):
    """The parameters of a URL, as Streamlit gives them."""

    to_dict = dict.copy

    def from_dict(self, values):
        self.clear()
        self.update(values)


@pytest.fixture(autouse=True)
def session(monkeypatch):
    own = {}
    monkeypatch.setattr(st, "session_state", own)
    monkeypatch.setattr(st, "query_params", Query())
    return own


def known(name=NAME, trace=OSLO, recorded=None):
    return known_verdict(name, trace, recorded)


def test_a_new_answer_has_no_verdict_and_asks_for_the_correct_one():
    assert known() == Verdict()
    assert verdict_payload(known()) == {
        "verdict": None,
        "correctAnswer": "",
        "source": "",
        "evidence": "",
        "canChange": True,
        "asks": True,
        "typed": False,
    }


@pytest.mark.parametrize("recorded", load_recorded(), ids=lambda one: one.id)
def test_a_recorded_answer_has_its_verdict(recorded):
    found = known(f"example:{recorded.id}", recorded.trace(), recorded)
    assert (found.verdict, found.correct_answer) == (recorded.verdict, recorded.correct_answer)
    assert found.source == "as recorded with this answer"
    assert not verdict_payload(found)["asks"]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("Oslo", "correct"),
        ("oslo", "correct"),
        ("Kristiania | Oslo", "correct"),
        ("Bergen", "incorrect"),
        ("Quxton", "incorrect"),  # a name of no table; the question belongs to the family of capitals
    ],
)
def test_a_typed_answer_is_compared_by_the_rule_for_facts(typed, said):
    set_correct_answer(NAME, f"  {typed}\n")
    found = known()
    assert found.evidence
    told = Verdict(verdict=said, correct_answer=typed, source="by the rule for facts", typed=True)
    assert replace(found, evidence="") == told


NOVEL = "Who wrote the novel The Master and Margarita?"


@pytest.mark.parametrize(
    ("answer", "said", "evidence"),
    [
        ("Mikhail Bulgakov.", "correct", "Matches the correct answer: “Mikhail Bulgakov”. Nothing else is named."),
        ("Leo Tolstoy.", "incorrect", "The correct answer is not named. Speaks against it: “Leo Tolstoy”."),
        (
            "Mikhail Bulgakov or Leo Tolstoy.",
            "incorrect",
            "Matches the correct answer: “Mikhail Bulgakov”. Speaks against it: “Leo Tolstoy”.",
        ),
        ("I do not know.", "incorrect", "The answer names nothing of the kind that is asked for."),
    ],
)
def test_a_verdict_by_the_rule_for_facts_shows_what_matched_and_what_spoke_against_it(answer, said, evidence):
    set_correct_answer(NAME, "Mikhail Bulgakov")
    found = known(trace=make_trace((answer.encode(),), prompt=NOVEL))
    assert (found.verdict, found.evidence) == (said, evidence)
    assert verdict_payload(found)["evidence"] == evidence
    overrule(NAME, "correct")
    assert known(trace=make_trace((answer.encode(),), prompt=NOVEL)).evidence == ""


def test_a_measure_that_looks_for_no_names_shows_none():
    set_correct_answer(NAME, "27")
    assert known(trace=make_trace((b"It has 27 bones.",), prompt="How many bones has a hand?")).evidence == ""


def test_a_second_name_of_the_same_kind_makes_an_answer_incorrect():
    both = make_trace((b"Oslo", b" or", b" Stockholm"), prompt=ASKED)
    set_correct_answer(NAME, "Oslo")
    assert known(trace=both).verdict == "incorrect"


@pytest.mark.parametrize(
    ("prompt", "answer", "typed", "said", "by"),
    [
        ("How many bones has a hand?", b"It has 27 bones.", "27", "correct", "whether it names"),
        ("How many bones has a hand?", b"It has 28 bones.", "27", "incorrect", "whether it names"),
        ("Say it in French.", b"le chat dort sur la chaise", "Le chat dort sur la chaise.", "correct", "the words"),
        ("Say it in French.", b"la lune", "Un chien court dans le grand jardin", "incorrect", "the words"),
        ("Say it in French.", b"le chat court", "Le chat dort sur la chaise.", None, "the words"),
        ("Q: Where is Oslo?\nA: Norway\nQ: Where is Tsu?\nA:", b" Japan, not Peru", "Japan", "correct", "the rule"),
        ("Q: Where is Oslo?\nA: Norway\nQ: Where is Tsu?\nA:", b" Japan, or Norway", "Japan", "incorrect", "the rule"),
    ],
)
def test_other_questions_are_judged_by_the_measure_that_suits_the_typed_answer(prompt, answer, typed, said, by):
    set_correct_answer(NAME, typed)
    found = known(trace=make_trace((answer,), prompt=prompt))
    assert found.verdict == said
    assert found.source.startswith("by " if said else "not decided by ")
    assert f"by {by}" in found.source


def test_what_the_user_typed_comes_before_the_recording_and_can_be_removed():
    recorded = find_recorded("canberra")
    name, trace = "example:canberra", recorded.trace()
    set_correct_answer(name, "Sydney")
    assert known(name, trace, recorded).verdict == "incorrect"
    set_correct_answer(name, " \n")
    assert known(name, trace, recorded).source == "as recorded with this answer"


def test_what_the_user_set_comes_before_all_and_can_be_undone(session):
    recorded = find_recorded("canberra")
    name, trace = "example:canberra", recorded.trace()
    set_correct_answer(name, "Canberra")
    overrule(name, "incorrect")
    found = known(name, trace, recorded)
    assert (found.verdict, found.source, found.correct_answer) == ("incorrect", "set by you", "Canberra")
    assert known("example:moon", trace, recorded).source == "as recorded with this answer"
    overrule(name, None)
    assert known(name, trace, recorded).verdict == "correct"
    set_correct_answer(name, "")
    assert session[verdict._KEY] == {}


def test_an_answer_without_text_is_neither_judged_nor_changed():
    set_correct_answer(NAME, "Oslo")
    found = known(trace=make_trace((b"\n",), prompt=ASKED))
    assert (found.verdict, found.can_change) == (None, False)
    assert "no text" in found.source


def test_a_session_keeps_a_bounded_number_of_texts_of_bounded_length(session):
    for number in range(MOST + 5):
        set_correct_answer(f"kept:{number}", "x" * 10_000)
    overrule("kept:5", "correct")  # it moves to the end
    set_correct_answer("kept:new", "y")
    kept = session[verdict._KEY]
    assert len(kept) == MOST
    assert {"kept:5", "kept:new"} < set(kept)
    assert "kept:6" not in kept
    assert known("kept:5").correct_answer == "x" * LONGEST


def test_typed_text_can_be_sent_and_hides_nothing():
    set_correct_answer(NAME, f"a\ud800 {ATTACK}"[:LONGEST])
    sent = json.dumps(verdict_payload(known()), allow_nan=False).encode()
    assert b"\\u202e" not in sent
    set_correct_answer(NAME, "a\ud800\u202eb")
    assert known().correct_answer == "a?\u202eb"
    assert verdict_payload(known())["correctAnswer"] == "a?⟨U+202E⟩b"


def test_events_of_the_browser_are_applied():
    apply_event(NAME, Corrected(answer=NAME, correct="Oslo"))
    assert known().verdict == "correct"
    apply_event(NAME, Judged(answer=NAME, verdict="incorrect"))
    assert known().verdict == "incorrect"
    apply_event(NAME, Judged(answer=NAME, verdict=None))
    assert known().verdict == "correct"


def opened(query, trace=OSLO):
    """What a link with these parameters says of an answer, in a new session."""
    st.session_state.clear()
    st.query_params.from_dict(query)
    return linked_verdict(trace)


@pytest.mark.parametrize("said", ["correct", "incorrect", None])
@pytest.mark.parametrize("typed", ["", "Oslo", "Kristiania | Oslo & more = 50 %", "אוסלו", "\u202eabc", "x" * LONGEST])
def test_what_the_user_said_is_restored_from_a_link(said, typed):
    if typed:
        apply_event(NAME, Corrected(answer=NAME, correct=typed))
    apply_event(NAME, Judged(answer=NAME, verdict=said))
    before = known()
    linked = opened(said_in_link(NAME, OSLO, NOTHING))
    found = known_verdict(NAME, OSLO, None, linked)
    assert found == replace(before, source="set in the link" if said else before.source)
    assert said_in_link(NAME, OSLO, linked) == st.query_params  # copied again, from what was opened
    assert state._NOTICES not in st.session_state


def test_what_a_link_says_is_the_users_own_once_the_user_changes_it(session):
    recorded = find_recorded("canberra")
    apply_event(NAME, Judged(answer=NAME, verdict="incorrect"))
    linked = opened({**said_in_link(NAME, OSLO, NOTHING), "correct_answer": "Oslo", "kept": "a"})
    assert session == {}  # nothing is stored for a link that was only opened
    apply_event(NAME, Judged(answer=NAME, verdict="correct"), linked)
    assert (known().verdict, known().source) == ("correct", "set by you")
    linked = opened({**said_in_link(NAME, OSLO, NOTHING), "kept": "a"})
    apply_event(NAME, Judged(answer=NAME, verdict=None), linked)
    assert st.query_params == {"kept": "a"}
    assert (known().verdict, known().correct_answer) == ("correct", "Oslo")
    apply_event(NAME, Corrected(answer=NAME, correct=""), linked_verdict(OSLO))
    assert known() == Verdict()
    assert known_verdict("example:canberra", OSLO, recorded, linked).correct_answer == "Oslo"


def test_a_link_that_is_opened_changes_no_run(small):
    query = {"verdict": f"incorrect.{verdict._checksum(OSLO)}"}
    found = known_verdict(ANSWER_4, OSLO, None, opened(query))
    assert (found.verdict, found.source) == ("incorrect", "set in the link")
    assert read_corrections(small) == ()
    assert known(ANSWER_4).source == "of the run small"


def test_a_verdict_on_another_answer_is_left_out():
    other = make_trace((b"It", b" is", b" Bergen", b"."), prompt=ASKED)
    apply_event(NAME, Judged(answer=NAME, verdict="correct"))
    query = {**said_in_link(NAME, OSLO, NOTHING), "correct_answer": "Oslo"}
    assert opened(query, other) == Own(correct_answer="Oslo")
    assert st.query_params == {"correct_answer": "Oslo"}
    assert st.session_state[state._NOTICES] == ["The link's verdict cannot be used for this answer and was left out."]


OF_OSLO = verdict._checksum(OSLO)
HOSTILE = [
    *[{"verdict": text} for text in ("", "correct", "Correct." + OF_OSLO, f"unclear.{OF_OSLO}", "partly correct", "1")],
    *[{"verdict": f"correct.{text}"} for text in ("", OF_OSLO.upper() + "A", OF_OSLO + "\n", "٣" * 8, f"{OF_OSLO}.0")],
    *[{"verdict": text} for text in (f" correct.{OF_OSLO}", "\ud800", "<b>", ATTACK, "correct" * 10_000)],
    *[{"correct_answer": text} for text in ("", " \n\t", "x" * (LONGEST + 1), "y" * 10**6)],
]


@pytest.mark.parametrize("query", HOSTILE, ids=lambda query: ascii(query)[:40])
def test_what_cannot_be_used_leaves_the_link_and_is_said(query):
    assert opened(query | {"kept": "a"}) == NOTHING
    assert st.query_params == {"kept": "a"}
    [notice] = st.session_state[state._NOTICES]
    assert (
        notice == f"The link's {next(iter(query)).replace('_', ' ')} cannot be used for this answer and was left out."
    )


def test_hostile_text_of_a_link_can_be_sent_and_hides_nothing():
    linked = opened({"correct_answer": f"a\ud800 {ATTACK}"[:LONGEST]})
    sent = json.dumps(verdict_payload(known_verdict(NAME, OSLO, None, linked)), allow_nan=False).encode()
    assert b"\\u202e" not in sent


@pytest.fixture
def small(runs):
    make(runs, references=("a a", "b"))
    return runs / "small"


def test_an_answer_of_a_run_has_the_verdict_of_the_run_where_a_change_is_stored(small, session):
    found = known(ANSWER_4)
    assert (found.verdict, found.correct_answer, found.source) == ("correct", "a a | b", "of the run small")
    overrule(ANSWER_4, "incorrect")
    assert [(one.number, one.correct) for one in read_corrections(small)] == [(4, False)]
    found = known(ANSWER_4)
    assert (found.verdict, found.source) == ("incorrect", "set by you, in the run small")
    overrule(ANSWER_4, None)
    assert read_corrections(small) == ()
    assert known(ANSWER_4).source == "of the run small"
    assert session.get(verdict._KEY, {}) == {}


def test_a_change_that_the_run_cannot_store_is_kept_for_the_session(small):
    (small / CORRECTIONS).mkdir()
    overrule(ANSWER_4, "incorrect")
    assert known(ANSWER_4).verdict == "incorrect"
    assert "in this session only" in known(ANSWER_4).source


def test_the_run_that_came_with_the_app_is_not_changed(small, monkeypatch):
    monkeypatch.setattr("analysis.runs.verdicts.bundled_folder", lambda: small)
    overrule(ANSWER_4, "incorrect")
    assert read_corrections(small) == ()
    found = known(ANSWER_4)
    assert (found.verdict, found.can_change) == ("incorrect", True)
    assert "in this session only" in found.source
    overrule(ANSWER_4, None)
    assert known(ANSWER_4).verdict == "correct"


@pytest.mark.parametrize("name", ["run:gone:4", "run:small:99", "run:small:x", "run:small", "run:"])
@pytest.mark.usefixtures("small")
def test_an_answer_that_no_run_has_has_no_verdict(name):
    assert known(name) == Verdict()


def test_an_answer_between_the_thresholds_or_without_quality_says_so(runs):
    make(runs, quality=(0.5, float("nan"), 1.0))
    found = known("run:small:0")
    assert (found.verdict, found.source) == (None, "neither correct nor incorrect, in the run small")
    assert known("run:small:1").source == "not judged: no reference, in the run small"


def test_a_damaged_run_leaves_the_answer_without_a_verdict(small):
    (small / "manifest.json").write_bytes(b"{")
    found = known(ANSWER_4)
    assert found.verdict is None
    assert "damaged" in found.source


def test_a_verdict_at_first_paint_reads_no_table_of_facts():
    code = (
        "from pages.ui.inspect.verdict import known_verdict\n"
        "from rauq.recorded.answers import load_recorded\n"
        "one = load_recorded()[0]\n"
        "assert known_verdict('example:' + one.id, one.trace(), one).source == 'as recorded with this answer'\n"
    )
    assert imported_after(code, ("torch", "pandas", "analysis.runs", "analysis.quality", "analysis.datasets")) == []
