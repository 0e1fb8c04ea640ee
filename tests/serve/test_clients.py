"""Clients that people use get text and numbers: openai, langchain-openai, and curl as the documents have it."""

import asyncio
import json
import shutil
import subprocess

import openai
import pytest
from langchain_openai import ChatOpenAI

from tests.event_loops import run_apart
from tests.serve.conftest import CHAT, MESSAGES, NAME

OPTIONS = {"model": NAME, "messages": MESSAGES, "max_tokens": 12}


@pytest.fixture
def client(server):
    with openai.OpenAI(base_url=server.base, api_key="none", max_retries=0) as found:
        yield found


@pytest.fixture
def expected(server):
    return server.post(CHAT | {"logprobs": True}).json()["choices"][0]


def collapses(content):
    return [round(one["rauq"]["collapse"] if isinstance(one, dict) else one.rauq["collapse"], 4) for one in content]


def test_openai(client, expected):
    found = client.chat.completions.create(**OPTIONS, logprobs=True)
    (choice,) = found.choices
    assert choice.message.content == expected["message"]["content"]
    assert choice.message.rauq["weakest"] == found.usage.rauq["weakest"] == expected["message"]["rauq"]["weakest"]
    assert collapses(choice.logprobs.content) == collapses(expected["logprobs"]["content"])
    asked = client.chat.completions.create(**OPTIONS, extra_body={"rauq": True})
    assert asked.choices[0].message.rauq["layer"] == expected["message"]["rauq"]["layer"]
    assert [model.id for model in client.models.list()] == [NAME]


def test_openai_sends_an_answer_back(client):
    first = client.chat.completions.create(**OPTIONS, extra_body={"rauq": True}).choices[0].message
    messages = [*MESSAGES, first, *MESSAGES]
    assert client.chat.completions.create(**OPTIONS | {"messages": messages, "max_tokens": 2}).choices


def test_openai_streams(client, expected):
    with client.chat.completions.stream(**OPTIONS, logprobs=True, stream_options={"include_usage": True}) as stream:
        for _ in stream:
            pass
        found = stream.current_completion_snapshot
    (choice,) = found.choices
    assert choice.message.content == expected["message"]["content"]
    assert choice.message.rauq["weakest"]["token"] == expected["message"]["rauq"]["weakest"]["token"]
    assert found.usage.rauq["heads"] == expected["message"]["rauq"]["heads"]
    assert len(choice.logprobs.content) == len(expected["logprobs"]["content"])
    assert all("confidence" in one.rauq for one in choice.logprobs.content)


def test_openai_completes(client):
    (choice,) = client.completions.create(model=NAME, prompt="Where?", max_tokens=6, logprobs=1).choices
    assert len(choice.logprobs.rauq["collapse"]) == len(choice.logprobs.tokens) == 6
    parts = client.completions.create(model=NAME, prompt="Where?", max_tokens=6, stream=True)
    assert "".join(part.choices[0].text for part in parts) == choice.text


def test_openai_asks_several_at_once(server):
    async def ask():
        async with openai.AsyncOpenAI(base_url=server.base, api_key="none") as client:
            return await asyncio.gather(*(client.chat.completions.create(**OPTIONS, seed=seed) for seed in range(5)))

    found = run_apart(ask())
    assert len({one.choices[0].message.content for one in found}) == 1


def test_openai_names_its_errors(client):
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(**OPTIONS, tools=[{"type": "function", "function": {"name": "f"}}])
    assert refused.value.param == "tools"
    with pytest.raises(openai.NotFoundError) as refused:
        client.chat.completions.create(**OPTIONS | {"model": "gpt-4"})
    assert refused.value.code == "model_not_found"


@pytest.fixture
def chat(server):
    return ChatOpenAI(model=NAME, base_url=server.base, api_key="none", max_tokens=12, logprobs=True)


def test_langchain(chat, expected):
    message = chat.invoke("Where is it?")
    assert message.content == expected["message"]["content"]
    assert collapses(message.response_metadata["logprobs"]["content"]) == collapses(expected["logprobs"]["content"])
    assert message.response_metadata["token_usage"]["rauq"]["weakest"] == expected["message"]["rauq"]["weakest"]


def test_langchain_streams(chat, expected):
    first, *others = chat.stream("Where is it?", stream_usage=True)
    message = sum(others, first)
    assert message.content == expected["message"]["content"]
    content = message.response_metadata["logprobs"]["content"]
    assert [one["token"] for one in content] == [one["token"] for one in expected["logprobs"]["content"]]
    assert all("collapse" in one["rauq"] for one in content)
    assert message.usage_metadata["output_tokens"] == 12


def test_curl(server, expected):
    command = [shutil.which("curl"), "-sS", f"{server.base}/chat/completions", "-H", "Content-Type: application/json"]
    body = json.dumps(CHAT | {"logprobs": True})
    said = subprocess.run([*command, "-d", body], check=True, capture_output=True, text=True).stdout
    assert json.loads(said)["choices"][0]["message"]["content"] == expected["message"]["content"]
