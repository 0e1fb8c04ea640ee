"""From a prompt to an answer, with the embedded model; and input that cannot be answered."""

import pytest

from pages.ui.host import models, request
from pages.ui.host.hosting import ModelChoice
from pages.ui.host.request import Request
from pages.ui.inspect import form
from pages.ui.inspect.form import EXAMPLES
from pages.ui.shared import state, url_state
from rauq.model.loading import wrap
from rauq.scoring.online import partial_scores
from rauq.trace.messages import Message
from tests.chat_templates import CHATML, chat_model
from tests.gguf_files import save_gguf
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
    limit = models.if_loaded(ModelChoice()).context_length
    assert f"{len(shown.prompt_ids)} of {limit} tokens · up to" in interpreted(page)


def test_a_pasted_answer_is_scored(open_app):
    page = choose(open_app(), state.TASK, "paste")
    written(page, prompt=EXAMPLES[0].prompt, answer=" Nowhere.").button(key="run").click()
    page = finished(page.run())
    shown = shown_trace(page)
    assert shown.answer == " Nowhere."
    assert shown.stop_reason == "given"
    assert "as given" in views(page)["source"]


MARKED = "<document>Kyoto is in Japan.</document> Q: In which country is Kyoto? A:"


@pytest.mark.parametrize("answer", ["", " Japan."])
def test_what_an_answer_attends_to_is_captured_where_the_prompt_marks_its_parts(answer, open_app):
    page = choose(open_app(), state.TASK, "paste") if answer else open_app()
    written(page, prompt=MARKED, **({"answer": answer} if answer else {"max_new_tokens": 3}))
    page = finished(page.button(key="run").click().run())
    assert not page.exception
    shown = shown_trace(page)
    assert [part.name for part in shown.prompt_parts] == ["document"]
    assert shown.extras["part_shares"].shape[2:] == (len(shown.pieces), 4)
    page.session_state["folded_Figures"] = True
    assert "Attention by part of the prompt" in [header.value for header in page.run().header]


TWO = "<document>Kyoto is in Japan. Oslo is in Norway.</document><document>Lima is in Peru.</document> Where is Oslo?"
PASSAGES = ["document", "document", "document 2"]


@pytest.mark.parametrize(("most", "names"), [(2**24, PASSAGES), (13_439, ["document", "document 2"]), (9_599, None)])
def test_a_document_comes_in_as_many_passages_as_there_is_room_for(most, names, open_app, monkeypatch):
    monkeypatch.setattr(request, "LARGEST_UPLOADED_EXTRAS", most)
    page = finished(written(open_app(), prompt=TWO, max_new_tokens=5).button(key="run").click().run())
    shown = shown_trace(page)
    assert [part.name for part in shown.prompt_parts] == (names or [])
    assert "".join(shown.part_texts) == ("Kyoto is in Japan. Oslo is in Norway.Lima is in Peru." if names else "")
    assert (views(page)["document"] is None) == (names is None)


def test_a_document_in_a_message_before_has_one_passage():
    lm = wrap(*chat_model(CHATML), name="chat")
    context = (Message(role="user", content=TWO), Message(role="assistant", content="In Norway."))
    asked = Request(model=ModelChoice(), prompt="And Lima?", context=context)
    assert request.shares(lm, asked, 5)["prompt_parts"] == ("document",)


@pytest.mark.parametrize("prompt", ["What does <document> mean in XML?", "Is </document><document> right?"])
def test_a_prompt_that_only_mentions_a_marker_is_answered_as_any_other(prompt, open_app):
    page = finished(written(open_app(), prompt=prompt, max_new_tokens=2).button(key="run").click().run())
    assert not page.exception
    assert not shown_trace(page).extras


def test_shares_that_would_make_a_file_too_large_are_left_out(open_app, monkeypatch):
    monkeypatch.setattr(request, "LARGEST_UPLOADED_EXTRAS", 1000)
    page = finished(written(open_app(), prompt=MARKED, max_new_tokens=3).button(key="run").click().run())
    assert not shown_trace(page).extras


