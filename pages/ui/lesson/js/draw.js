// Shared by every picture. Text from models is only set as textContent.

const WIDTH = 1184; // of a picture, in its own units: pixels where the window has 1280

function make(tag, className, text) {
  const node = document.createElement(tag);
  node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function shape(tag, attributes, text) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

// A picture with a sentence for screen readers.
function picture(height, sentence, ...shapes) {
  const svg = shape("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": sentence, class: "picture" });
  svg.append(...shapes.flat());
  return svg;
}

function words(x, y, text, kind = "", anchor = "start") {
  return shape("text", { x, y, class: kind, "text-anchor": anchor }, text);
}

const number = (value, places = 2) => value.toFixed(places).replace("-", "−").replace(/^−(0\.?0*)$/, "$1");

// A column for each token, as wide as its text needs: the widths, and the middle of each.
function columns(tokens, left = 0, right = WIDTH) {
  const letters = tokens.map((token) => Math.max([...token].length, 5) + 2);
  const letter = (right - left) / letters.reduce((sum, count) => sum + count);
  const before = (index) => letters.slice(0, index).reduce((sum, count) => sum + count, 0);
  return { widths: letters.map((count) => count * letter), at: (index) => left + letter * (before(index) + letters[index] / 2) };
}

// A row of tokens; invented ones have a warm, dashed frame.
function tokenRow(tokens, grid, y, { invented = [], kind = "token", height = 48 } = {}) {
  return tokens.flatMap((token, index) => {
    const width = grid.widths[index] - 8;
    const state = invented.includes(index) ? "box invented" : "box";
    return [
      shape("rect", { x: grid.at(index) - width / 2, y, width, height, rx: 9, class: state }),
      words(grid.at(index), y + height / 2, token, kind, "middle"),
    ];
  });
}
