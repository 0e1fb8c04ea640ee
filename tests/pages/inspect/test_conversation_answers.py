"""Inspect in conversation with a model: options of the chat template, and several turns."""

import pytest

import rauq
from pages.ui.host import models
from pages.ui.host.hosting import ModelChoice
from pages.ui.inspect import messages
from pages.ui.shared import state
from rauq.trace.messages import Message
from tests.analysis.exports.test_python_code import loaded
from tests.analysis.exports.test_python_code import written as saved_script
from tests.pages.inspect.test_conversation import HOSTILE, LIMIT
from tests.pages.reading import choose, finished, interpreted, shown_trace, written
from tests.rauq.trace.test_trace_messages import conversation_trace
from tests.real_models import SMOLLM2


def test_options_of_the_template_are_chosen_typed_and_left_out(open_app, chat_folder):
    field = f"{messages._OPTION}enable_thinking"
    models.model(ModelChoice(name=chat_folder))
    page = open_app()
    assert field not in {box.key for box in page.selectbox}  # which is of another model
    page = choose(page, state.MODEL, "another")
    page = written(page, prompt="Hi", other_model=chat_folder, **LIMIT).run()
    assert page.selectbox(key=field).value is None
    lengths = []
    for typed, value in (("false", False), ("0.5", 0.5), ("off", "off"), (None, None)):
        box = page.selectbox(key=field)
        box.options += filter(None, [typed])  # what one types is an option, too
        page = box.set_value(typed).run()
        assert not page.exception
        assert page.session_state[state.OPTIONS] == ({} if value is None else {"enable_thinking": value})
        trace = shown_trace(finished(page.button(key="run").click().run()))
        assert trace.template_options == page.session_state[state.OPTIONS]
        lengths.append(len(trace.prompt_ids))
    page = written(page.selectbox(key=field).set_value("false").run(), follow_up="Who?")
    page = finished(page.button(key="follow_up_button").click().run())
    assert shown_trace(page).template_options == {"enable_thinking": False}
    models.model(ModelChoice(name=chat_folder, kind="base"))  # to which no template is applied
    page = choose(open_app(prompt="Hi", model=chat_folder, kind="base"), state.KIND, "base")
    assert field not in {box.key for box in page.selectbox}
    assert lengths == [lengths[-1] + len("<think>\n\n</think>\n\n"), *lengths[-1:] * 3]


@pytest.mark.usefixtures("no_model")
def test_an_option_that_the_model_does_not_know_can_be_left_out(open_app):
    page = open_app(conversation_trace(template_options={"today": HOSTILE, "day": "3"}))
    assert not page.exception
    page.selectbox(key=f"{messages._OPTION}today").set_value(None).run()
    assert page.session_state[state.OPTIONS] == {"day": "3"}
    assert "evil" not in interpreted(page)


def test_three_turns_with_a_real_model(open_app, tmp_path, monkeypatch):
    """Each answer is read as context of the next, and the last one, which is drawn, is given again by its Python."""
    page = choose(open_app(), state.MODEL, "another")
    page = written(
        page, prompt="What is the capital of France?", system="Answer in one word.", other_model=str(SMOLLM2)
    )
    page = finished(written(page, max_new_tokens=4).button(key="run").click().run())
    lm, traces = models.if_loaded(ModelChoice(name=str(SMOLLM2))), [shown_trace(page)]
    for question, drawn in (("And of Italy?", False), ("Which is larger?", True)):
        page = written(page.toggle("sample").set_value(drawn).run(), follow_up=question)
        page = finished(page.button(key="follow_up_button").click().run())
        assert not page.exception
        before, trace = traces[-1], shown_trace(page)
        said = (Message(role="assistant", content=before.answer), Message(role="user", content=question))
        assert trace.messages == (*before.messages, *said)
        assert trace.prompt_ids.tolist() == list(lm.encode(trace.messages).ids)
        assert before.prompt_ids.tolist() == trace.prompt_ids.tolist()[: len(before.prompt_ids)]
        traces.append(trace)
    assert "capital of France" in traces[0].answer
    assert [trace.sampling is None for trace in traces] == [True, True, False]
    monkeypatch.setattr(rauq, "load_model", lambda *_name, **_options: lm, raising=False)
    score = rauq.score(traces[-1])
    module = loaded(saved_script(traces[-1], score, tmp_path))
    again = module.regenerate(rauq.Trace.load(tmp_path / module.TRACE))
    assert (again.messages, again.sampling) == (traces[-1].messages, traces[-1].sampling)
    assert rauq.score(again, module.SETTINGS).uncertainty == pytest.approx(score.uncertainty, abs=1e-5)
