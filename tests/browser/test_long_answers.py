"""A long answer of Inspect: its text, its table of sentences, its tokens on demand, and the keys for these."""

import re
from dataclasses import replace

import numpy as np
import pytest
from playwright.sync_api import expect

import rauq
from pages.ui.inspect.linked_views.sentences import READS, sentence_ranks
from rauq.labels import number
from tests.browser.inspecting import open_trace, rested
from tests.traces import trace_of_text

SENTENCES = (
    "Oslo is the capital of Norway, and <b>its</b> oldest city.",
    "It has ![a](http://evil.example/b.png) museums.\n\n",
    "- Lima is in Peru.\n",
    "- Bergen lies in the west, between seven mountains.\n",
    "The ferry leaves at noon! ",
    "Nobody knows why.",
)
TEXT = " ".join(SENTENCES).replace("\n ", "\n")
OUTLINED = "(node) => getComputedStyle(node).outlineStyle !== 'none' && node.matches(':focus')"
WIDTHS = "(all) => all.map((one) => [getComputedStyle(one).borderBottomWidth, getComputedStyle(one).borderBottomColor])"
PIXELS = """(canvas) => [...canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data].join()"""


def long_trace():
    trace = trace_of_text(TEXT * 3)
    return replace(trace, logprobs=np.log(np.random.default_rng(3).uniform(0.02, 1, len(trace.pieces))))


TRACE = long_trace()
FOUND = rauq.sentence_scores(TRACE, rauq.score(TRACE))
RANKS = sentence_ranks(FOUND)


@pytest.fixture(scope="module")
def long_answer(shared_page, server, tmp_path_factory):
    open_trace(shared_page, server, TRACE, tmp_path_factory.mktemp("long"))
    return shared_page


@pytest.fixture
def opened(long_answer):
    """The page by sentences, none selected, sorted by rank; a test leaves it so."""
    yield long_answer
    if long_answer.locator(".whole").is_visible():
        long_answer.locator(".whole").click()
    long_answer.get_by_role("button", name="Sentences", exact=True).click()
    if long_answer.locator("th").first.get_attribute("aria-sort") != "ascending":
        long_answer.get_by_role("columnheader", name="rank").get_by_role("button").click()
    long_answer.mouse.move(2, 2)
    expect(long_answer.locator(".sentence.open")).to_have_count(0)
    rested(long_answer)


def sentence(page, place):
    return page.locator(f".sentence[data-sentence='{place}']")


def row(page, place):
    return page.locator(f"tr[data-place='{place}']")


def expect_sentence(page, place, token=None):
    """The sentence alone is open, its row selected, and a token of it, its weakest unless another is named."""
    first, stop = FOUND[place].tokens
    expect(page.locator(".sentence.open")).to_have_attribute("data-sentence", str(place))
    expect(page.locator(".token[role=button]")).to_have_count(stop - first)
    expect(page.locator("tr[aria-selected=true][data-place]")).to_have_attribute("data-place", str(place))
    selected = str(FOUND[place].weakest_token if token is None else token)
    expect(page.locator(".token[aria-pressed=true]")).to_have_attribute("data-index", selected)
    expect(page).to_have_url(re.compile(f"token={selected}$"))


def test_the_answer_reads_as_text_underlined_by_rank_beside_its_table(opened):
    assert len(TRACE.pieces) >= READS
    expect(opened.locator(".sentence")).to_have_count(len(FOUND))
    expect(opened.locator(".strip [role=button]")).to_have_count(len(FOUND))
    lines = opened.locator(".strip").inner_text()
    assert lines.count("<b>its</b>") == lines.count("![a](http://evil.example/b.png)") == 3
    drawn = opened.locator(".sentence").evaluate_all(WIDTHS)
    lines_of = dict(zip(RANKS, drawn, strict=True))
    thickest, thinnest = lines_of[1], lines_of[len(FOUND)]
    assert float(thickest[0][:-2]) > float(thinnest[0][:-2]) > 0
    assert thickest[1] != thinnest[1]
    cells = opened.locator("tr[data-place] td").all_inner_texts()
    order = sorted(range(len(FOUND)), key=RANKS.__getitem__)
    assert cells[::4] == [str(rank) for rank in sorted(RANKS)]
    assert cells[3::4] == [number(FOUND[place].uncertainty, places=2) for place in order]
    expect(opened.locator("th").nth(3)).to_have_text("uncertainty, nats")