def test_an_answer_is_stopped_where_it_becomes_too_uncertain(open_app):
    whole = shown_trace(finished(written(open_app(), prompt=EXAMPLES[1].prompt).button(key="run").click().run()))
    so_far = [score.uncertainty for score in partial_scores(whole)]
    limit = max(so_far[:-1]) - 0.01
    page = written(open_app(), prompt=EXAMPLES[1].prompt, stop_above=limit).button(key="run").click().run()
    stopped = shown_trace(finished(page))
    assert stopped.stop_reason == "alarm"
    assert len(stopped.answer_ids) == 1 + next(place for place, value in enumerate(so_far) if value > limit)
    assert "stopped by an alarm" in views(page)["source"]


def test_a_pasted_answer_without_a_space_can_be_given_one(open_app):
    page = choose(open_app(), state.TASK, "paste")
    page = written(page, prompt=EXAMPLES[0].prompt, answer="Berlin.").run()
    page.button(key="add_space").click().run()
    assert page.text_area(key=state.ANSWER).value == " Berlin."
    assert not [button for button in page.button if button.key == "add_space"]


def test_typed_text_survives_hidden_fields(open_app):
    page = choose(open_app(), state.TASK, "paste")
    page = written(page, prompt=EXAMPLES[0].prompt, answer=" Nowhere.").run()
    page = choose(choose(page, state.TASK, "generate"), state.TASK, "paste")
    assert page.text_area(key=state.ANSWER).value == " Nowhere."
    page = choose(page, state.MODEL, "another")
    page = written(page, other_model="some/model").run()
    page = choose(choose(page, state.MODEL, "atlas"), state.MODEL, "another")
    assert page.text_input(key=state.OTHER_MODEL).value == "some/model"


def test_an_error_disappears_once_its_cause_is_fixed(open_app):
    page = open_app()
    page.button(key="run").click().run()
    assert page.error
    page = written(page, prompt=EXAMPLES[0].prompt).run()
    assert not page.error


def test_scoring_again_makes_no_forward_pass(open_app):
    page = open_app()
    lm = models.model(ModelChoice())
    passes = []
    hook = lm.model.register_forward_hook(lambda *_: passes.append(1))
    try:
        page = finished(written(page, prompt=EXAMPLES[1].prompt).button(key="run").click().run())
        assert (generated := len(passes)) > 0
        before = views(page)["detail"]
        page.select_slider(key="settings_alpha").set_value(0.9).run()
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
        ((state.MODEL, "another"), {"prompt": "Q?", "other_model": " "}, "No model is given"),
    ],
)
def test_missing_input_is_reported_before_a_model_loads(choice, values, said, open_app, monkeypatch):
    page = choose(open_app(), *choice) if choice else open_app()
    monkeypatch.setattr(models, "model", lambda choice, **_options: models.if_loaded(choice))
    page = written(page, **values).button(key="run").click().run()
    assert page.error[0].value == "This input cannot be used"
    assert any(said in text.value for text in page.text)


@pytest.mark.parametrize("prompt", ["word " * 20_000, "\U0001f99c" * 3000], ids=["100,000 characters", "emoji"])
def test_a_prompt_beyond_the_context_says_how_many_tokens_are_allowed(prompt, open_app):
    page = finished(written(open_app(), prompt=prompt).button(key="run").click().run())
    assert page.error[0].value == "This input cannot be used"
    said = " ".join(text.value for text in page.text)
    assert str(models.if_loaded(ModelChoice()).context_length) in said
    assert page.text_area(key=state.PROMPT).value == prompt


