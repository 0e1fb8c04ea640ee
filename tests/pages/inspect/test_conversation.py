"""Conversations in Inspect: a system prompt, a follow-up below an answer, and earlier messages as folded text."""

import json

import pytest

from analysis.two_answers.comparison import same_prompt
from pages.ui.host import models
from pages.ui.host.hosting import ModelChoice
from pages.ui.host.request import Branch, Request, check_answer
from pages.ui.inspect import conversation, form
from pages.ui.inspect.form import EXAMPLES
from pages.ui.shared import state
from pages.ui.shared.url_state import Asked, asking, link, read_asked, read_context, read_options
from rauq.errors import InvalidInput
from rauq.trace.messages import Message, messages_of
from tests.chat_templates import CHATML
from tests.pages.reading import choose, finished, interpreted, settings_of, shown_trace, started, views, written
from tests.pages.shared.test_links import BASE, brought
from tests.rauq.trace.test_trace_messages import MESSAGES, OPTIONS, conversation_trace
from tests.traces import make_trace

HOSTILE = "<img src=x onerror=alert(1)> ![](http://evil.example/a.png) $x$ :red[y] \u202e \x07"
LIMIT = {"max_new_tokens": 4}


def expanders(page):
    return {block.label: block for block in page.expander}


def fields(page):
    return page.text_area(key=state.PROMPT).value, page.text_area(key=state.SYSTEM).value


def said(page):
    return "\n".join(text.value for text in page.text)


# Without a model.


@pytest.mark.usefixtures("no_model")
def test_a_conversation_is_shown_folded_and_put_into_the_form(open_app):
    page = open_app(conversation_trace())
    assert not page.exception
    assert fields(page) == ("Who?", MESSAGES[0].content)
    texts = expanders(page)["Conversation so far: 4 messages"].text
    assert "user:\nHi\n\nassistant:\nHello\n\nuser:\nWho?" in texts[0].value
    assert "user:\nHi\n\nassistant:\nHello" in expanders(page)["Continues a conversation: 2 messages"].text[0].value
    assert "chat template applied to 4 messages with enable_thinking=False" in views(page)["source"]
    page.button(key="new_conversation").click().run()
    assert not [label for label in expanders(page) if label.startswith("Continues")]
    assert fields(page) == ("", MESSAGES[0].content)
    assert "Chat template with" not in said(page)


@pytest.mark.parametrize("question", [None, 7, b"Who?", "", "  "])
def test_a_next_question_that_is_no_text_asks_nothing(question, monkeypatch):
    monkeypatch.setattr(conversation.st, "session_state", {conversation._QUESTION: question})
    conversation._ask(make_trace())
    assert conversation.st.session_state == {conversation._QUESTION: question}


@pytest.mark.usefixtures("no_model")
def test_a_plain_answer_has_no_conversation_and_no_next_question(open_app):
    page = open_app(make_trace())
    assert fields(page) == ("Where?", "")
    assert not [label for label in expanders(page) if "onversation" in label]
    assert not [button for button in page.button if button.key in ("follow_up_button", "new_conversation")]


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize(
    ("changes", "offered"),
    [
        ({"chat_applied": True}, True),
        ({"chat_applied": True, "kind": "instruct", "stop_reason": "length"}, True),
        ({"chat_applied": False, "kind": "instruct"}, False),
        ({"chat_applied": False, "prompt_form": "templated"}, False),
        ({"chat_applied": False, "prompt_form": "ids"}, False),
        ({"chat_applied": True, "pieces": (b"</s>",), "answer_tokens": ("",)}, False),
    ],
    ids=str,
)
def test_the_next_question_is_offered_where_the_answer_can_be_a_message(changes, offered, open_app):
    page = open_app(make_trace(**changes))
    assert not page.exception
    assert bool([button for button in page.button if button.key == "follow_up_button"]) == offered


