"""Lists of messages: valid ones become messages, and anything else is refused with a sentence."""

import pytest

from rauq.errors import InvalidInput
from rauq.model.context import encode_prompt
from rauq.model.tokens import Tokens
from rauq.trace.messages import Message, conversation_text, is_conversation, messages_of
from tests.chat_templates import CHATML, chat_tokenizer

SYSTEM, USER = {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}
ASSISTANT = {"role": "assistant", "content": "Hello"}
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
        ([{}], r"Message 0 .*the keys \[\]; give 'role' and 'content'"),
        ([{"role": "user"}], "Message 0 .*'role'"),
        ([{**USER, "name": "Ann"}], "Message 0 .*'name'.*and nothing else"),
        ([{"role": "tool", "content": "3"}], "Message 0 .*role 'tool'; give one of system, user, assistant"),
        ([{"role": "User", "content": "Hi"}], "role 'User'; give one of"),
        ([{"role": None, "content": "Hi"}], "role None"),
        ([{"role": ["user"], "content": "Hi"}], r"role \['user'\]"),
        ([{"role": "x" * 10_000, "content": "Hi"}], "role 'xxx"),
        ([{"role": "user", "content": ""}], "an empty message of role user"),
        ([{"role": "user", "content": " \n"}], "an empty message of role user"),
        ([USER, {"role": "assistant", "content": ""}, USER], r"Message 1 .*an empty message of role assistant"),
        ([{"role": "user", "content": None}], "content is NoneType; give one text"),
        ([{"role": "user", "content": 5}], "content is int"),
        ([{"role": "user", "content": b"Hi"}], "content is bytes"),
        ([{"role": "user", "content": [{"type": "text", "text": "Hi"}]}], "content is list.*parts must be joined"),
        ([{"role": "user", "content": {"text": "Hi"}}], "content is dict"),
        ([{"role": "user", "content": "\ud800"}], "not valid Unicode"),
        ([USER, SYSTEM, USER], "Only the first message may have the role system"),
        ([SYSTEM, SYSTEM, USER], "Only the first message may have the role system"),
        ([SYSTEM], "last message must be the user's.*got system"),
        ([USER, ASSISTANT], "last message must be the user's.*got assistant.*answer_prefix.*lm.read"),
    ],
    ids=lambda value: repr(value)[:60],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(given, says):
    with pytest.raises(InvalidInput, match=says) as refused:
        prompt_of(given)
    assert len(str(refused.value)) < 400
