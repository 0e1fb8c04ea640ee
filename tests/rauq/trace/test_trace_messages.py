"""What a trace keeps of its prompt's form: messages, options of the template, and how the prompt was given."""

import json
from dataclasses import replace

import pytest
from safetensors.numpy import load, save

import rauq
from rauq.errors import InvalidInput, TraceFileError
from rauq.model.loading import wrap
from rauq.scoring.report import as_json
from rauq.trace.messages import Message, messages_of
from rauq.trace.trace import Trace
from tests.chat_templates import CHATML, chat_model
from tests.traces import make_trace

KEY = "rauq_trace"
MESSAGES = messages_of(
    [
        {"role": "system", "content": "Be brief. \n\x00 \u202e شلوم 🙂"},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "Who?"},
    ]
)
OPTIONS = {"enable_thinking": False, "today": "Monday 🙂", "budget": 3, "share": 0.5}


def conversation_trace(**changes):
    fields = {"prompt": "Who?", "messages": MESSAGES, "prompt_form": "messages", "template_options": OPTIONS}
    return make_trace(chat_applied=True, **(fields | changes))


def changed(**metadata):
    """The content of a conversation's file with some of its metadata replaced; None takes an entry out."""
    content = conversation_trace().to_bytes()
    length = int.from_bytes(content[:8], "little")
    fields = json.loads(json.loads(content[8 : 8 + length])["__metadata__"][KEY]) | metadata
    kept = {name: value for name, value in fields.items() if value is not None}
    return save(load(content), {KEY: json.dumps(kept)})


def test_a_file_brings_messages_and_options_back(tmp_path):
    trace = conversation_trace()
    trace.save(tmp_path / "file")
    for again in (Trace.from_bytes(trace.to_bytes()), Trace.load(tmp_path / "file")):
        assert (again.messages, again.prompt_form, again.prompt) == (MESSAGES, "messages", "Who?")
        assert again.template_options == OPTIONS
        assert [type(value) for value in again.template_options.values()] == [bool, str, int, float]
        assert again.to_bytes() == trace.to_bytes()


def test_a_file_brings_parts_calls_and_their_results_back():
    content = [{"type": "text", "text": "One."}, {"type": "text", "text": "Two?"}]
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"x": [1, null]}'}}
    talk = messages_of(
        [
            {"role": "user", "content": content},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "content": "3", "tool_call_id": "1"},
        ]
    )
    trace = conversation_trace(messages=talk, prompt="3")
    again = Trace.from_bytes(trace.to_bytes())
    assert again.messages == talk
    record = as_json(again, rauq.score(again))
    assert messages_of(record["messages"]) == talk
    assert all(reason for reason in record["undefined"].values())


@pytest.mark.parametrize("form", ["text", "templated", "ids"])
def test_a_file_brings_the_form_of_a_prompt_back(form):
    again = Trace.from_bytes(make_trace(prompt_form=form).to_bytes())
    assert (again.prompt_form, again.messages, dict(again.template_options)) == (form, (), {})


def test_a_file_from_before_there_were_messages_is_a_plain_prompt():
    old = Trace.from_bytes(changed(messages=None, prompt_form=None, template_options=None))
    assert (old.prompt, old.prompt_form, old.messages, dict(old.template_options)) == ("Who?", "text", (), {})


def test_options_of_a_trace_cannot_be_changed():
    given = dict(OPTIONS)
    trace = conversation_trace(template_options=given)
    given["enable_thinking"] = True
    assert trace.template_options == OPTIONS
    with pytest.raises(TypeError):
        trace.template_options["enable_thinking"] = True


@pytest.mark.parametrize(
    "change",
    [
        {"prompt_form": "chat"},
        {"prompt_form": "text"},
        {"messages": ()},
        {"messages": list(MESSAGES)},
        {"messages": ({"role": "user", "content": "Who?"},)},
        {"messages": MESSAGES[:2], "prompt": "Be brief."},
        {"messages": MESSAGES[:3], "prompt": "Hello"},
        {"messages": (*MESSAGES[:3], Message(role="system", content="Who?"))},
        {"prompt": "Where?"},
        {"template_options": {"messages": "x"}},
        {"template_options": {"a": None}},
        {"template_options": "x"},
    ],
    ids=str,
)
def test_inconsistent_parts_are_refused(change):
    with pytest.raises(InvalidInput):
        conversation_trace(**change)
    assert replace(conversation_trace(), wrong=(1,)).messages == MESSAGES


