"""The page Compare as it ships: it opens on two recorded answers of the same real model."""

from rauq.recorded import answers
from tests.pages.comparing import open_compare, strips


def test_it_opens_on_the_first_recording_and_the_next_correct_one(monkeypatch):
    monkeypatch.undo()
    page = open_compare()
    assert not page.exception
    assert [page.selectbox(key=f"answer_{side}").value for side in "ab"] == ["example:magic-flute", "example:canberra"]
    assert [answers.find_recorded(name).trace().model for name in ("magic-flute", "canberra")] == ["smollm2"] * 2
    assert len(strips(page)["sides"]) == 2