def test_a_click_on_a_sentence_shows_its_tokens_and_every_view_follows(opened):
    before = opened.locator("canvas.tracks").evaluate(PIXELS)
    place = RANKS.index(1)
    sentence(opened, place).click()
    expect_sentence(opened, place)
    assert opened.locator("canvas.tracks").evaluate(PIXELS) != before
    first, stop = FOUND[place].tokens
    shown = re.search(r"tokens (\d+) to (\d+)", opened.locator("canvas.overview").get_attribute("aria-label"))
    assert int(shown[1]) <= first < stop <= int(shown[2]) + 1
    other = stop - 1 if stop - 1 != FOUND[place].weakest_token else stop - 2
    opened.locator(f".token[data-index='{other}']").hover()
    expect(opened.locator(".tip .subtitle")).to_contain_text(f"token {other}")
    opened.locator(f".token[data-index='{other}']").click()
    expect_sentence(opened, place, other)
    closed = sentence(opened, (place + 1) % len(FOUND)).locator(".token").first
    closed.hover()
    expect(opened.locator(".tip")).to_be_hidden()
    opened.get_by_role("button", name="Whole answer").click()
    expect(opened.locator(".sentence.open")).to_have_count(0)


def test_a_row_selects_its_sentence_and_nothing_else_moves(opened):
    top = opened.locator("canvas.tracks").bounding_box()
    for place in (RANKS.index(3), RANKS.index(len(FOUND))):
        row(opened, place).click()
        expect_sentence(opened, place)
        assert opened.locator(f".token[data-index='{FOUND[place].weakest_token}']").is_visible()
    assert opened.locator("canvas.tracks").bounding_box() == top
    expect(row(opened, place)).to_be_in_viewport()


def test_columns_sort_the_table(opened):
    places = lambda: [int(one.get_attribute("data-place")) for one in opened.locator("tr[data-place]").all()]  # noqa: E731
    opened.get_by_role("columnheader", name="sentence").get_by_role("button").click()
    assert places() == list(range(len(FOUND)))
    expect(opened.get_by_role("columnheader", name="sentence")).to_have_attribute("aria-sort", "ascending")
    opened.keyboard.press("Enter")  # the head of the column has the focus
    assert places() == list(range(len(FOUND)))[::-1]
    opened.get_by_role("columnheader", name="uncertainty").get_by_role("button").click()
    assert [RANKS[place] for place in places()] == sorted(RANKS, reverse=True)


def test_keys_lead_through_sentences_tokens_and_rows(opened):
    expect(opened.locator(".strip [tabindex='0']")).to_have_count(1)
    start = 5
    sentence(opened, start).focus()
    opened.keyboard.press("Enter")
    expect_sentence(opened, start)
    expect(opened.locator(".token:focus")).to_have_count(1)
    opened.keyboard.press("ArrowUp")
    expect_sentence(opened, start - 1)
    opened.keyboard.press("ArrowDown")
    opened.keyboard.press("ArrowDown")
    expect_sentence(opened, start + 1)
    last = FOUND[start + 1].tokens[1] - 1
    for _ in range(FOUND[start + 1].weakest_token, last + 1):
        opened.keyboard.press("ArrowRight")
    expect_sentence(opened, start + 2, last + 1)
    expect(opened.locator(".token:focus")).to_have_attribute("data-index", str(last + 1))
    opened.keyboard.press("ArrowLeft")
    expect_sentence(opened, start + 1, last)
    opened.keyboard.press("Escape")
    opened.keyboard.press("Escape")
    expect(opened.locator(".sentence.open")).to_have_count(0)
    expect(opened.locator(".sentence:focus")).to_have_count(1)

    opened.locator("tr[tabindex='0']").focus()
    opened.keyboard.press("ArrowDown")
    expect_sentence(opened, RANKS.index(2))
    opened.keyboard.press("End")
    expect_sentence(opened, RANKS.index(len(FOUND)))
    expect(opened.locator("tr:focus")).to_be_in_viewport()
    assert opened.locator("tr:focus").evaluate(OUTLINED)


def test_all_tokens_are_shown_where_they_are_asked_for(opened):
    opened.get_by_role("button", name="All tokens").focus()
    opened.keyboard.press("Enter")
    expect(opened.locator(".token[role=button]")).to_have_count(len(TRACE.pieces))
    assert opened.locator(".word.underlined").count() > 5
    opened.locator(".token[data-index='7']").click()
    expect(opened.locator(".token[aria-pressed=true]")).to_have_attribute("data-index", "7")
    row(opened, 2).click()
    expect(opened.locator(".token[aria-pressed=true]")).to_have_attribute("data-index", str(FOUND[2].weakest_token))
    expect(opened.locator(".token[role=button]")).to_have_count(len(TRACE.pieces))
