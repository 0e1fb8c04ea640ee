"""`rauq serve --app`: what a client gets is an address of the picture, and the tab From clients lists the answers."""

import re
import signal
import subprocess
import sys

import httpx
import openai
import pytest
from playwright.sync_api import expect

from benchmarks.support.browser import wait_until_idle
from benchmarks.support.server import PATIENCE

PROMPT = "Q: What is the capital of <b>Japan</b>?\nA:"


@pytest.fixture(scope="module")
def served():
    """The address of both, in one process."""
    command = [sys.executable, "-m", "rauq", "serve", "--app", "--model", "atlas", "--port", "0", "--alpha", "0.7"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        line = next(line for line in server.stderr if line.startswith("Serving"))
        yield line.split()[-1].removesuffix("/v1")
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=PATIENCE)
        assert server.returncode == 0


def ask(served, prompt):
    with openai.OpenAI(base_url=f"{served}/v1", api_key="none", max_retries=0) as client:
        options = {"model": "atlas", "prompt": prompt, "max_tokens": 8, "stop": "\n"}
        return client.completions.create(**options, extra_body={"rauq": True}).choices[0]


def test_answers_are_listed_as_they_come_and_open_in_inspect(page, served):
    page.goto(f"{served}/runs")
    page.get_by_role("radio", name="From clients").click()
    expect(page.get_by_text("No client has asked yet")).to_be_visible()
    expect(page.get_by_test_id("stCode")).to_contain_text(f"{served}/v1")
    choice = ask(served, PROMPT)
    rows = page.locator("[class*=st-key-client-]")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("What is the capital of <b>Japan</b>?")
    expect(rows).to_contain_text(choice.text.strip())
    expect(rows).to_contain_text(f"{choice.rauq['uncertainty']:.2f}".replace("-", "−"))
    ask(served, "Q: Who wrote Faust?\nA:")
    newer = page.locator(".st-key-newer_answers button")
    expect(newer).to_have_text("Show 1 newer answer")
    expect(rows).to_have_count(1)
    newer.click()
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("Faust")
    page.get_by_role("radio", name="Most uncertain first").click()
    wait_until_idle(page)
    numbers = [float(row.inner_text().split()[0].replace("−", "-")) for row in rows.all()]
    assert numbers == sorted(numbers, reverse=True)
    page.get_by_role("radio", name="Latest first").click()
    wait_until_idle(page)
    rows.last.get_by_role("link", name="Inspect").click()
    expect(page).to_have_url(re.compile(r"inspect\?.*kept=.*alpha=0.7|inspect\?.*alpha=0.7.*kept="))
    expect(page.locator(".st-key-request_bar textarea")).to_have_value(PROMPT)


def test_the_address_opens_the_answer_with_the_settings_of_the_server(page, served):
    choice = ask(served, PROMPT)
    assert "Japan" not in choice.rauq["url"]
    page.goto(choice.rauq["url"])
    expect(page.locator(".st-key-request_bar textarea")).to_have_value(PROMPT)
    wait_until_idle(page)
    expect(page.locator(".st-key-scoring button").first).to_contain_text("alpha")
    word = page.locator(".views").get_by_text(choice.text.strip().split()[0]).first
    expect(word).to_be_visible()


def test_a_client_that_leaves_out_v1_is_told_the_addresses(served):
    answers = httpx.post(f"{served}/chat/completions", json={}), httpx.get(f"{served}/v1")
    for answer in answers:
        assert answer.status_code == 404
        assert "/v1/chat/completions" in answer.json()["error"]["message"]


def test_an_app_without_an_endpoint_has_no_such_tab(page, server):
    page.goto(f"{server}/runs?view=clients")
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    wait_until_idle(page)
    expect(page.get_by_role("radio", name="From clients")).to_have_count(0)
