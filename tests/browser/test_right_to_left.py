# ruff: noqa: RUF001 - letters of other scripts are the point
"""Texts that run from right to left, alone and mixed, read in every view as where they were typed."""

import math
from pathlib import Path

import pytest
from playwright.sync_api import expect

import rauq
from analysis.exports.html_report import html_report
from benchmarks.support.browser import open_drawer
from tests.browser.comparing import settled
from tests.browser.inspecting import answered, rested
from tests.traces import trace_of_text

CHARACTERS = Path(__file__).with_name("reading.js").read_text(encoding="utf-8")
TEXTS = {
    "Arabic": "عاصمة مصر هي القاهرة، وعدد سكانها نحو 10 ملايين (2024)، أي 9.5% منهم.",
    "Arabic with vowels and its own digits": "كَتَبَ الطَّالِبُ ٣٥٪ مِنَ الدَّرْسِ ـــ لا إله؟",
    "Hebrew": "בירת ישראל היא ירושלים, ובה כ-980,000 תושבים (50% מהם...).",
    "Hebrew with vowels": "בְּרֵאשִׁית בָּרָא אֱלֹהִים",
    "Yiddish": "דער הויפּטשטאָט פֿון פֿראַנקרײַך איז פּאַריז.",
    "Persian with joiners": "می‌خواهم کتاب‌ها را [بخوانم] نمی‌دانم؟",
    "Urdu": "پاکستان کا دارالحکومت اسلام آباد ہے۔",
    "Pashto": "د افغانستان پلازمېنه کابل ده.",
    "Syriac": "ܫܠܡܐ ܥܠܟܘܢ 12",
    "Thaana": "ދިވެހިރާއްޖޭގެ މާލެ 7%",
    "mixed": "نموذج GPT-4 حقق 95.5% في (MMLU) من OpenAI! 😀 نعم",
    "Latin first": "Python 3.12 لغة برمجة (مفتوحة المصدر) since 1991!",
    "an address": "اكتب إلى user@example.org أو https://example.org/a?b=1 اليوم",
    "emoji of several": "شكرا 👨‍👩‍👧 لكم 👍🏽 و❤️ جدا",
    "a mark of direction": "מחיר: 5$\u200f (C++\u200e)!",
    "Latin": "The 3 words are (read) from left to right: 50%, 😀.",
}


@pytest.fixture
def opened(page, server, tmp_path):
    """Opens a trace on Inspect."""

    def show(trace):
        file = tmp_path / "answer.safetensors"
        file.write_bytes(trace.to_bytes())
        page.goto(f"{server}/?example=unknown-place")
        rested(page)
        open_drawer(page, "more")
        page.get_by_text("Open a saved trace").click()
        page.locator("input[type=file]").set_input_files(file)
        expect(answered(page, "made-up")).to_be_visible()
        page.keyboard.press("Escape")
        rested(page)

    return show


def in_lines(characters):
    """Characters as they stand on the screen, line by line, each from left to right."""
    lines, top = [], -math.inf
    for character, middle, its_top in sorted(characters, key=lambda one: one[2]):
        if its_top > top + 12:
            lines.append([])
            top = its_top
        lines[-1].append((middle, character))
    return ["".join(one for _, one in sorted(line, key=lambda one: one[0])) for line in lines]


def typed(page, text):
    """A text as the browser itself draws it where it is typed, each paragraph on one line."""
    return page.evaluate(
        f"""(text) => {{
          const node = document.body.appendChild(document.createElement("pre"));
          node.style = "position: fixed; inset: 0; font: 20px/3 sans-serif";
          node.dir = "auto";
          node.textContent = text;
          const found = ({CHARACTERS})(node);
          node.remove();
          return found;
        }}""",
        text,
    )


def test_every_script_reads_on_inspect_as_where_it_was_typed(page, opened):
    opened(trace_of_text("\n".join(TEXTS.values())))
    lines = in_lines(page.locator(".strip").evaluate(CHARACTERS))
    expected = in_lines(typed(page, "\n".join(TEXTS.values())))
    assert dict(zip(TEXTS, lines, strict=True)) == dict(zip(TEXTS, expected, strict=True))


MIXED = "نموذج OpenAI GPT-4 turbo حقق 95.5% في (MMLU) العربية والعبرية"
BOXES = "(all) => all.map((one) => one.getBoundingClientRect()).map((box) => Math.round(box.left + box.width / 2))"


def from_left(middles):
    return sorted(range(len(middles)), key=middles.__getitem__)


def test_keys_tracks_comparison_and_report_follow_the_text(page, opened):
    trace = trace_of_text(MIXED, sizes=(6, 7, 8))
    opened(trace)
    tokens = page.locator(".token")
    middles = tokens.evaluate_all(BOXES)
    order = from_left(middles)
    assert order != sorted(order)
    assert order != sorted(order, reverse=True)

    tokens.nth(order[-1]).focus()
    for token in reversed(order[:-1]):
        page.keyboard.press("ArrowLeft")
        expect(page.locator(".token:focus")).to_have_attribute("data-index", str(token))
    page.keyboard.press("ArrowRight")
    expect(tokens.nth(order[1])).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Enter")
    expect(page.locator(".token[aria-pressed=true]")).to_have_count(0)

    tracks = page.locator("canvas.tracks")
    tracks.click(position={"x": tracks.bounding_box()["width"] - 12, "y": 60})
    expect(page.locator(".token[aria-pressed=true]")).to_have_attribute("data-index", "0")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".token[aria-pressed=true]")).to_have_attribute("data-index", "1")

    page.locator(".st-key-links").get_by_role("link", name="Compare").click()
    expect(page.locator(".lane.b .cell").first).to_be_visible()
    settled(page)
    assert from_left(page.locator(".lane.a .cell").evaluate_all(BOXES)) == order
    page.locator(".lane.a .cell").nth(order[-1]).focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".lane.a .cell").nth(order[-2])).to_be_focused()

    page.set_content(html_report(trace, rauq.score(trace)))
    assert from_left(page.locator(".strip .box").evaluate_all(BOXES)) == order
