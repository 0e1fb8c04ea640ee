"""Lists of messages: valid ones become messages, and anything else is refused with a sentence."""

import json
from copy import deepcopy

import pytest

from rauq.errors import InvalidInput
from rauq.model.context import encode_prompt
from rauq.model.tokens import Tokens
from rauq.trace.messages import Message, conversation_text, is_conversation, messages_of, packed, unpacked
from tests.chat_templates import CHATML, chat_tokenizer

SYSTEM, USER = {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}
ASSISTANT = {"role": "assistant", "content": "Hello"}
NESTED = json.loads(100 * "[" + "3" + 100 * "]")
TOKENS = Tokens(chat_tokenizer(CHATML))


def prompt_of(given):
    return encode_prompt(TOKENS, given, chat=None, instruct=True, vocab_size=len(TOKENS.tokenizer))


@pytest.mark.parametrize("given", [[USER], (SYSTEM, USER), [USER, ASSISTANT, USER], [Message(**SYSTEM), USER]], ids=str)
def test_messages_keep_their_order_and_text(given):
    found = messages_of(given)
    assert all(isinstance(part, Message) for part in found)
    assert messages_of(found) == found
    assert [part.content for part in found] == [getattr(part, "content", None) or part["content"] for part in given]


def test_a_conversation_reads_as_text():
    text = conversation_text(messages_of([SYSTEM, USER]))
    assert text == "system:\nBe brief.\n\nuser:\nHi"


TALK = messages_of(
    [
        {"type": "message", "role": "developer", "content": "Be brief."},
        {"role": "user", "content": ["One.", {"type": "text", "text": "Two?"}]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"name": "f"}}], "refusal": None},
        {"role": "tool", "content": "3", "tool_call_id": "1"},
    ]
)


def test_a_message_is_the_same_as_a_dictionary_and_packed():
    assert messages_of([message.as_dict() for message in TALK]) == TALK
    assert tuple(unpacked(json.loads(json.dumps(packed(message)))) for message in TALK) == TALK
    assert packed(TALK[0]) == ["developer", "Be brief."]
    assert (TALK[1].content, TALK[1].parts, TALK[2].content) == ("One.\nTwo?", ("One.", "Two?"), "")
    assert TALK[2].fields == {"tool_calls": [{"id": "1", "function": {"name": "f"}}]}
    assert TALK[2].text == 'tool_calls: [{"id": "1", "function": {"name": "f"}}]'
    assert len({*TALK, *TALK}) == 4
    assert deepcopy(TALK) == TALK


def test_parts_of_a_message_are_its_content():
    with pytest.raises(InvalidInput, match="parts of a message of role user are not its content"):
        Message(role="user", content="Hi", parts=("Hi", "there"))


@pytest.mark.parametrize("fields", [{"role": "system"}, {"content": "Bye"}, {"role": None}, {"content": ""}], ids=str)
def test_no_field_takes_the_place_of_the_role_or_the_content(fields):
    with pytest.raises(InvalidInput, match=f"Give the {next(iter(fields))} beside the fields"):
        Message(role="user", content="Hi", fields=fields)


def test_only_a_list_with_a_message_is_a_conversation():
    for given in ([USER], (USER,), [5, USER], [Message(**USER)], [{}]):
        assert is_conversation(given)
    for given in ("Hi", [], [5, 6], range(3), USER, None, [["user", "Hi"]]):
        assert not is_conversation(given)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([], "The prompt is empty"),
        ((), "The prompt is empty"),
        (USER, "Got dict .*list of messages"),
        ([["user", "Hi"]], "Got list .*list of messages"),
        ([USER, "Hi"], r"Message 1 \(counted from 0\) is str"),
        ([5, USER], r"Message 0 \(counted from 0\) is int"),
        ([{}], r"Message 0 .*the keys \[\]; give a dictionary with 'role' and 'content'"),
        ([{"role": "user"}], "Message 0 .*'role'"),
        ([{**USER, "name": "Ann"}], "does not use the field name of message 0"),
        ([{**USER, "name": float("nan")}], "Message 0 .*fields are not JSON data"),
        ([{**USER, "name": object()}], "Message 0 .*fields are not JSON data"),
        ([{**USER, "name": "x" * 2**20}], "longer than 1,048,576 bytes"),
        ([{**USER, "name": NESTED}], "nested more than 100 deep"),
        ([{**USER, "name": "\ud800"}], "fields are not JSON data"),
        ([{"role": "User", "content": "Hi"}], "role 'User'; give one of system, developer, user, assistant, tool"),
        ([{"role": "human", "content": "Hi"}], "role 'human'; give one of"),
        ([{"role": None, "content": "Hi"}], "role None"),
        ([{"role": ["user"], "content": "Hi"}], r"role \['user'\]"),
        ([{"role": "x" * 10_000, "content": "Hi"}], "role 'xxx"),
        ([{"role": "user", "content": ""}], "an empty message of role user"),
        ([{"role": "user", "content": " \n"}], "an empty message of role user"),
        ([USER, {"role": "assistant", "content": ""}, USER], r"Message 1 .*an empty message of role assistant"),
        ([{"role": "user", "content": None}], "content is NoneType; give one text, or a list of text parts"),
        ([USER, {"role": "assistant", "content": None, "tool_calls": []}, USER], "content is NoneType"),
        ([{"role": "user", "content": 5}], "content is int"),
        ([{"role": "user", "content": b"Hi"}], "content is bytes"),
        ([{"role": "user", "content": []}], "an empty message of role user"),
        ([{"role": "user", "content": [{"type": "text", "text": " "}]}], "an empty message of role user"),
        ([{"role": "user", "content": [{"type": "text", "text": 5}]}], "a part of type 'text'; only parts of text"),
        (
            [{"role": "user", "content": ["Hi", {"type": "image_url", "image_url": {"url": "x"}}]}],
            "part of type 'image_url'; only parts of text are read.*shown no image, sound or file: leave that part out",
        ),
        ([{"role": "user", "content": [{"type": "input_audio"}]}], "part of type 'input_audio'"),
        ([{"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm"}]}, USER], "part of type 'thinking'"),
        ([{"role": "user", "content": [3]}], "part of type 'int'"),
        ([{"role": "user", "content": {"text": "Hi"}}], "content is dict"),
        ([{"role": "user", "content": "\ud800"}], "not valid Unicode"),
        ([USER, SYSTEM, USER], "Only the first message may have the role system"),
        ([SYSTEM, SYSTEM, USER], "Only the first message may have the role system"),
        ([SYSTEM], "last message must be from the user or a tool; got system"),
        ([USER, ASSISTANT], r"or a tool; got assistant\. Leave out the messages after it\.$"),
    ],
    ids=lambda value: repr(value)[:60],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(given, says):
    with pytest.raises(InvalidInput, match=says) as refused:
        prompt_of(given)
    assert len(str(refused.value)) < 400
