"""The words that a page shows before anybody scrolls: `python -m benchmarks.support.first_screen` prints their number.

Counted is what can be read in the window: texts, names of buttons, and what is chosen in a field. Left out are the
navigation, the question, the answer with its tokens, and the labels of axes, to which the scales of colours belong. A
table drawn on a canvas has no words.
"""

from collections.abc import Sequence

from playwright.sync_api import Page

from benchmarks.support.browser import chromium, fresh_page, wait_until_idle
from benchmarks.support.server import serving

PAGES = ("inspect", "compare", "answer_sets", "methods", "runs", "evidence")
_LEFT_OUT = (
    *("[data-testid=stHeader]", ".st-key-help", "textarea", "script", "style", "[data-testid=stIconMaterial]"),
    *(".strip", ".cell", ".chip"),
    *(".ends", ".scale", ".swatch", ".cbaxis"),
    *(f"[class{match}]" for axis in "xy" for match in (f"^={axis}][class$=tick", f"^=g-{axis}][class$=title")),
)
_WORDS = r"""(leftOut) => {
  const isWord = (text) => /[\p{L}\p{N}]/u.test(text);
  // The part of a box that is in the window, and not cut off by what is around it.
  const isSeen = ({ left, right, top, bottom }, node) => {
    let seen = [Math.max(left, 0), Math.min(right, innerWidth), Math.max(top, 0), Math.min(bottom, innerHeight)];
    for (let around = node; around !== document.body; around = around.parentElement ?? around.getRootNode().host) {
      if (getComputedStyle(around).overflow === "visible") continue;
      const frame = around.getBoundingClientRect();
      const [x, right, y, bottom] = seen;
      seen = [
        ...[Math.max(x, frame.left), Math.min(right, frame.right)],
        ...[Math.max(y, frame.top), Math.min(bottom, frame.bottom)],
      ];
    }
    const [width, height] = [seen[1] - seen[0], seen[3] - seen[2]];
    return width > 2 && height > 2 && node.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  };
  const found = [];
  const ofText = (node) => {
    for (const { 0: word, index } of node.data.matchAll(/\S+/g)) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const around = node.parentElement ?? node.getRootNode().host;
      if (isWord(word) && isSeen(range.getBoundingClientRect(), around)) found.push(word);
    }
  };
  const ofField = (field) => {
    const hasText = !/^(file|checkbox|radio|range|hidden)$/.test(field.type);
    if (!hasText || !isSeen(field.getBoundingClientRect(), field)) return;
    const text = field.matches("select") ? field.selectedOptions[0]?.text : field.value || field.placeholder;
    found.push(...(text ?? "").split(/\s+/).filter(isWord));
  };
  const walk = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return ofText(node);
    if (node.nodeType === Node.ELEMENT_NODE && node.matches(leftOut)) return;
    if (node.nodeType === Node.ELEMENT_NODE && node.matches("input, select")) return ofField(node);
    if (node.shadowRoot) walk(node.shadowRoot);
    node.childNodes.forEach(walk);
  };
  walk(document.body);
  return found;
}"""


def words_of_first_screen(page: Page, *, without: Sequence[str] = ()) -> Sequence[str]:
    """Return the words in the window of a page, which has not been scrolled; those of more elements are left out."""
    found: list[str] = page.evaluate(_WORDS, ", ".join([*_LEFT_OUT, *without]))
    return found


if __name__ == "__main__":
    with serving() as address, chromium() as browser, fresh_page(browser) as page:
        for name in PAGES:
            page.goto(f"{address}/{name}")
            wait_until_idle(page)
            page.wait_for_timeout(3000)  # what is read after the first paint
            print(name, len(words := words_of_first_screen(page)), " ".join(words), sep="\t")