@pytest.mark.usefixtures("no_model")
def test_messages_are_never_interpreted(open_app):
    said_before = (Message(role="system", content=HOSTILE), Message(role="user", content=HOSTILE))
    trace = conversation_trace(
        prompt=HOSTILE,
        messages=(*said_before, Message(role="assistant", content=HOSTILE), said_before[1]),
        template_options={"today": HOSTILE},
    )
    page = open_app(trace)
    assert not page.exception
    assert "evil" not in interpreted(page)
    assert "evil" in said(page)
    assert "evil" not in "".join(expanders(page))


# Links.


def test_a_link_brings_the_conversation():
    trace = conversation_trace(model="some/model")
    found = read_asked(brought(link(BASE, {}, trace)))
    assert found == asking(trace)
    assert (found.context, found.template_options) == (MESSAGES[:-1], OPTIONS)
    plain = brought(link(BASE, {"context": "old", "template_options": "old"}, make_trace()))
    assert not {"context", "template_options"} & set(plain)


def test_a_link_brings_calls_and_parts_and_none_leads_to_another_prompt():
    call = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f"}}]}
    talk = messages_of([{"role": "user", "content": ["One.", "Two?"]}, call, {"role": "tool", "content": "3"}])
    ends = (messages_of([*talk, {"role": "user", "content": "Who?"}]), talk, talk[:1])
    traces = [conversation_trace(messages=messages, prompt=messages[-1].content) for messages in ends]
    assert read_asked(brought(link(BASE, {}, traces[0]))).context == talk
    assert [link(BASE, {}, trace) for trace in traces[1:]] == [None, None]  # the form has no such prompt


CONTEXTS = (
    *(
        "",
        "x",
        "{",
        "{}",
        "3",
        "null",
        '"ab"',
        "[1]",
        '[["user"]]',
        '[["user","a","b"]]',
        '[["user",""]]',
        '[["human","a"]]',
    ),
    *('[["user","a"],["system","b"]]', '[[["user"],"a"]]', '[["user",["a"]]]', '[{"role":"user","content":"a"}]'),
    *('[["user","\\ud800"]]', "[" * 100_000, "9" * 5000, '[["user", 1e999]]'),
)


@pytest.mark.parametrize("text", CONTEXTS, ids=lambda text: text[:30])
def test_an_unusable_context_is_none(text):
    assert read_context(text) is None
    assert read_asked({"prompt": "Q", "context": text}) == Asked(prompt="Q")


@pytest.mark.parametrize(
    "text", ["", "x", "[]", "3", '{"tokenize": false}', '{"a": [1]}', '{"a": NaN}', '{"": 1}', "[" * 100_000]
)
def test_unusable_options_are_none(text):
    assert read_options(text) is None


@pytest.mark.usefixtures("no_model")
def test_a_link_fills_the_form_and_shows_what_comes_before(open_app):
    context = json.dumps([["system", "Be brief."], ["user", "Hi"], ["assistant", "Hello"]])
    page = open_app(prompt="Who?", model="some/model", kind="instruct", context=context)
    assert fields(page) == ("Who?", "Be brief.")
    assert expanders(page)["Conversation before this prompt: 3 messages"].text[0].value.startswith("system:\nBe brief.")
    assert "Continues a conversation: 2 messages" in expanders(page)


@pytest.mark.usefixtures("no_model")
def test_a_link_with_a_damaged_conversation_is_reported(open_app):
    page = open_app(prompt="Who?", model="some/model", context='[["human", "x"]]', template_options="[]")
    assert fields(page) == ("Who?", "")
    notices = interpreted(page)
    assert "The link's context cannot be used" in notices
    assert "The link's template options cannot be used" in notices


# With a model.


@pytest.mark.usefixtures("host")
def test_a_host_counts_the_whole_conversation():
    model = ModelChoice()
    check_answer(Request(model=model, prompt="x" * 4000))
    with pytest.raises(InvalidInput, match="4,001 characters of prompt"):
        check_answer(Request(model=model, prompt="x" * 3000, context=(Message(role="user", content="x" * 1001),)))


