"""What a fragment of a page asks for while another page, or the same one, is being drawn."""

import pytest
from streamlit.testing.v1 import AppTest


def script():
    import streamlit as st
    from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx

    from pages.ui.shared.entrypoint import enter

    context = get_script_run_ctx()
    fragment = next(iter(context.fragment_storage._fragments), None)
    if fragment is not None:
        context.script_requests.request_rerun(RerunData(fragment_id=fragment))
    enter(st.session_state["page"])
    st.session_state["known"] = fragment in context.fragment_storage._fragments
    st.session_state["waiting"] = context.script_requests._state.name == "RERUN"

    @st.fragment
    def part():
        st.text("drawn")

    if st.session_state["page"] == "first":
        part()


@pytest.mark.parametrize(("page", "is_kept"), [("first", True), ("second", False)])
def test_it_is_done_on_the_same_page_alone(page, is_kept):
    at = AppTest.from_function(script)
    at.session_state["page"] = "first"
    at.run()
    assert at.text[0].value == "drawn"
    at.session_state["page"] = page
    at.run()
    assert not at.exception
    assert at.session_state["known"] is is_kept
    assert at.session_state["waiting"] is is_kept