PAIRS = [[message.role, message.content] for message in MESSAGES]
HOSTILE = {
    "messages are text": {"messages": "user"},
    "messages are pairs of numbers": {"messages": [[1, 2]]},
    "a message is text": {"messages": ["user", "Who?"]},
    "a message of three": {"messages": [["user", "Who?", "x"]]},
    "a message of four": {"messages": [["user", "Who?", {}, {}]]},
    "a message of one": {"messages": [["user"]]},
    "a message without end": {"messages": [[[[]]]]},
    "a message of a record": {"messages": [{"role": "user", "content": "Who?"}]},
    "an unknown role": {"messages": [["human", "x"], *PAIRS]},
    "parts that are no texts": {"messages": [["user", "1", {"parts": [1]}], *PAIRS]},
    "parts of another text": {"messages": [["user", "a", {"parts": ["a", "b"]}], *PAIRS]},
    "fields that are a list": {"messages": [["user", "a", {"fields": [1]}], *PAIRS]},
    "fields of another name": {"messages": [["user", "a", {"code": "1"}], *PAIRS]},
    "a field that is the role": {"messages": [["user", "a", {"fields": {"role": "system"}}], *PAIRS[1:]]},
    "calls that are empty": {"messages": [["assistant", "", {"fields": {"tool_calls": []}}], *PAIRS]},
    "an empty message": {"messages": [["system", " "], *PAIRS[1:]]},
    "half of a surrogate in a message": {"messages": [["system", "\ud800"], *PAIRS[1:]]},
    "another last message": {"messages": PAIRS[:2]},
    "no user at the end": {"messages": PAIRS[:3]},
    "messages of a plain prompt": {"prompt_form": "text"},
    "no messages of a conversation": {"messages": []},
    "too many messages": {"messages": [*PAIRS[1:3] * 50_001, PAIRS[1], PAIRS[3]]},
    "an unknown form": {"prompt_form": "dream"},
    "a form that is none": {"prompt_form": 3},
    "options are a list": {"template_options": [["a", 1]]},
    "an option is null": {"template_options": {"a": []}},
    "an option is a record": {"template_options": {"a": {"b": 1}}},
    "an option is reserved": {"template_options": {"tokenize": False}},
    "an option has no name": {"template_options": {"": 1}},
    "an option has code for a name": {"template_options": {"a.__class__": 1}},
    "an option is infinite": {"template_options": {"a": float("inf")}},
    "half of a surrogate in an option": {"template_options": {"a": "\udfff"}},
    "a long option": {"template_options": {"a": "x" * 10_000}},
    "too many options": {"template_options": {f"a{number}": 1 for number in range(101)}},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_no_prompt_has_is_refused_in_one_sentence(name):
    with pytest.raises(TraceFileError, match=r"(parts are inconsistent|more than 50,000 lists).*\.$") as refused:
        Trace.from_bytes(changed(**HOSTILE[name]))
    assert len(str(refused.value)) < 500


def test_the_messages_of_an_upload_are_limited(tmp_path):
    turns = (*MESSAGES[1:3] * 500, MESSAGES[3])
    trace = conversation_trace(messages=turns)
    with pytest.raises(TraceFileError, match="1,001 messages, and at most 1,000 are accepted"):
        Trace.from_bytes(trace.to_bytes())
    trace.save(tmp_path / "file")
    assert Trace.load(tmp_path / "file").messages == turns
    assert len(Trace.from_bytes(conversation_trace(messages=turns[1:]).to_bytes()).messages) == 1000


@pytest.fixture(scope="module")
def lm():
    model, tokenizer = chat_model(CHATML)
    return wrap(model, tokenizer, name="tiny", kind="instruct")


def test_every_way_to_an_answer_takes_messages(lm):
    given = [{"role": message.role, "content": message.content} for message in MESSAGES]
    options = {"template_options": {"enable_thinking": False}}
    most = {**options, "max_new_tokens": 2}
    traces = [lm.generate(given, **most), lm.read(given, "ab", **options), *lm.sample(given, k=2, **most)]
    traces += [*lm.generate_batch([given, given], **most), *lm.read_batch([(given, "ab")], **options)]
    for trace in traces:
        assert (trace.messages, trace.prompt, trace.prompt_form) == (MESSAGES, "Who?", "messages")
        assert (trace.chat_applied, trace.template_options) == (True, options["template_options"])
        assert tuple(trace.prompt_ids) == lm.encode(given, **options).ids
    assert lm.check(given).exact
    assert rauq.Message is Message


def test_a_templated_text_is_known_in_the_trace(lm):
    twice, once = lm.generate(CHATML.plain, max_new_tokens=3), lm.generate("Hi", max_new_tokens=3)
    assert (twice.prompt_form, twice.chat_applied, twice.prompt) == ("templated", False, CHATML.plain)
    assert twice.prompt_ids.tolist() == once.prompt_ids.tolist()
    assert twice.answer_ids.tolist() == once.answer_ids.tolist()
    assert (once.prompt_form, once.chat_applied) == ("text", True)


def test_a_batch_goes_on_past_a_conversation_that_cannot_be_used(lm):
    bad = [{"role": "human", "content": "3"}]
    first, second, third = lm.generate_batch(["Hi", bad, [{"role": "user", "content": "Hi"}]], max_new_tokens=2)
    assert "role 'human'" in str(second.error)
    assert first.answer_ids.tolist() == third.answer_ids.tolist()
