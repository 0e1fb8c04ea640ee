"""Sentences about records name missed bounds, with correct numbers."""

import pytest

from analysis.evidence import sentences
from analysis.evidence.record import SUBJECTS, missing, of_subjects
from rauq.capture.check import Check
from tests.evidence import INCONCLUSIVE, KEPT, MISSED, make_record


@pytest.mark.parametrize(
    ("bounds", "sentence"),
    [
        ((), "No bound has been measured yet."),
        ((KEPT,), "All bounds are met: 1 in 1 table."),
        ((KEPT, KEPT), "All bounds are met: 2 in 1 table."),
        ((KEPT, MISSED), "1 of 2 bounds is missed (Scoring), 1 met."),
        ((MISSED, MISSED, KEPT), "2 of 3 bounds are missed (Scoring), 1 met."),
        ((KEPT, INCONCLUSIVE, MISSED), "1 of 3 bounds is missed (Scoring), 1 met, 1 inconclusive."),
        ((INCONCLUSIVE, KEPT), "0 of 2 bounds are missed, 1 met, 1 inconclusive."),
    ],
)
def test_the_headline_states_missed_bounds(bounds, sentence):
    assert sentences.bounds_sentence([make_record(bounds=bounds)]) == sentence


def test_a_missed_bound_comes_before_what_was_found():
    assert sentences.record_sentence(make_record()) == "It is fast."
    assert sentences.record_sentence(make_record(finding="")) == "Scoring."
    assert sentences.record_sentence(make_record(bounds=(MISSED, KEPT))) == "1 bound missed. It is fast."
    assert sentences.record_sentence(make_record(bounds=(INCONCLUSIVE,))) == "1 bound inconclusive. It is fast."


def test_the_verdict_on_a_record_is_the_worst_on_its_bounds():
    bounds = {"met": (KEPT,), "inconclusive": (KEPT, INCONCLUSIVE), "missed": (KEPT, INCONCLUSIVE, MISSED)}
    assert {name: make_record(bounds=found).verdict for name, found in bounds.items()} == {
        name: name for name in bounds
    }
    assert make_record(bounds=()).verdict == "met"
    assert sentences.verdict_counts(bounds["missed"]) == "1 of 3 bounds set for it are met, 1 missed, 1 inconclusive."
    assert sentences.verdict_counts(()) == ""


def test_every_bound_has_its_verdict_and_a_missed_one_comes_first():
    assert sentences.verdict_lines((KEPT, INCONCLUSIVE, MISSED)) == [
        f"Missed: {MISSED.text}",
        f"Inconclusive: {INCONCLUSIVE.text}",
        f"Met: {KEPT.text}",
    ]


def test_limits_list_what_is_not_met_and_count_it():
    assert sentences.unmet_bounds([make_record(bounds=(KEPT, MISSED, INCONCLUSIVE))]) == [
        f"Scoring: {MISSED.text} (missed)",
        f"Scoring: {INCONCLUSIVE.text} (inconclusive)",
    ]
    assert "bound" not in sentences.limits_sentence(0)
    assert "and 2 bounds not met" in sentences.limits_sentence(2)


@pytest.mark.parametrize(
    ("layers", "differences", "words"),
    [
        ((0, 2), (1e-7, 3e-7), "own: 2 layers; worst is layer 2, 3.0e-07 from float64 (1.0e-05 tolerated)."),
        ((5,), (2e-3,), "Not exact: the captured attention differs: 1 layer; worst is layer 5, 2.0e-03 from float64"),
        ((0, 3), (1e-7, float("inf")), "Not exact: the captured weights of layer 3 are at the wrong positions"),
        ((), (), "no attention layer"),
    ],
)
def test_a_check_is_one_sentence(layers, differences, words):
    bounds = (1e-5,) * len(layers)
    assert words in sentences.check_sentence(Check(layers, differences, bounds, bounds))


def test_a_check_names_what_is_wrong_besides_the_differences():
    found = Check((0,), (1e-7,), (1e-5,), (0.0,), "it has a part that is not captured")
    assert sentences.check_sentence(found) == "Not exact: it has a part that is not captured."


def test_a_difference_between_passes_is_shown_and_said_to_be_for_information():
    differing = Check((0, 1), (1e-7, 1e-7), (1e-5, 1e-5), (0.0, 0.0), pass_differences=(2e-2, 0.2))
    assert differing.exact
    assert "differ by up to 2.0e-01" in sentences.passes_sentence(differing)
    assert sentences.passes_sentence(Check((0,), (1e-7,), (1e-5,), (0.0,))) == ""


def test_eager_attention_is_said_with_its_precision_where_it_is_known():
    found = Check((0, 1), (1e-7, 1e-7), (1e-5, 1e-5), (2e-3, 4.9e-2))
    assert sentences.eager_sentence(found, "bfloat16").endswith("attention in bfloat16 is up to 4.9e-02 from float64.")
    assert sentences.eager_sentence(Check((0,), (1e-7,), (1e-5,), (float("nan"),)), "float32") == ""


def test_records_and_what_is_missing_of_them_are_all_there_is():
    kept = {"runs": make_record("runs"), "capture": make_record("capture")}
    assert [record.id for record in of_subjects(SUBJECTS, kept)] == ["capture", "runs"]
    assert {subject.id for subject in missing(SUBJECTS, kept)} == {subject.id for subject in SUBJECTS} - set(kept)
    assert len({subject.id for subject in SUBJECTS}) == len(SUBJECTS)
