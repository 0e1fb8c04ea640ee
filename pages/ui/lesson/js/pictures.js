// Shared by every picture. Text from models is only set as textContent.

import { shown } from "../../shared/js/numbers.js";

export const WIDTH = 1184; // of a picture, in its own units: pixels where the window has 1280

export function shape(tag, attributes, text) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

// A picture with a sentence for screen readers.
export function picture(height, sentence, ...shapes) {
  const svg = shape("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": sentence, class: "picture" });
  svg.append(...shapes.flat());
  return svg;
}

export function words(x, y, text, kind = "", anchor = "start") {
  return shape("text", { x, y, class: kind, "text-anchor": anchor }, text);
}

export const number = (value, places = 2) => shown(value, places);

// A column for each token, as wide as its text needs: the widths, and the middle of each.
export function columns(tokens, left = 0, right = WIDTH) {
  const letters = tokens.map((token) => Math.max([...token].length, 5) + 2);
  const letter = (right - left) / letters.reduce((sum, count) => sum + count);
  const before = (index) => letters.slice(0, index).reduce((sum, count) => sum + count, 0);
  return { widths: letters.map((count) => count * letter), at: (index) => left + letter * (before(index) + letters[index] / 2) };
}

// A row of tokens; invented ones have a warm, dashed frame.
export function tokenRow(tokens, grid, y, { invented = [], kind = "token", height = 48 } = {}) {
  return tokens.flatMap((token, index) => {
    const width = grid.widths[index] - 8;
    const state = invented.includes(index) ? "box invented" : "box";
    return [
      shape("rect", { x: grid.at(index) - width / 2, y, width, height, rx: 9, class: state }),
      words(grid.at(index), y + height / 2, token, kind, "middle"),
    ];
  });
}
