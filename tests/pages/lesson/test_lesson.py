"""The page Learn: its data, its short and correct texts, and its state without recordings."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import rauq
from analysis.answer_sets.gaps import head_gaps
from analysis.answer_sets.sides import sides
from analysis.evidence.record import find_record, records
from analysis.lesson import TAUGHT
from analysis.quality.measures import measure
from analysis.runs import library
from analysis.runs.attention import means, picks
from analysis.runs.opened import open_run
from pages.ui.lesson import place
from pages.ui.lesson.content import LAYER, content, scoring_head, steps
from rauq.errors import TraceFileError
from rauq.recorded import answers as recorded
from rauq.recorded.scores import scores_of
from rauq.scoring.report import SMALLEST_COLLAPSE
from tests.imports import MODELS, imported_after
from tests.pages.reading import APP, open_page

ROOT = Path(__file__).parents[3]
GAME = 9  # the step after the last


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
    assert len(data["steps"]) == GAME
    assert len(data["puzzles"]) == 10
    assert data["step"] == 0
    assert page.query_params == {}


def test_every_step_is_short(told):
    assert [step.title for step in told if len(step.text.split()) > 60] == []
    assert all(len(step.text.split()) > 20 for step in told)


def test_every_step_has_a_picture_of_its_own(told):
    script = (ROOT / "pages/ui/lesson/js/lesson.js").read_text()
    assert len({step.picture for step in told}) == len(told)
    assert all(f"{step.picture}: draw" in script for step in told)


def test_the_text_on_attention_has_the_weights_of_the_recording(lesson, told):
    trace = recorded.find_recorded("switzerland").trace()
    weights = trace.previous_token_attention()  # (L, H, N - 1): token i is at i - 1
    assert trace.answer_tokens[5:7] == (" L", "ier")
    chosen = [weights[layer, weights[layer].mean(axis=1).argmax()] for layer in range(10, 21)]
    means, own = sum(chosen) / 11, chosen[9]
    text = told[4].text
    assert told[4].picture == "drop"
    assert (lesson.drop.layer, lesson.drop.head) == (19, 5)
    assert f"Its weight falls from {own[4]:.2f} to {own[5]:.2f} after “L”; after “Bern” it is 0.23." in text
    assert f"all 11 falls from {means[4]:.2f} to {means[5]:.2f}." in text
    assert (lesson.wrong.layer, scoring_head(lesson).head) == (14, 2)
    assert "attention a (here layer 14, head 2)" in told[5].text


@pytest.mark.parametrize(
    ("name", "word"), [("bern", " Bern"), ("canberra", " Canberra"), ("wellington", " Wellington")]
)
def test_the_weight_of_that_head_stays_after_a_correct_word(lesson, name, word):
    trace = recorded.find_recorded(name).trace()
    weight = trace.previous_token_attention()[19, 5, trace.answer_tokens.index(word)]
    assert weight > 2 * lesson.drop.weights[6]
    assert name != "bern" or lesson.drop.corrected == pytest.approx(weight)


def test_the_layer_shown_is_the_one_that_differs_most_in_the_run():
    run = open_run(library.bundled_folder())
    heads = picks(run, "predicting").heads
    outcome = sides(run.answers["quality"].to_numpy(float), measure(run.manifest.request.quality).thresholds)
    found = head_gaps(means(run, "predicting"), heads, outcome).picked
    used = [run.answerer.layers.index(layer) for layer in run.used_layers]
    assert run.used_layers[found.absolute.value[used].argmax()] == LAYER
    assert run.used_layers[found.percent.value[used].argmax()] == LAYER
    assert found.absolute.low[run.answerer.layers.index(LAYER)] > 0
    shown = content().lesson.drop
    table = scores_of(recorded.find_recorded("switzerland").trace()).heads
    areas = {
        (layer, head): area for layer, row in zip(table.layers, table.auc, strict=True) for head, area in enumerate(row)
    }
    assert max(areas, key=areas.get) != (shown.layer, shown.head)  # by ROC-AUC it is another one, as the text says


def test_the_first_screen_says_why_with_the_numbers_of_a_fluent_incorrect_answer(lesson, told):
    one = recorded.find_recorded("magic-flute")
    trace = one.trace()
    why, opening = told[0], lesson.opening
    assert why.picture == "why"
    assert why.text.startswith("SmolLM2-135M-Instruct, a small language model, wrote this answer.")
    assert f"{len(trace.wrong)} of its {len(trace.answer_ids)} tokens, marked" in why.text
    assert "".join(text for text, _ in opening.parts) == trace.answer
    assert [text.strip() for text, incorrect in opening.parts if incorrect] == ["John Williams", "1979"]
    assert (opening.prompt, opening.reference) == (trace.prompt, one.correct_answer)


WRONG_ANSWER = "has an incorrect token after its second"
CHANGES = {
    "nothing marked": ("opening", {"num_incorrect": 0}, "the first answer has incorrect tokens"),
    "nothing incorrect": ("wrong", {"invented": ()}, WRONG_ANSWER),
    "incorrect from the first": ("wrong", {"invented": (0,)}, WRONG_ANSWER),
    "incorrect from the second": ("wrong", {"invented": (1, 2)}, WRONG_ANSWER),
    "another peak": ("wrong", {"invented": (7,)}, "its collapse peaks there"),
    "rising attention": ("wrong", {"invented": (2,)}, "the mean weight falls after it"),
    "no lower than after the correct word": ("drop", {"corrected": 0.05}, "below that after the correct word"),
    "low score": ("wrong", {"uncertainty": 0.1}, "is above that of the correct answer"),
    "not correct": ("right", {"correct": False}, "is above that of the correct answer"),
    "high score": ("confident", {"uncertainty": 0.7}, "below that of the correct one"),
    "correct": ("confident", {"correct": True}, "the confident answer is incorrect"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_recordings_that_do_not_show_what_the_texts_say_are_an_error(lesson, name):
    role, changes, message = CHANGES[name]
    with pytest.raises(TraceFileError, match=message):
        steps(replace(lesson, **{role: replace(getattr(lesson, role), **changes)}))


def test_the_text_has_the_numbers_of_the_recordings(lesson, told):
    text = {step.picture: step.text for step in told}
    assert "SmolLM2-135M-Instruct, answers “What is the capital of Switzerland?”" in text["heads"]
    assert "30 layers of 9" in text["heads"]
    assert "“Lier” is incorrect; correct: Bern" in text["drop"]
    assert f"{lesson.picked[0].layer} to {lesson.picked[-1].layer} here" in text["picking"]
    assert f"{lesson.wrong.uncertainty:.2f}, from layer {lesson.wrong.layer}" in text["layers"]
    assert f"at most {max(lesson.right.collapse):.1f} in the correct answer" in text["answers"]
    assert f"peaks at {max(lesson.wrong.collapse):.1f}" in text["answers"]
    assert text["limits"].startswith("“Istanbul” is incorrect; correct: Ankara.")
    assert f"{lesson.confident.uncertainty:.2f}, is below that of the correct answer, " in text["limits"]
    assert f"{lesson.right.uncertainty:.2f}: RAUQ cannot detect" in text["limits"]
    kept = find_record("worth")
    first = dict(zip(kept.columns, kept.rows[0], strict=True))
    assert (first["data"], first["model"]) == ("facts", "smollm2")
    own = first["minus RAUQ with shuffled attention"]
    assert f"{first['RAUQ']}, this model's own attention gives {own}; in {len(kept.rows)} compar" in text["limits"]


def test_the_shares_of_the_collapse_are_those_of_the_score(told):
    trace = recorded.find_recorded("switzerland").trace()
    score = rauq.score(trace, TAUGHT)
    signal, attention = score.collapse_shares[score.collapse.argmax()] / score.collapse.max()
    assert signal + attention == pytest.approx(1)
    assert f"{100 * signal:.0f} % of that comes from probability, {100 * attention:.0f} % from" in told[7].text


def test_the_text_on_correct_and_incorrect_answers_is_true(lesson):
    right, wrong, confident = lesson.right, lesson.wrong, lesson.confident
    assert max(right.collapse) < SMALLEST_COLLAPSE < 2 * SMALLEST_COLLAPSE < max(wrong.collapse)
    assert wrong.collapse.index(max(wrong.collapse)) == wrong.invented[0]
    assert not confident.correct
    assert confident.uncertainty < right.uncertainty < wrong.uncertainty


def test_inspect_shows_other_numbers_by_default(lesson):
    score = rauq.score(recorded.find_recorded("switzerland").trace())
    assert score.settings.signal == "entropy"
    assert f"{score.uncertainty:.2f}" != f"{lesson.wrong.uncertainty:.2f}"


def test_the_attention_of_another_answer_ranks_nearly_as_well():
    kept = records()["real_models"]
    asked = zip(*(kept.column(name) for name in ("model", "prompts", "answers of")), strict=True)
    place = list(asked).index(("smollm2", "plain", "all answers"))
    own, gain = (
        float(kept.column(name)[place].split()[0]) for name in ("PRR of RAUQ", "minus RAUQ with shuffled attention")
    )
    assert 0 < gain < 0.01 * own


def test_a_link_opens_its_step():
    page = open_lesson(step="4")
    assert fed(page)["step"] == 4
    assert page.query_params == {"step": "4"}


@pytest.mark.parametrize(
    ("asked", "shown"),
    [("0", 0), ("77", GAME), ("-1", 0), ("x", 0), ("", 0), ("4.5", 0), ("٣", 0), ("04", 4), ("9" * 40, 0)],
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
    data = fed(page.switch_page("pages/learn.py").run())
    assert (data["guesses"], data["turn"]) == (given, 7)


@pytest.mark.parametrize("index", ["INDEX", "GAME_INDEX"], ids=["answers", "game"])
def test_without_recordings_the_page_says_what_to_do(index, monkeypatch, tmp_path):
    monkeypatch.setattr(recorded, index, tmp_path / "index.json")
    page = open_lesson()
    assert not page.exception
    assert not page.get("bidi_component")
    assert page.header[0].value == "Learn needs recorded answers"
    assert "python -m training record" in page.markdown[0].value


@pytest.mark.parametrize("damage", ["", "{", "[{}]", "[1]", "3", '[{"id": "switzerland"}]', "[]"])
def test_a_damaged_index_is_reported(damage, monkeypatch, tmp_path):
    monkeypatch.setattr(recorded, "INDEX", tmp_path / "index.json")
    recorded.INDEX.write_text(damage)
    expect_error(open_lesson(), "index.json")


def test_a_damaged_trace_is_reported(monkeypatch, tmp_path):
    for game_answer in recorded.load_game():
        content = game_answer.path.read_bytes()
        (tmp_path / game_answer.path.name).write_bytes(content[: len(content) // 2])
    monkeypatch.setattr(recorded, "GAME", tmp_path)
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
        "page = AppTest.from_file('app.py', default_timeout=60).switch_page('pages/learn.py').run()\n"
        "assert not page.exception and len(page.get('bidi_component')) == 1\n"
    )
    assert imported_after(code, MODELS) == []
