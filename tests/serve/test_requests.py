"""Every field of a request is honoured, without effect, or refused by its name."""

import json

import pytest

from rauq.arguments import Sampling
from serve.refusals import Refusal
from serve.requests import NEUTRAL, WITHOUT_EFFECT, read_request

CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
TEXT = {"model": "m", "prompt": "Hi"}


def read(body, kind="chat"):
    return read_request(json.dumps(body).encode(), kind)


@pytest.mark.parametrize("kind", ["chat", "text"])
def test_fields_that_ask_for_nothing_change_nothing(kind):
    plain = CHAT if kind == "chat" else TEXT
    neutral = dict.fromkeys(WITHOUT_EFFECT, "anything") | dict(NEUTRAL)
    nothing = dict.fromkeys(["stop", "n", "temperature", "seed", "stream", "logprobs", "stream_options", "tools"])
    assert read(plain | neutral, kind) == read(plain | nothing, kind) == read(plain, kind)


ASKING = {
    "frequency_penalty": 0.5,
    "presence_penalty": -1,
    "logit_bias": {"5": 1},
    "tools": [{"type": "function"}],
    "tool_choice": "auto",
    "functions": [{}],
    "function_call": "auto",
    "response_format": {"type": "json_object"},
    "modalities": ["text", "audio"],
    "best_of": 2,
    "echo": True,
    "suffix": "end",
}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *ASKING.items(),
        ("top_k", 5),
        ("reasoning_effort", "low"),
        ("<script>", 1),
        ("max_tokens", -1),
        ("max_tokens", 0),
        ("max_tokens", "8"),
        ("max_tokens", 1.5),
        ("max_completion_tokens", True),
        ("temperature", float("nan")),
        ("temperature", float("inf")),
        ("temperature", 2.1),
        ("temperature", -0.1),
        ("top_p", 1.1),
        ("n", 0),
        ("n", 9),
        ("seed", -1),
        ("seed", 2**63),
        ("stop", ""),
        ("stop", ["a", ""]),
        ("stop", ["a"] * 17),
        ("stop", 3),
        ("logprobs", 2),
        ("top_logprobs", 11),
        ("top_logprobs", 1),
        ("stream", "yes"),
        ("stream_options", {"include_usage": True}),
        ("messages", []),
        ("messages", "Hi"),
        ("model", 3),
        ("rauq", "yes"),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_name(field, value):
    with pytest.raises(Refusal) as refused:
        read(CHAT | {field: value})
    assert (refused.value.status, refused.value.param) == (400, field)
    assert field in refused.value.message


def test_every_neutral_field_is_refused_with_another_value():
    assert set(ASKING) == set(NEUTRAL)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[1]", b'"text"', b"\xff", b"[" * 100_000, b'{"model": "\\ud800"}', b'{"a": 1} x']
)
def test_a_body_that_is_no_json_object_is_refused(body):
    with pytest.raises(Refusal) as refused:
        read_request(body, "chat")
    assert refused.value.status == 400


@pytest.mark.parametrize("field", ["model", "messages"])
def test_a_missing_field_is_named(field):
    with pytest.raises(Refusal) as refused:
        read({name: value for name, value in CHAT.items() if name != field})
    assert refused.value.param == field


def test_an_answer_of_this_server_can_be_sent_back():
    said = {"role": "assistant", "content": "Hello", "refusal": None, "tool_calls": None, "rauq": {"uncertainty": 1.0}}
    asked = read(CHAT | {"messages": [*CHAT["messages"], said, *CHAT["messages"]]})
    assert asked.prompts[0][1] == {"role": "assistant", "content": "Hello"}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, None),
        ({"temperature": 0}, None),
        ({"top_p": 0, "temperature": 1}, None),
        ({"temperature": 0.5}, (0.5, 1.0)),
        ({"top_p": 0.9}, (1.0, 0.9)),
        ({"n": 2}, (1.0, 1.0)),
        ({"n": 2, "temperature": 0}, None),
    ],
)
def test_an_answer_is_drawn_where_the_client_asks_for_it(fields, expected):
    wanted = None if expected is None else Sampling(temperature=expected[0], top_p=expected[1], top_k=0, seed=7)
    assert read(CHAT | fields).sampling(7) == wanted


def test_both_names_of_the_most_tokens_are_understood():
    assert read(CHAT | {"max_completion_tokens": 5}).most_tokens == 5
    assert read(CHAT | {"max_completion_tokens": 5, "max_tokens": 5}).most_tokens == 5
    assert (read(CHAT).most_tokens, read(TEXT, "text").most_tokens) == (None, 16)
    with pytest.raises(Refusal, match="differ: 4 and 5"):
        read(CHAT | {"max_completion_tokens": 5, "max_tokens": 4})


@pytest.mark.parametrize(
    ("prompt", "prompts"),
    [("Hi", ["Hi"]), ([1, 2], [[1, 2]]), (["a", "b"], ["a", "b"]), ([[1], [2, 3]], [[1], [2, 3]])],
)
def test_prompts_of_text_are_one_or_several(prompt, prompts):
    assert read(TEXT | {"prompt": prompt}, "text").prompts == prompts


@pytest.mark.parametrize("prompt", [[], [[]], [-1], ["a", 1], 5, ["a"] * 9])
def test_other_prompts_are_refused(prompt):
    with pytest.raises(Refusal) as refused:
        read(TEXT | {"prompt": prompt}, "text")
    assert refused.value.param == "prompt"


def test_answers_to_one_request_are_bounded():
    with pytest.raises(Refusal, match="at most 8 answers"):
        read(TEXT | {"prompt": ["a", "b", "c"], "n": 3}, "text")
