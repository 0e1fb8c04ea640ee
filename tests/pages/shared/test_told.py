"""What a script run wrote to the URL survives a run that began before the browser received it."""

import pytest
from streamlit.testing.v1 import AppTest

NAMES = ("a", "b")


def page_of(body):
    """A page that holds `a` and `b`, does what the session's `do` says, and has the URL that results."""

    def script():
        import streamlit as st

        from pages.ui.shared import url_state

        url_state.hold(("a", "b"))
        if (wanted := st.session_state.pop("do", None)) is not None:
            url_state.write(wanted)

    page = AppTest.from_function(script)
    for name, value in body.items():
        page.query_params[name] = value
    return page.run()


def run(page, url, *, do=None):
    """Run the page as a browser would that shows this URL."""
    for name in NAMES:
        page.query_params.pop(name, None)
    for name, value in url.items():
        page.query_params[name] = value
    if do is not None:
        page.session_state["do"] = do
    page.run()
    assert not page.exception
    return {name: value if isinstance(value, str) else value[0] for name, value in page.query_params.items()}


@pytest.fixture
def written():
    page = page_of({"a": "old"})
    assert run(page, {"a": "old"}, do={"a": "new", "b": "one"}) == {"a": "new", "b": "one"}
    return page


def test_runs_with_the_old_url_are_corrected_however_many_there_are(written):
    for _ in range(3):
        assert run(written, {"a": "old"}) == {"a": "new", "b": "one"}


def test_once_the_browser_has_the_new_url_the_old_one_is_the_users_choice(written):
    assert run(written, {"a": "new", "b": "one"}) == {"a": "new", "b": "one"}
    assert run(written, {"a": "old"}) == {"a": "old"}


def test_another_value_is_the_users_choice(written):
    assert run(written, {"a": "third"}) == {"a": "third", "b": "one"}
    assert run(written, {"a": "old", "b": "one"}) == {"a": "old", "b": "one"}


def test_removed_parameters_stay_removed():
    page = page_of({"a": "old"})
    assert run(page, {"a": "old"}, do={"a": None}) == {}
    assert run(page, {"a": "old"}) == {}
    assert run(page, {}) == {}
    assert run(page, {"a": "old"}) == {"a": "old"}


@pytest.mark.parametrize(("parts", "heard"), [(None, ["by the user"]), (["part"], [])])
def test_a_part_that_runs_alone_brings_old_values_and_changes_nothing(parts, heard):
    """As Streamlit has it: `parts` are the fragments that a run is for, or None where it is for the whole page."""

    def script():
        import streamlit as st
        from streamlit.runtime.scriptrunner import get_script_run_ctx

        from pages.ui.shared import url_state

        context = get_script_run_ctx()
        whole, context.fragment_ids_this_run = context.fragment_ids_this_run, st.session_state.parts
        url_state.by_the_user(st.session_state.heard.append)("by the user")
        context.fragment_ids_this_run = whole

    page = AppTest.from_function(script)
    page.session_state["parts"], page.session_state["heard"] = parts, []
    assert not page.run().exception
    assert page.session_state["heard"] == heard
