// What every picture is drawn with. Text of models is only ever set as textContent.

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

// A picture of one sentence: screen readers hear the sentence, eyes see the shapes.
function picture(height, sentence, ...shapes) {
  const svg = shape("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": sentence, class: "picture" });
  svg.append(...shapes.flat());
  return svg;
}

function words(x, y, text, kind = "", anchor = "start") {
  return shape("text", { x, y, class: kind, "text-anchor": anchor }, text);
}

const number = (value, places = 2) => value.toFixed(places).replace("-", "−").replace(/^−(0\.?0*)$/, "$1");

// The middle of each of `count` equal columns.
function columns(count, left = 0, right = WIDTH) {
  const width = (right - left) / count;
  return { width, at: (index) => left + width * (index + 0.5) };
}

// A row of tokens; those that were invented stand in a warm, dashed frame.
function tokenRow(tokens, grid, y, { invented = [], kind = "token", height = 48 } = {}) {
  return tokens.flatMap((token, index) => {
    const x = grid.at(index) - grid.width / 2 + 4;
    const state = invented.includes(index) ? "box invented" : "box";
    return [
      shape("rect", { x, y, width: grid.width - 8, height, rx: 9, class: state }),
      words(grid.at(index), y + height / 2, token, kind, "middle"),
    ];
  });
}
