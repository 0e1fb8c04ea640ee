// Draws two answers on one grid. Their text comes from models, so it is only set as textContent.

import { on } from "../../../shared/js/events.js";
import { latest } from "../../../shared/js/latest.js";
import { cellAt, drawColumn, drawHeads, LANES, withFolds } from "./columns.js";
import { drawBranch, drawLegend, drawTexts, showCell } from "./details.js";
import { columnOf, firstStop, makeReachable, neighbour } from "./moves.js";

export default latest(drawStrips);

function drawStrips({ data, parentElement, setTriggerValue }) {
  const root = (name) => parentElement.querySelector(`.${name}`);
  const tip = root("tip");
  const focused = (parentElement.activeElement ?? document.activeElement)?.dataset?.place;
  tip.hidePopover();
  data.sides.forEach((side, lane) => parentElement.querySelectorAll(".headline, .grid, .branch, .texts").forEach(
    (node) => node.style.setProperty(`--${LANES[lane]}`, side.colour),
  ));

  const buttons = new Map(); // "lane-column" to its button
  const select = (token) => {
    data.selected = data.selected === token ? null : token; // at once; Python receives it, for the URL and the curves
    markSelected(buttons, data);
    drawBranch(root("branch"), data, setTriggerValue);
    setTriggerValue("select", { token: data.selected }); // the current state, since two clicks may arrive as one
  };
  const columns = data.columns.map((tokens, column) => drawColumn(tokens, column, data, buttons));
  for (const [place, button] of buttons) {
    on(button, "mouseenter focus", () => {
      if (tip.dataset.silent !== place) showCell(tip, button, cellAt(data, place));
    });
    on(button, "mouseleave blur", () => { delete tip.dataset.silent; tip.hidePopover(); });
    on(button, "keydown", (event) => {
      if (event.key === "Escape") tip.hidePopover();
      const target = neighbour(event.key, place, data, columns);
      if (target === null) return;
      event.preventDefault();
      makeReachable(buttons, target);
      buttons.get(target).focus();
    });
    if (!button.classList.contains("still")) {
      on(button, "click", () => {
        tip.dataset.silent = place; // the tip would cover the alternatives that the click opens
        tip.hidePopover();
        select(data.columns[columnOf(place)][0]);
      });
    }
  }
  markSelected(buttons, data);
  root("headline").textContent = data.headline;
  const grid = root("grid");
  grid.dir = data.direction;
  grid.replaceChildren(drawHeads(data), ...withFolds(columns, data, grid));
  grid.setAttribute("aria-busy", String(data.live));
  grid.classList.toggle("long", data.long);
  makeReachable(buttons, buttons.has(focused) ? focused : firstStop(data, buttons));
  reveal(grid, columns, data);
  if (buttons.has(focused)) buttons.get(focused).focus({ preventScroll: true });
  drawLegend(root("legend"), data.legend);
  drawBranch(root("branch"), data, setTriggerValue);
  drawTexts(root("texts"), data);
}

function markSelected(buttons, { columns, selected }) {
  for (const [place, button] of buttons) {
    const token = columns[columnOf(place)][0];
    button.setAttribute("aria-pressed", String(token !== null && token === selected));
  }
}

// Long answers scroll: show the selected token, the first difference or the newest token.
function reveal(grid, columns, data) {
  const wanted = data.selected === null ? data.first_difference : data.columns.findIndex(([token]) => token === data.selected);
  const target = columns[data.live ? columns.length - 1 : wanted];
  const what = JSON.stringify([data.live ? columns.length : data.headline, wanted]);
  if (!data.long || !target || grid.dataset.revealed === what) return;
  grid.dataset.revealed = what;
  grid.scrollTop = target.offsetTop - grid.clientHeight / 2;
}
