"""From a prompt to an answer, with the embedded model; and input that cannot be answered."""

import pytest

from pages.ui import cache, state
from pages.ui.cache import ModelChoice
from pages.ui.examples import EXAMPLES
from tests.pages.reading import choose, finished, interpreted, settings_of, shown_trace, views, written
from tests.traces import make_trace

HOSTILE = "<img src=x onerror=alert(1)> ![](http://evil.example/a.png) $x$ :red[y]"


@pytest.mark.parametrize("key", ["run", "start"])
def test_the_embedded_model_answers(open_app, key):
    page = open_app()
    if key == "run":
        written(page, prompt=EXAMPLES[0].prompt, max_new_tokens=12)
    page.button(key="run" if key == "run" else f"start_{EXAMPLES[0].name}").click()
    page = finished(page.run())
    assert not page.exception
    shown = shown_trace(page)
    assert shown.prompt == EXAMPLES[0].prompt
    assert shown.model == "atlas"
    assert len(views(page)["tokens"]) == len(shown.pieces)
    assert page.text_area(key=state.PROMPT).value == EXAMPLES[0].prompt
    room = cache.if_loaded(ModelChoice()).context_length - len(shown.prompt_ids)
    assert f"{len(shown.prompt_ids)} prompt tokens, room for {room} more" in interpreted(page)


def test_a_pasted_answer_is_scored(open_app):
    page = choose(open_app(), state.TASK, "paste")
    written(page, prompt=EXAMPLES[0].prompt, answer=" Nowhere.").button(key="run").click()
    page = finished(page.run())
    shown = shown_trace(page)
    assert shown.answer == " Nowhere."
    assert shown.stop_reason == "given"
    assert "as given" in views(page)["source"]


def test_a_pasted_answer_without_a_space_can_be_given_one(open_app):
    page = choose(open_app(), state.TASK, "paste")
    page = written(page, prompt=EXAMPLES[0].prompt, answer="Berlin.").run()
    page.button(key="add_space").click().run()
    assert page.text_area(key=state.ANSWER).value == " Berlin."
    assert not [button for button in page.button if button.key == "add_space"]


def test_what_was_typed_survives_fields_that_are_put_away(open_app):
    page = choose(open_app(), state.TASK, "paste")
    page = written(page, prompt=EXAMPLES[0].prompt, answer=" Nowhere.").run()
    page = choose(choose(page, state.TASK, "generate"), state.TASK, "paste")
    assert page.text_area(key=state.ANSWER).value == " Nowhere."
    page = choose(page, state.MODEL, "another")
    page = written(page, other_model="some/model").run()
    page = choose(choose(page, state.MODEL, "atlas"), state.MODEL, "another")
    assert page.text_input(key=state.OTHER_MODEL).value == "some/model"


def test_an_error_goes_when_its_cause_is_mended(open_app):
    page = open_app()
    page.button(key="run").click().run()
    assert page.error
    page = written(page, prompt=EXAMPLES[0].prompt).run()
    assert not page.error


def test_scoring_again_makes_no_forward_pass(open_app):
    page = open_app()
    lm = cache.model(ModelChoice())
    passes = []
    hook = lm.model.register_forward_hook(lambda *_: passes.append(1))
    try:
        page = finished(written(page, prompt=EXAMPLES[1].prompt).button(key="run").click().run())
        assert (generated := len(passes)) > 0
        before = views(page)["detail"]
        page.slider(key="settings_alpha").set_value(0.9).run()
        choose(page, "settings_signal", "entropy")
        choose(page, "settings_alignment", "own")
        assert not page.exception
        assert views(page)["detail"] != before
        assert len(passes) == generated
    finally:
        hook.remove()


def test_a_selection_made_before_another_answer_is_forgotten(open_app):
    page = open_app(make_trace(model="atlas"), layer="1", head="3", token="2")
    page = choose(page, state.TASK, "generate")
    page = finished(written(page, prompt="Where?", max_new_tokens=3).button(key="run").click().run())
    assert settings_of(page) == {}


@pytest.mark.parametrize(
    ("choice", "values", "said"),
    [
        (None, {"prompt": ""}, "There is no prompt"),
        (None, {"prompt": " \n"}, "There is no prompt"),
        ((state.TASK, "paste"), {"prompt": "Q?", "answer": ""}, "There is no answer to score"),
        ((state.MODEL, "another"), {"prompt": "Q?", "other_model": " "}, "No model is named"),
    ],
)
def test_what_is_missing_is_named_before_a_model_loads(choice, values, said, open_app, monkeypatch):
    page = choose(open_app(), *choice) if choice else open_app()
    monkeypatch.setattr(cache, "model", cache.if_loaded)
    page = written(page, **values).button(key="run").click().run()
    assert page.error[0].value == "This input cannot be used"
    assert any(said in text.value for text in page.text)


@pytest.mark.parametrize("prompt", ["word " * 20_000, "\U0001f99c" * 3000], ids=["100,000 characters", "emoji"])
def test_a_prompt_beyond_the_context_says_how_many_tokens_are_allowed(prompt, open_app):
    page = finished(written(open_app(), prompt=prompt).button(key="run").click().run())
    assert page.error[0].value == "This input cannot be used"
    said = " ".join(text.value for text in page.text)
    assert str(cache.if_loaded(ModelChoice()).context_length) in said
    assert page.text_area(key=state.PROMPT).value == prompt


@pytest.mark.parametrize("prompt", ["\x00\x07\x1b[0m", "\u202eabc", "مرحبا", "🦜🏳️‍🌈", HOSTILE], ids=ascii)
def test_strange_prompts_are_answered(prompt, open_app):
    page = finished(written(open_app(), prompt=prompt, max_new_tokens=4).button(key="run").click().run())
    assert not page.exception
    assert not page.error
    assert shown_trace(page).prompt == prompt


def test_a_broken_folder_is_refused_in_its_own_words(open_app, tmp_path):
    folder = tmp_path / "![](http:evil) *m*"
    folder.mkdir()
    (folder / "config.json").write_text("{")
    page = choose(open_app(), state.MODEL, "another")
    page = finished(written(page, prompt="Q?", other_model=str(folder)).button(key="run").click().run())
    assert not page.exception
    assert page.error[0].value == "No model was loaded"
    assert any(str(folder) in text.value for text in page.text)
    assert "evil" not in interpreted(page)
    assert page.text_input(key=state.OTHER_MODEL).value == str(folder)
