"""The real model in the browser: a typed question goes to it, and its false answer (John Grisham) is drawn."""

import pytest
from playwright.sync_api import expect

from benchmarks.support.server import serving
from rauq.checkpoints.store import PLACE_VARIABLE


@pytest.fixture
def server(store_with_smollm2, monkeypatch):
    monkeypatch.setenv(PLACE_VARIABLE, str(store_with_smollm2))
    with serving() as address:
        yield address


def test_a_question_to_smollm2_is_answered_and_drawn(page, server):
    page.goto(f"{server}/?model=smollm2&prompt=Who+is+the+author+of+The+Trial%3F&max_new_tokens=24")
    page.get_by_test_id("stSidebar").get_by_role("button", name="Generate").click()
    expect(page.locator(".token", has_text="John")).to_be_visible()
    expect(page.locator(".token.collapse")).to_have_count(1)
    expect(page.locator(".source", has_text="smollm2")).to_be_visible()