def test_a_conversation_continues_below_the_answer(open_app, chat_folder):
    page = choose(open_app(), state.MODEL, "another")
    page = written(page, prompt="Hi", system="Be brief.", other_model=chat_folder, **LIMIT).run()
    assert "1 message before the prompt" in [drawer.proto.popover.label for drawer in page.get("popover")]
    page = finished(page.button(key="run").click().run())
    assert not page.exception
    first = shown_trace(page)
    assert [(part.role, part.content) for part in first.messages] == [("system", "Be brief."), ("user", "Hi")]
    page = written(page, follow_up="Who?")
    page = finished(page.button(key="follow_up_button").click().run())
    assert not page.exception
    second = shown_trace(page)
    assert second.messages[:2] == first.messages
    assert second.messages[2:] == (
        Message(role="assistant", content=first.answer),
        Message(role="user", content="Who?"),
    )
    lm = models.if_loaded(ModelChoice(name=chat_folder))
    assert second.prompt_ids.tolist() == list(lm.encode(second.messages).ids)
    assert fields(page) == ("Who?", "Be brief.")
    assert page.text_area(key="follow_up").value == ""
    assert "Conversation so far: 4 messages" in expanders(page)
    page = finished(page.button(key="run").click().run())
    assert shown_trace(page).answer_ids.tolist() == second.answer_ids.tolist()
    assert settings_of(page) == {}


def test_choosing_an_example_starts_a_new_conversation(open_app, monkeypatch):
    monkeypatch.setattr(form, "begin", lambda job: job.done.set())
    page = open_app(conversation_trace())
    page.selectbox(key="_example").select_index(0).run()
    assert fields(page) == (EXAMPLES[0].prompt, "")
    request = page.session_state[state.JOB].request
    assert (request.prompt, request.context, request.template_options) == (EXAMPLES[0].prompt, (), {})


def test_answers_that_follow_other_messages_follow_another_prompt():
    a = conversation_trace()
    assert same_prompt(a, conversation_trace(template_options={}))
    assert not same_prompt(a, make_trace(prompt="Who?"))
    assert not same_prompt(a, conversation_trace(messages=MESSAGES[1:]))


@pytest.mark.usefixtures("no_model")
def test_an_empty_question_asks_nothing(open_app):
    page = open_app(make_trace(chat_applied=True, kind="instruct"))
    page = written(page, follow_up=" \n")
    page = page.button(key="follow_up_button").click().run()
    assert state.JOB not in page.session_state
    assert fields(page) == ("Where?", "")


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_templated_prompt_is_reported(ends, open_app, chat_folder):
    page = choose(open_app(), state.MODEL, "another")
    page = written(page, prompt=CHATML.plain.replace("\n", ends), other_model=chat_folder, **LIMIT)
    page = finished(page.button(key="run").click().run())
    assert shown_trace(page).prompt_form == "templated"
    assert "prompt already contains the chat template, none applied" in views(page)["source"]
    assert "The prompt already contains this model's chat template, so none was applied." in interpreted(page)
    assert ("Its line ends were changed to those of the template." in interpreted(page)) == (ends == "\r\n")


def test_a_system_prompt_for_a_model_without_a_template_is_refused(open_app):
    page = written(open_app(), prompt="Hi", system="Be brief.", **LIMIT)
    page = finished(page.button(key="run").click().run())
    assert page.error[0].value == "This input cannot be used"
    assert "This model has no chat template, which messages, a system prompt" in said(page)


def test_a_branch_follows_the_whole_conversation(chat_folder):
    choice = ModelChoice(name=chat_folder)
    lm = models.model(choice)
    options = {"enable_thinking": False}
    origin = lm.generate(MESSAGES, max_new_tokens=4, template_options=options)
    request = Request(
        model=choice,
        prompt=origin.prompt,
        context=origin.messages[:-1],
        template_options=options,
        branch=Branch(origin=origin, token=2, instead="x"),
        max_new_tokens=2,
    )
    job = started(request)
    assert job.done.wait(60)
    assert job.trace.messages == MESSAGES
    assert job.trace.prompt_ids.tolist() == origin.prompt_ids.tolist()
    assert job.trace.answer_ids[:2].tolist() == origin.answer_ids[:2].tolist()
