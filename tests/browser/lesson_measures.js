// What the tests of the lesson measure in the page: whether it fits the window, how large and how clear its letters are.

const lesson = [...document.querySelectorAll("*")].map((e) => e.shadowRoot?.querySelector(".lesson")).find(Boolean);
const stage = lesson.querySelector(".stage");
const seen = (e) => e.textContent.trim() && !e.matches(".spoken") && getComputedStyle(e).visibility !== "hidden";
const size = (e) => parseFloat(getComputedStyle(e).fontSize) * (e.getScreenCTM ? e.getScreenCTM().a : 1);

function outside(e) {
  const { left, right, top, bottom } = e.getBoundingClientRect();
  return left < 0 || top < 0 || right > innerWidth || bottom > innerHeight;
}

// Labels of a picture that lie on each other; letters are lower than the box of their line.
function overlaps() {
  const boxes = [...stage.querySelectorAll("text")].filter(seen).map((e) => [e.textContent, e.getBoundingClientRect()]);
  const meet = ([, a], [, b]) => {
    const [wide, high] = [Math.min(a.right, b.right) - Math.max(a.left, b.left), Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)];
    return wide > 1 && high > 0.25 * Math.min(a.height, b.height);
  };
  return boxes.flatMap((one, i) => boxes.slice(i + 1).filter((other) => meet(one, other)).map((other) => [one[0], other[0]]));
}

// Tokens wider than their boxes.
function spilled() {
  const tokens = [...stage.querySelectorAll("text.token")];
  return tokens.filter((e) => e.getBoundingClientRect().width > e.previousSibling.getBoundingClientRect().width).map((e) => e.textContent);
}

function fit() {
  const main = document.querySelector("[data-testid=stMain]");
  const bar = lesson.querySelector(".bar").getBoundingClientRect();
  const letters = [...stage.querySelectorAll("text, p, button, td, .prompt")];
  return {
    scrolls: main.scrollHeight - main.clientHeight,
    outside: [...lesson.querySelectorAll("text, p, button, th, td, span, h1")].filter(seen).filter(outside).map((e) => e.textContent),
    under: letters.filter((e) => e.getBoundingClientRect().bottom > bar.top + 2).map((e) => e.textContent),
    overlaps: overlaps(),
    spilled: spilled(),
    smallest: Math.min(...letters.map(size)),
    text: size(lesson.querySelector(".text")),
  };
}

// The contrast (WCAG 2) of every text with what is painted behind it.
function contrasts() {
  const found = {};
  for (const e of lesson.querySelectorAll("text, p, button, span, h1, .prompt")) {
    if (!seen(e) || e.matches(":disabled")) continue;
    const style = getComputedStyle(e);
    const pair = [e instanceof SVGElement ? style.fill : style.color, behind(e)].map(luminance).sort((a, b) => b - a);
    found[e.textContent] = (pair[0] + 0.05) / (pair[1] + 0.05);
  }
  return found;
}

function behind(element) {
  for (let e = element; e; e = e.parentElement) {
    const colour = getComputedStyle(e).backgroundColor;
    if (pixel(colour)[3] === 255) return colour;
  }
  return getComputedStyle(document.querySelector("[data-testid=stApp]")).backgroundColor;
}

function pixel(colour) {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d");
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
}

function luminance(colour) {
  const [r, g, b] = pixel(colour).slice(0, 3).map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
