// The columns of the grid: a token of each answer, and the runs of thinking that are folded.

import { make } from "../../../shared/js/dom.js";
import { on } from "../../../shared/js/events.js";
import { explain } from "../../../shared/js/words.js";

export const LANES = ["a", "b"];

export function cellAt(data, place) {
  const [lane, column] = place.split("-").map(Number);
  return data.sides[lane].cells[data.columns[column][lane]];
}

function inLane(lane, ...children) {
  const node = make("div", `lane ${LANES[lane]}`);
  node.style.setProperty("--side", `var(--${LANES[lane]})`);
  node.append(...children);
  return node;
}

export function drawHeads({ sides, words }) {
  const heads = make("div", "heads");
  heads.append(...sides.map((side, lane) => {
    const score = make("span", "score", side.uncertainty);
    const what = make("span", "what");
    explain(what, "uncertainty", words);
    score.append(what);
    return inLane(lane, make("span", "name", side.name), score);
  }));
  return heads;
}

export function drawColumn(tokens, column, data, buttons) {
  const node = make("div", column === data.first_difference ? "column first-difference" : "column");
  node.append(...tokens.map((token, lane) => {
    if (token === null) return inLane(lane, make("span", "gap", "–"));
    const button = drawCell(data.sides[lane], token, tokens[0] === null);
    button.dataset.place = `${lane}-${column}`;
    button.disabled = data.live;
    buttons.set(button.dataset.place, button);
    return inLane(lane, button);
  }));
  return node;
}

// A column between invisible marks, by which the browser places it in its line as it would place the token's text.
function inOrder(column, index, { columns, sides }) {
  const [a, b] = columns[index];
  const { order } = a === null ? sides[1].cells[b] : sides[0].cells[a];
  const place = make("span", "");
  place.append(order, column, order);
  return place;
}

// Runs of columns that hold only thinking are one control until it is opened; the page keeps which are open.
export function withFolds(columns, data, grid) {
  const nodes = columns.map((column, index) => inOrder(column, index, data));
  for (const [first, end] of [...data.folds].reverse()) {
    const key = JSON.stringify([first, end]);
    const button = make("button", "fold", `thinking, ${end - first} token${end - first === 1 ? "" : "s"}`);
    button.type = "button";
    const paint = (open) => {
      grid.dataset[`open${first}`] = open ? key : "";
      button.setAttribute("aria-expanded", String(open));
      for (const column of columns.slice(first, end)) column.hidden = !open;
    };
    on(button, "click", () => paint(button.getAttribute("aria-expanded") !== "true"));
    const selected = data.selected === null ? -1 : data.columns.findIndex(([token]) => token === data.selected);
    paint(grid.dataset[`open${first}`] === key || (selected >= first && selected < end));
    nodes.splice(first, 0, button);
  }
  return nodes;
}

function drawCell(side, token, still) {
  const cell = side.cells[token];
  const button = make("button", `cell${cell.collapse ? " collapse" : ""}${cell.wrong ? " wrong" : ""}${still ? " still" : ""}`);
  button.type = "button";
  button.setAttribute("aria-label", `${side.name}, ${cell.spoken}`);
  const text = make("span", "text");
  text.style.setProperty("--level", cell.level);
  text.dir = cell.direction;
  text.append(...cell.parts.map(([part, mark]) => make("span", mark ? "mark" : "", part)));
  button.append(text, make("span", "number", `${cell.collapse ? "▲ " : ""}${cell.number}${cell.wrong ? " ✗" : ""}`));
  return button;
}
