// Draws two answers on one grid. Their text comes from models, so it is only set as textContent.

const LANES = ["a", "b"];

export default function ({ data, parentElement, setTriggerValue }) {
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
      if (tip.dataset.silent !== place) showTip(tip, button, cellAt(data, place));
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
  root("texts").replaceChildren(...data.sides.map(drawText));
}

const columnOf = (place) => Number(place.split("-")[1]);

function cellAt(data, place) {
  const [lane, column] = place.split("-").map(Number);
  return data.sides[lane].cells[data.columns[column][lane]];
}

function make(tag, className, text) {
  const node = document.createElement(tag);
  node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function inLane(lane, ...children) {
  const node = make("div", `lane ${LANES[lane]}`);
  node.style.setProperty("--side", `var(--${LANES[lane]})`);
  node.append(...children);
  return node;
}

function drawHeads({ sides, words }) {
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

function drawColumn(tokens, column, data, buttons) {
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
function withFolds(columns, data, grid) {
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

function markSelected(buttons, { columns, selected }) {
  for (const [place, button] of buttons) {
    const token = columns[columnOf(place)][0];
    button.setAttribute("aria-pressed", String(token !== null && token === selected));
  }
}

// Left and right go along an answer as it stands on the screen, across its gaps; up and down switch between A and B.
function neighbour(key, place, { columns, direction }, drawn) {
  const [lane, column] = place.split("-").map(Number);
  const own = columns.flatMap((tokens, index) => (tokens[lane] === null || drawn[index].hidden ? [] : [index]));
  const seen = inLines(own, drawn, direction === "rtl");
  const at = seen.indexOf(column);
  const [left, right] = direction === "rtl" ? [1, -1] : [-1, 1];
  const along = { ArrowRight: seen[at + right], ArrowLeft: seen[at + left], Home: own[0], End: own.at(-1) };
  if (key in along) return along[key] === undefined ? null : `${lane}-${along[key]}`;
  const other = { ArrowDown: 1, ArrowUp: 0 }[key];
  return other === undefined || other === lane || columns[column][other] === null ? null : `${other}-${column}`;
}

// Columns line by line, each line from where it begins.
function inLines(columns, drawn, fromRight) {
  const box = (column) => [drawn[column].offsetTop, drawn[column].offsetLeft * (fromRight ? -1 : 1)];
  const boxes = new Map(columns.map((column) => [column, box(column)]));
  return [...columns].sort((one, other) => boxes.get(one)[0] - boxes.get(other)[0] || boxes.get(one)[1] - boxes.get(other)[1]);
}

function makeReachable(buttons, target) {
  for (const [place, button] of buttons) button.tabIndex = place === target ? 0 : -1;
}

// The tab key leads to the selected token, else to A's largest collapse.
function firstStop(data, buttons) {
  const weak = data.columns.findIndex(([token]) => token !== null && data.sides[0].cells[token].collapse);
  const chosen = data.selected === null ? -1 : data.columns.findIndex(([token]) => token === data.selected);
  const seen = data.columns.findIndex((tokens, index) => tokens[0] !== null && !data.folds.some(([first, end]) => index >= first && index < end));
  const stop = `0-${chosen >= 0 ? chosen : weak >= 0 ? weak : Math.max(seen, 0)}`;
  return buttons.has(stop) ? stop : buttons.keys().next().value;
}

function showTip(tip, button, cell) {
  if (!cell.facts.length) return;
  const rows = cell.facts.map(([name, value]) => {
    const row = make("div", "row");
    row.append(make("span", "", name), make("span", "", value));
    return row;
  });
  tip.replaceChildren(make("div", "title", cell.title), ...rows);
  tip.showPopover();
  const gap = 8, anchor = button.getBoundingClientRect();
  const below = anchor.bottom + gap;
  const top = below + tip.offsetHeight < window.innerHeight ? below : anchor.top - tip.offsetHeight - gap;
  tip.style.left = `${Math.max(gap, Math.min(anchor.left, window.innerWidth - tip.offsetWidth - gap))}px`;
  tip.style.top = `${Math.max(gap, top)}px`;
}

function drawLegend(legend, { name, swatches, key }) {
  const boxes = swatches.map(([level, text]) => {
    const swatch = make("span", "swatch", text);
    swatch.style.setProperty("--level", level);
    return swatch;
  });
  legend.replaceChildren(make("span", "", name), ...boxes, ...key.map((text) => make("span", "", text)));
}

function drawBranch(panel, { branches, selected, live }, setTriggerValue) {
  panel.style.setProperty("--side", "var(--b)");
  if (live) return panel.replaceChildren();
  if (selected === null) {
    const hint = "Click a token of A to see alternatives and let the model continue from one of them.";
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

function drawText(side, lane) {
  const node = make("div", `side ${LANES[lane]}`);
  node.style.setProperty("--side", `var(--${LANES[lane]})`);
  node.append(make("p", "said", side.said), make("p", "source", side.source));
  return node;
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