@pytest.mark.parametrize("prompt", ["\x00\x07\x1b[0m", "\u202eabc", "مرحبا", "🦜🏳️‍🌈", HOSTILE], ids=ascii)
def test_unusual_prompts_are_answered(prompt, open_app):
    page = finished(written(open_app(), prompt=prompt, max_new_tokens=4).button(key="run").click().run())
    assert not page.exception
    assert not page.error
    assert shown_trace(page).prompt == prompt


def test_a_damaged_folder_is_refused_with_the_reason(open_app, tmp_path):
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


def test_a_link_to_a_gguf_file_fills_the_form_and_loads_it_when_asked(open_app, tmp_path):
    save_gguf(tmp_path / "tiny.gguf")
    page = open_app(prompt="Where?", model=str(tmp_path / "tiny.gguf"), max_new_tokens="3")
    assert not page.exception
    assert page.text_input(key=state.OTHER_MODEL).value == str(tmp_path / "tiny.gguf")
    assert models.if_loaded(ModelChoice(name=str(tmp_path / "tiny.gguf"))) is None
    page = finished(page.button(key="run").click().run())
    assert not page.exception
    assert shown_trace(page).quantisation == "F32"
    assert "stored as F32 in a GGUF file; the computation is in float32." in views(page)["source"]


def test_after_a_chat_template_no_space_is_offered(open_app, chat_folder):
    page = open_app(prompt="Where?", answer="Lima.", model=chat_folder, kind="instruct")
    assert "add_space" not in {button.key for button in page.button}
    assert "add_space" in {button.key for button in open_app(prompt="Where?", answer="Lima.").button}


def test_a_refused_request_shows_no_count_of_another_prompt_or_model(open_app):
    page = written(open_app(), prompt="Where is Lima?").run()
    page.session_state["_count"] = (form._counted_for(Request(model=ModelChoice(name="other"), prompt="a b")), "OLD")
    page = finished(written(page, prompt="word " * 5000).button(key="run").click().run())
    assert page.error
    said = interpreted(page)
    assert "Counting the tokens" not in said
    assert "OLD" not in said


def test_the_count_of_one_model_is_not_that_of_another():
    one, other = (Request(model=ModelChoice(name=name), prompt="a") for name in ("one", "other"))
    assert form._counted_for(one) != form._counted_for(other)
    precise = Request(model=ModelChoice(name="one", dtype="float32"), prompt="a")
    assert form._counted_for(precise) == form._counted_for(one)


@pytest.mark.parametrize(("stop_reason", "offered"), [("given", True), ("stop", False)])
def test_entropy_of_a_given_answer_offers_surprisal(open_app, stop_reason, offered):
    """Entropy is known before the token that was given."""
    page = open_app(make_trace(kind="instruct", stop_reason=stop_reason), by="rauq")
    assert ("Entropy does not depend on which token was given" in interpreted(page)) == offered
    if offered:
        page.button(key="by_surprisal").click().run()
        assert "by" not in page.query_params
        assert "Entropy does not depend on which token" not in interpreted(page)


def test_a_link_says_that_nothing_was_run_until_it_is_run(open_app):
    page = open_app(prompt="word " * 5000)
    assert "Nothing has been loaded or run." in interpreted(page)
    page = finished(page.button(key="run").click().run())
    assert page.error
    assert "Nothing has been loaded or run." not in interpreted(page)


def test_an_answer_ends_at_the_text_that_was_typed_and_its_link_has_the_answer(open_app):
    page = finished(written(open_app(), prompt=EXAMPLES[0].prompt, stop_at="is").button(key="run").click().run())
    shown = shown_trace(page)
    assert (shown.stop_reason, shown.answer.count("is"), shown.answer[-2:]) == ("stop", 1, "is")
    assert "More: stop text" in [drawer.proto.popover.label for drawer in page.get("popover")]
    assert url_state.asking(shown).answer == shown.answer
    usual = finished(written(page, stop_at="").button(key="run").click().run())
    assert url_state.asking(shown_trace(usual)).answer is None
