"""The document of a prompt on Inspect: tinted by what a token attended to, and the answer coloured by a passage."""

import re
from dataclasses import replace

import numpy as np
import pytest
from playwright.sync_api import expect

import rauq
from rauq.scoring.shown import shown_head
from tests.browser.inspecting import open_trace, rested
from tests.browser.typing import enter

SENTENCES = ("Kyoto is in Japan.", " Oslo, <b>a city</b>, is in Norway.", " حيفا مدينة.\n", "Lima is in Peru.")
DOCUMENT = "".join(SENTENCES)
PROMPT = f"<document>{DOCUMENT}</document> <question>In which country is Kyoto?</question>"
LEVELS = "(all) => all.map((one) => Number(one.style.getPropertyValue('--level')))"
TINTS = "(all) => all.map((one) => getComputedStyle(one).backgroundColor)"


def answered_by_atlas():
    """Under another name, by which the page is seen to have taken it."""
    starts = np.cumsum([len("<document>"), *map(len, SENTENCES)]).tolist()
    spans = [("document", start, start + len(text)) for start, text in zip(starts, SENTENCES, strict=False)]
    how = {"extras": ("part_shares",), "prompt_parts": spans, "max_new_tokens": 12, "last_row": True}
    return replace(rauq.load_model("atlas").generate(PROMPT, **how), model="documented")


@pytest.fixture(scope="module")
def trace():
    return answered_by_atlas()


@pytest.fixture(scope="module")
def shares(trace):
    """The shares of each passage (N, 4): of the head that gives the score, and means."""
    score = rauq.score(trace)
    found, shown = rauq.part_shares(trace, rauq.Settings(layers=score.layers), by_passage=True), shown_head(score)
    return {"head": found.of_head(shown.layer, shown.head)[:, 3:7], "mean": found.mean()[:, 3:7]}


@pytest.fixture(scope="module")
def documented(shared_page, server, trace, tmp_path_factory):
    open_trace(shared_page, server, trace, tmp_path_factory.mktemp("document"))
    expect(shared_page.locator(".passage[role=button]")).to_have_count(len(SENTENCES))
    rested(shared_page)
    return shared_page


@pytest.fixture
def opened(documented):
    """The page with no passage, no token and the head of the score; a test leaves it so."""
    yield documented
    if documented.locator(".passage[aria-pressed=true]").count():
        documented.locator(".passage[aria-pressed=true]").click()
    documented.locator("[data-heads=head]").click()
    if documented.locator(".whole").is_visible():
        documented.locator(".whole").click()
    documented.mouse.move(2, 2)
    rested(documented)


def token(page, index):
    return page.locator(f".token[data-index='{index}']")


def passage(page, place):
    return page.locator(f".passage[data-passage='{place}']")


def assert_levels(page, kind, shares):
    """The strength of a tint is the square root of the share, of the largest one; the stop token has none."""
    np.testing.assert_allclose(page.locator(kind).evaluate_all(LEVELS), np.sqrt(shares), atol=1e-4)


def test_passages_are_text_tinted_by_what_the_selected_token_attended_to(opened, shares):
    texts = opened.locator(".passage").all_text_contents()
    assert "".join(texts).split() == DOCUMENT.split()
    expect(opened.locator(".document b")).to_have_count(0)
    seen = []
    for index in (1, 4):
        token(opened, index).click()
        expect(opened.locator(".document-facts")).to_contain_text(f"document {shares['head'][index].sum():.3f},")
        assert_levels(opened, ".passage", shares["head"][index] / shares["head"].max())
        expect(passage(opened, 1)).to_have_attribute(
            "aria-description", f"passage 1, share {shares['head'][index, 1]:.3f}"
        )
        seen.append(opened.locator(".passage").evaluate_all(TINTS))
    assert seen[0] != seen[1]
    passage(opened, 2).hover()
    expect(opened.locator(".tip .subtitle")).to_contain_text(f"share {shares['head'][4, 2]:.4f} of the attention")


def test_the_mean_of_the_window_is_a_switch_away(opened, shares):
    token(opened, 3).click()
    opened.get_by_role("button", name="Mean of heads").click()
    expect(opened.locator(".document-facts")).to_contain_text(f"document {shares['mean'][3].sum():.3f},")
    assert_levels(opened, ".passage", shares["mean"][3] / shares["mean"].max())


def test_a_click_on_a_passage_colours_the_answer_by_it_and_another_one_goes_back(opened, shares):
    chosen = opened.get_by_label("Colour of the tokens")
    before = chosen.input_value()
    passage(opened, 1).click()
    expect(chosen).to_have_value("passage")
    along = shares["head"][:-1, 1]
    assert_levels(opened, ".token", [*along / along.max(), 0])
    expect(token(opened, 1)).to_have_attribute(
        "aria-label", re.compile(f"share of the passage {shares['head'][1, 1]:.3f}")
    )
    expect(opened).to_have_url(re.compile(r"passage=1(&|$)"))
    opened.reload()
    expect(passage(opened, 1)).to_have_attribute("aria-pressed", "true")
    expect(chosen).to_have_value("passage")
    assert_levels(opened, ".token", [*along / along.max(), 0])
    rested(opened)
    passage(opened, 1).click()
    expect(chosen).to_have_value(before)
    expect(chosen.locator("option")).to_have_count(5)
    expect(opened).not_to_have_url(re.compile("passage="))


def test_the_keys_lead_through_the_document(opened):
    passage(opened, 0).focus()
    opened.keyboard.press("ArrowDown")
    expect(passage(opened, 1)).to_be_focused()
    opened.keyboard.press("Enter")
    expect(passage(opened, 1)).to_have_attribute("aria-pressed", "true")
    opened.keyboard.press("ArrowRight")
    expect(opened.locator(".token.selected")).to_have_count(1)
    expect(passage(opened, 1)).to_be_focused()
    opened.keyboard.press("Escape")
    expect(opened.locator(".passage[aria-pressed=true]")).to_have_count(0)


def test_the_answer_can_be_coloured_by_its_share_of_the_document(opened, shares):
    chosen = opened.get_by_label("Colour of the tokens")
    before = chosen.input_value()
    chosen.select_option("document")
    expect(opened).to_have_url(re.compile("colour=document"))
    whole = shares["head"][:-1].sum(axis=1)
    expect(token(opened, 1)).to_have_attribute("aria-label", re.compile(f"share of the document {whole[1]:.3f}"))
    assert_levels(opened, ".token", [*whole / whole.max(), 0])
    chosen.select_option(before)


def test_a_generated_answer_has_its_document_beside_it(shared_page, server):
    page = shared_page
    page.goto(f"{server}/?example=unknown-place")
    rested(page)
    expect(page.locator(".document")).to_be_hidden()
    enter(page.get_by_label("Prompt"), PROMPT)
    page.get_by_role("button", name="Generate").click()
    expect(page.locator(".documented:not(.live) .passage[role=button]")).to_have_count(len(SENTENCES))
    rested(page)
