"""What is said of the answer shown, its heads and its tokens, by the reference that is found."""

import json
from dataclasses import replace

import numpy as np
import pytest

import rauq
from analysis.one_answer.standing import nearest_in_words, rank_in_words, standing, worth_in_words
from pages.ui.inspect.front import front
from pages.ui.inspect.judged import UNDEFINED, judged_payload
from pages.ui.inspect.reference import Reference, table
from pages.ui.shared.selection import Chosen
from rauq.recorded.answers import find_recorded, load_recorded
from rauq.recorded.scores import scores_of
from rauq.scoring.score import score
from tests.traces import make_trace

OWN = rauq.Settings(alignment="own")
NONE = Reference(reason="No rank: there is nothing to compare with.")


def payload(trace, settings=None, *, reference=None):
    scored = score(trace, settings)
    return judged_payload(trace, scored, reference or table(trace, scored) or NONE)


@pytest.mark.parametrize("recorded", load_recorded(), ids=lambda one: one.id)
def test_a_recorded_answer_has_the_rank_of_its_score(recorded):
    trace = recorded.trace()
    found = payload(trace)
    kept = scores_of(trace)
    if kept is None:
        assert found["standing"] == {"reason": NONE.reason}
        assert (found["underline"], found["underlineNote"], found["worth"]) == (None, "", "")
        return
    expected = standing(score(trace).uncertainty, np.array(kept.uncertainties), np.array(kept.correct))
    assert found["standing"]["rank"] == rank_in_words(expected)
    assert found["standing"]["nearest"] == nearest_in_words(expected)
    assert f"the table that came with the app, answers of {kept.model}" in found["standing"]["about"]
    json.dumps(found, allow_nan=False)


def test_the_reference_says_which_words_are_underlined_and_what_a_weak_point_is_worth():
    trace = find_recorded("canberra").trace()
    kept, found = scores_of(trace), payload(trace)
    assert found["underline"] == kept.token_collapse
    assert f"beyond {kept.token_collapse:.2f} nats" in found["underlineNote"]
    assert found["worth"] == worth_in_words(kept.weak_point)


@pytest.mark.parametrize(("longer", "said"), [(0, False), (1, True)])
def test_an_answer_longer_than_all_of_the_reference_is_said_to_be(longer, said):
    kept = scores_of(find_recorded("canberra").trace())
    trace = make_trace((b" a",) * (kept.longest + longer))
    found = payload(trace, reference=Reference(scores=kept, name="the run mine"))["standing"]
    caution = "Caution: this answer is longer (33 tokens) than all of these (at most 32)."
    assert found["caution"] == (caution if said else "")
    assert found["about"].startswith("Reference: the run mine, answers of smollm2 to the data set facts.")


def test_heads_of_the_reference_are_those_of_its_table_and_only_for_their_alignment():
    trace = find_recorded("canberra").trace()
    found, kept = payload(trace)["heads"], scores_of(trace).heads
    assert found["auc"] == [value for row in kept.auc for value in row]
    assert found["chance"] == kept.chance
    assert len(found["inCorrect"]) == len(trace.layers) * trace.num_heads
    assert f"{0.5 - kept.chance:.2f} to {0.5 + kept.chance:.2f}" in found["caption"]
    assert len(found["caption"].split()) <= 45
    assert payload(trace, rauq.Settings(alignment="own"))["heads"] is None
    embedded = find_recorded("myth").trace()
    assert payload(embedded)["heads"] is None


def test_an_answer_with_some_of_the_layers_gets_their_heads():
    """As one of a run, which stores the middle layers."""
    whole = find_recorded("canberra").trace()
    middle = replace(whole, layers=whole.layers[10:21], attention=whole.attention[10:21])
    found, all_heads = payload(middle)["heads"], payload(whole)["heads"]
    first, last = 10 * whole.num_heads, 21 * whole.num_heads
    assert found["auc"] == all_heads["auc"][first:last]
    assert found["inCorrect"] == all_heads["inCorrect"][first:last]
    assert front(score(middle), middle) == front(score(whole), whole)
    assert front(score(whole), whole).best
    foreign = replace(whole, layers=tuple(layer + 20 for layer in whole.layers), num_layers=60)
    assert scores_of(whole).heads.of(foreign.layers, foreign.num_heads) is None


@pytest.mark.parametrize("settings", [rauq.Settings(heads="top5"), rauq.Settings(heads="mean"), OWN])
def test_without_one_head_a_layer_from_the_rule_the_views_open_on_the_layer_of_the_score(settings):
    trace = find_recorded("canberra").trace()
    found = score(trace, settings)
    opened = front(found, trace)
    assert (opened.layer, opened.best) == (found.layer, False)


def test_another_head_of_the_layer_is_not_said_to_be_the_best():
    trace = find_recorded("canberra").trace()
    found = score(trace)
    best = front(found, trace)
    chosen = front(found, trace, selected=Chosen(layer=best.layer, head=(best.head + 1) % trace.num_heads))
    assert (chosen.layer, chosen.best) == (best.layer, False)


def test_heads_do_not_depend_on_alpha_so_those_of_the_table_stay():
    trace = find_recorded("canberra").trace()
    found = payload(trace, rauq.Settings(alpha=0.5))
    assert found["standing"] == {"reason": NONE.reason}
    assert found["heads"] == payload(trace)["heads"]
    assert found["underline"] is None


@pytest.mark.parametrize("settings", [rauq.Settings(alpha=0.5), rauq.Settings(signal="probability")])
def test_the_table_is_only_for_the_setting_it_was_made_with(settings):
    trace = find_recorded("canberra").trace()
    assert table(trace, score(trace, settings)) is None
    assert table(trace, score(trace, rauq.Settings(signal="entropy", alpha=0.9))).scores == scores_of(trace)


def test_a_reference_that_is_being_read_is_waited_for():
    trace = make_trace()
    waiting = Reference(run="mine", reason="Comparing with the run mine …", pending=True)
    assert payload(trace, reference=waiting)["standing"] == {"reason": waiting.reason, "pending": True}


def test_an_undefined_score_has_no_rank(monkeypatch):
    trace = find_recorded("canberra").trace()
    monkeypatch.setattr("pages.ui.inspect.judged.standing", lambda *_: None)
    assert payload(trace)["standing"] == {"reason": UNDEFINED}
