"""RAUQ + heads in Inspect: a detector is remembered for its model; the line says how an answer ranks, or why not."""

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from rauq.detectors.added_heads import LARGEST_FILE
from tests.rauq.detectors.test_added_heads import DETECTOR as LIBRARY_DETECTOR
from tests.rauq.detectors.test_added_heads import TRACE

DETECTOR = replace(
    LIBRARY_DETECTOR,
    heads=((5, 1), (2, 0)),
    reference=tuple(float(place) for place in range(814)),
    groups=(("capitals", 814),),
)


def _page():
    import streamlit as st

    from pages.ui.inspect.added_heads import added_heads_field, added_heads_line

    added_heads_field()
    for trace in st.session_state["traces"]:
        st.text(str(added_heads_line(trace)))


def opened(*traces):
    page = AppTest.from_function(_page)
    page.session_state["traces"] = traces
    return page.run()


def uploaded(page, content, name="own.json"):
    page.file_uploader[0].upload(name, content, "application/json").run()
    assert not page.exception
    return page


def lines(page):
    return [text.value for text in page.text]


def reference(*, below):
    """Scores of 814 answers, of which so many are below that of the trace."""
    own = DETECTOR.score(TRACE)
    return tuple(own + place - below + 0.5 for place in range(814))


@pytest.mark.parametrize(
    ("below", "said"),
    [
        (741, "more uncertain than 91 % of the 814 answers it was fitted on."),
        (73, "more confident than 91 % of the 814 answers it was fitted on."),
        (814, "more uncertain than all 814 answers it was fitted on."),
        (0, "more confident than all 814 answers it was fitted on."),
        (813, "more uncertain than over 99 % of the 814 answers it was fitted on."),
    ],
)
def test_the_line_ranks_the_answer(below, said):
    page = uploaded(opened(TRACE), replace(DETECTOR, reference=reference(below=below)).to_json().encode())
    assert lines(page) == ["made-up: RAUQ + 2 heads, facts", f"RAUQ + 2 heads (ours, not the paper's): {said}"]


def test_without_a_detector_there_is_no_line():
    assert lines(opened(TRACE)) == ["None"]


def test_it_is_remembered_after_the_field_is_emptied_and_forgotten_on_request():
    page = uploaded(opened(TRACE), DETECTOR.to_json().encode())
    page.file_uploader[0].set_value(None).run()
    assert lines(page)[1].startswith("RAUQ + 2 heads")
    page.button[0].click().run()
    assert lines(page) == ["None"]


def test_each_model_has_its_own_and_another_model_is_said():
    other = replace(TRACE, model="<b>other</b>")
    page = uploaded(opened(TRACE, other), DETECTOR.to_json().encode())
    assert "fitted on model made-up, and the answer is of <b>other</b>" in lines(page)[2]
    page = uploaded(page, replace(DETECTOR, model="<b>other</b>", heads=((3, 3),)).to_json().encode(), "two.json")
    assert [line.partition(" (")[0] for line in lines(page)[2:]] == ["RAUQ + 2 heads", "RAUQ + 1 head"]


def test_a_wrong_file_is_refused_with_the_reason_and_the_earlier_detector_stays():
    page = uploaded(opened(TRACE), DETECTOR.to_json().encode())
    page = uploaded(page, b"{", "broken.json")
    assert page.error[0].value == "This input cannot be used"
    assert "broken.json is not JSON" in " ".join(lines(page))
    assert lines(page)[-1].startswith("RAUQ + 2 heads (ours")
    page = uploaded(page, b" " * (LARGEST_FILE + 1), "large.json")
    assert "too large" in " ".join(lines(page))
