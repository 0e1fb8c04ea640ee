"""The page Lesson: its data, its short and correct texts, and its state without recordings."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.lesson import place
from pages.ui.lesson.content import LONGEST, content, scoring_head, steps
from rauq.atlas import game
from rauq.errors import TraceFileError
from rauq.recorded import answers as recorded
from rauq.scoring.report import SMALLEST_COLLAPSE
from tests.imports import MODELS, imported_after
from tests.pages.reading import APP, open_page

ROOT = Path(__file__).parents[3]
LAST = 9


def open_lesson(**query):
    return open_page("lesson", **query)


def fed(page):
    (component,) = page.get("bidi_component")
    return json.loads(component.proto.json)


@pytest.fixture(scope="module")
def lesson():
    return content().lesson


@pytest.fixture(scope="module")
def told(lesson):
    return steps(lesson)


def test_the_page_gets_every_step_and_ten_puzzles():
    page = open_lesson()
    assert not page.exception
    data = fed(page)
    assert 6 <= len(data["steps"]) <= 8
    assert len(data["puzzles"]) == 10
    assert data["step"] == 1
    assert page.query_params == {}


def test_every_step_is_short(told):
    assert [step.title for step in told if len(step.text.split()) > LONGEST] == []
    assert LONGEST == 60
    assert all(len(step.text.split()) > 20 for step in told)


def test_every_step_has_a_picture_of_its_own(told):
    script = (ROOT / "pages/ui/lesson/js/lesson.js").read_text()
    assert len({step.picture for step in told}) == len(told)
    assert all(f"{step.picture}: draw" in script for step in told)


def test_the_text_on_the_drop_is_true(lesson):
    weights, first = scoring_head(lesson).weights, lesson.wrong.invented[0]
    assert weights[first] < 0.1 * weights[first - 1]
    others = [picked.weights for picked in lesson.picked if picked is not scoring_head(lesson)]
    assert any(other[first] > other[first - 1] for other in others)


@pytest.mark.parametrize("invented", [(), (0,), (1, 2)])
def test_a_missing_weight_is_an_error(lesson, invented):
    with pytest.raises(TraceFileError, match="invents nothing after its second token"):
        steps(replace(lesson, wrong=replace(lesson.wrong, invented=invented)))


def test_the_text_has_the_numbers_of_the_recordings(lesson, told):
    text = {step.picture: step.text for step in told}
    assert "“Bavda” is invented" in text["drop"]
    assert f"{lesson.picked[0].layer} to {lesson.picked[-1].layer} here" in text["picking"]
    assert f"{lesson.wrong.uncertainty:.2f}, from layer {lesson.wrong.layer}" in text["layers"]
    assert f"{lesson.right.uncertainty:.2f}" in text["answers"]
    assert f"{lesson.myth.uncertainty:.2f}" in text["limits"]


def test_the_text_on_correct_and_incorrect_answers_is_true(lesson):
    right, wrong, myth = lesson.right, lesson.wrong, lesson.myth
    assert max(right.collapse) < 0.1
    assert wrong.collapse.index(max(wrong.collapse)) in wrong.invented
    assert max(wrong.collapse) > SMALLEST_COLLAPSE
    assert not myth.correct
    assert abs(myth.uncertainty - right.uncertainty) < 0.1 * (wrong.uncertainty - right.uncertainty)


def test_correct_answers_have_drops_too():
    trace = recorded.find_recorded("known-words").trace()
    weights = trace.previous_token_attention()
    drops = [before - after for head in weights[4:9].reshape(-1, weights.shape[2]) for before, after in pairwise(head)]
    assert max(drops) > 0.22


def test_a_link_opens_its_step():
    page = open_lesson(step="4")
    assert fed(page)["step"] == 4
    assert page.query_params == {"step": "4"}


@pytest.mark.parametrize(
    ("asked", "shown"),
    [("0", 1), ("77", LAST), ("-1", 1), ("x", 1), ("", 1), ("4.5", 1), ("٣", 1), ("04", 4), ("9" * 40, 1)],
)
def test_an_invalid_step_is_corrected(asked, shown):
    page = open_lesson(step=asked)
    assert not page.exception
    assert fed(page)["step"] == shown
    assert page.query_params == {"step": str(shown)}


@pytest.mark.parametrize(
    ("stored", "given"), [([3, 0], [3, 0]), ([3, 999], [3]), ([3, 999, 2], [3]), ([-1, 2], []), ([1] * 12, [1] * 10)]
)
def test_guesses_come_back_after_another_page(stored, given):
    page = AppTest.from_file(APP, default_timeout=60)
    page.session_state[place.GUESSES] = stored
    page.session_state[place.TURN] = 7
    data = fed(page.switch_page("pages/lesson.py").run())
    assert (data["guesses"], data["turn"]) == (given, 7)


@pytest.mark.parametrize(("module", "index"), [(recorded, "INDEX"), (game, "GAME_INDEX")], ids=["answers", "game"])
def test_without_recordings_the_page_says_what_to_do(module, index, monkeypatch, tmp_path):
    monkeypatch.setattr(module, index, tmp_path / "index.json")
    page = open_lesson()
    assert not page.exception
    assert not page.get("bidi_component")
    assert page.header[0].value == "The lesson needs recorded answers"
    assert "python -m training record" in page.markdown[0].value


@pytest.mark.parametrize("damage", ["", "{", "[{}]", "[1]", "3", '[{"id": "unknown-word"}]', "[]"])
def test_a_damaged_index_is_reported(damage, monkeypatch, tmp_path):
    monkeypatch.setattr(recorded, "INDEX", tmp_path / "index.json")
    recorded.INDEX.write_text(damage)
    expect_error(open_lesson(), "index.json")


def test_a_damaged_trace_is_reported(monkeypatch, tmp_path):
    for game_answer in game.load_game():
        content = game_answer.path.read_bytes()
        (tmp_path / game_answer.path.name).write_bytes(content[: len(content) // 2])
    monkeypatch.setattr(game, "GAME", tmp_path)
    expect_error(open_lesson(), ".safetensors")


def test_a_missing_trace_is_reported(monkeypatch, tmp_path):
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    expect_error(open_lesson(), "There is no file")


def expect_error(page, text):
    assert not page.exception
    assert not page.get("bidi_component")
    assert page.error
    assert any(text in element.value for element in page.text)


def test_the_lesson_needs_no_torch():
    code = (
        "from streamlit.testing.v1 import AppTest\n"
        "page = AppTest.from_file('app.py', default_timeout=60).switch_page('pages/lesson.py').run()\n"
        "assert not page.exception and len(page.get('bidi_component')) == 1\n"
    )
    assert imported_after(code, MODELS) == []
