"""What a component is sent says when it was new, by which the browser knows the latest."""

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.shared import components


@pytest.fixture
def sent_at(monkeypatch):
    """Send a component these data in one session, by this clock; return when they were sent."""
    session, sent = AppTest.from_string("").session_state, []
    monkeypatch.setattr(components.st, "session_state", session)

    def send(data, *, clock, key="picture"):
        monkeypatch.setattr(components.time, "time", lambda: clock)
        components._show(lambda **given: sent.append(given), key=key, data=data)
        assert sent[-1]["key"] == key
        assert sent[-1]["data"] == data | {"sent": sent[-1]["data"]["sent"]}
        return sent[-1]["data"]["sent"]

    return send


def test_the_same_data_are_not_drawn_again(sent_at):
    assert sent_at({"rank": 1}, clock=5) == sent_at({"rank": 1}, clock=6) == 5


def test_what_is_new_is_later_even_where_the_clock_stands_still_or_is_put_back(sent_at):
    times = [sent_at({"rank": rank}, clock=clock) for rank, clock in enumerate((5, 5, 3, 7))]
    assert times == sorted(set(times))
    assert sent_at({"rank": 3}, clock=9, key="other") == 9
