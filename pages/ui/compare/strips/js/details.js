// What stands around the grid: the legend, the tokens to branch with, the texts, the box at a cell.

import { make } from "../../../shared/js/dom.js";
import { on } from "../../../shared/js/events.js";
import { factRows, showTip } from "../../../shared/js/tip.js";
import { LANES } from "./columns.js";

export function drawLegend(legend, { name, swatches, key }) {
  const boxes = swatches.map(([level, text]) => {
    const swatch = make("span", "swatch", text);
    swatch.style.setProperty("--level", level);
    return swatch;
  });
  legend.replaceChildren(make("span", "", name), ...boxes, ...key.map((text) => make("span", "", text)));
}

export function drawBranch(panel, { branches, selected, live }, setTriggerValue) {
  panel.style.setProperty("--side", "var(--b)");
  if (live) return panel.replaceChildren();
  if (selected === null) {
    const hint = "Click a token of A for alternatives.";
    return panel.replaceChildren(make("div", "hint", hint));
  }
  const choices = make("div", "choices");
  const { title, alternatives } = branches[selected];
  choices.append(...alternatives.map(([rank, text, share, value]) => {
    const button = make("button", "choice");
    button.type = "button";
    button.setAttribute("aria-label", `Branch to ${text}, probability ${value}`);
    const bar = make("span", "bar");
    bar.style.setProperty("--share", share);
    button.append(make("span", "text", text), make("span", "value", value), bar);
    on(button, "click", () => setTriggerValue("branch", [selected, rank]));
    return button;
  }));
  panel.replaceChildren(make("div", "title", title), choices);
}

// What is said of each answer, and of both, folded until somebody opens it.
export function drawTexts(panel, { sides, both }) {
  const about = make("details", "about");
  about.open = Boolean(panel.querySelector("details")?.open);
  about.append(make("summary", "", "About both answers"), ...sides.map(drawText), make("p", "both", both));
  panel.replaceChildren(about);
}

function drawText(side, lane) {
  const node = make("div", `side ${LANES[lane]}`);
  node.style.setProperty("--side", `var(--${LANES[lane]})`);
  node.append(make("p", "said", side.said), make("p", "source", side.source));
  return node;
}

export function showCell(tip, button, cell) {
  if (!cell.facts.length) return;
  showTip(tip, [make("div", "title", cell.title), ...factRows(cell.facts)], button.getBoundingClientRect());
}
