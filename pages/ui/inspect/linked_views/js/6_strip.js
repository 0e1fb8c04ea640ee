// The answer as a row of tokens: coloured, numbered, reachable by mouse and by arrow keys.

const COLOURINGS = {
  collapse: {
    name: "Collapse, log r − log c, in nats", level: (value) => 1 - Math.exp(-Math.max(value, 0)), places: 2,
    swatches: [0, 0.25, 0.75, 1.5, 3],
  },
  contribution: { name: "Contribution to the score", level: (value, most) => Math.max(value, 0) / most, places: 3, swatches: null },
  entropy: { name: "Entropy, in nats", level: (value) => 1 - Math.exp(-Math.max(value, 0)), places: 2, swatches: [0, 0.25, 0.75, 1.5, 3] },
  probability: { name: "Probability", level: (value) => 1 - value, places: 2, swatches: [1, 0.75, 0.5, 0.25, 0] },
};

function colouring(data, view) {
  const kind = COLOURINGS[view.colouring];
  const values = data[view.colouring];
  const most = Math.max(1e-9, largest(values));
  const level = (value) => (Number.isNaN(value) ? 0 : clamp(kind.level(value, most), 0, 1));
  const swatches = kind.swatches ?? [0, 0.25, 0.5, 1].map((share) => share * most);
  return { ...kind, values, level, swatches };
}

// While an answer is generated, the buttons that are there are kept, so that their colour changes smoothly.
function drawStrip(strip, data, act, kept) {
  const added = data.tokens.slice(kept.length).map((token, place) => {
    const index = kept.length + place;
    const button = tokenButton(token, index);
    button.disabled = data.live;
    button.onmouseenter = button.onfocus = () => act.hover(index, button);
    button.onmouseleave = button.onblur = () => act.leave();
    button.onclick = () => act.toggle(index);
    return button;
  });
  const nodes = added.map((button, place) => (data.tokens[kept.length + place].endsLine ? [button, make("span", "line")] : [button]));
  if (data.thinking) nodes.splice(data.thinking[0], 0, [foldButton(data, act)]);
  if (!kept.length) strip.replaceChildren();
  strip.append(...nodes.flat());
  strip.setAttribute("aria-busy", String(data.live));
  strip.classList.toggle("long", data.long);
  return [...kept, ...added];
}

// The thinking part of an answer is folded into one control until it is opened.
function foldButton(data, act) {
  const [start, stop] = data.thinking;
  const button = make("button", "fold", `thinking, ${stop - start} token${stop - start === 1 ? "" : "s"}`);
  button.type = "button";
  button.onclick = () => act.fold();
  return button;
}

function isHidden(data, view, index) {
  return Boolean(data.thinking) && view.folded && index >= data.thinking[0] && index < data.thinking[1];
}

// Hide the folded tokens and their line breaks.
function paintFold(strip, buttons, data, view) {
  const fold = strip.querySelector(".fold");
  if (!fold) return;
  fold.setAttribute("aria-expanded", String(!view.folded));
  buttons.forEach((button, index) => {
    const hidden = isHidden(data, view, index);
    button.hidden = hidden;
    if (button.nextSibling?.className === "line") button.nextSibling.hidden = hidden;
  });
}

function tokenButton(token, index) {
  const button = make("button", "token");
  button.type = "button";
  button.dataset.index = index;
  const text = make("span", "text");
  text.append(...token.parts.map(([part, mark]) => make("span", mark ? "mark-part" : "", part)));
  button.append(text, make("span", "number"));
  return button;
}

// The token that the tab key leads to, and that keys start from.
function firstStop(buttons, data, view) {
  return view.token ?? data.collapseAt ?? buttons.findIndex((_, index) => !isHidden(data, view, index));
}

// Updates what depends on selection, colouring and marks; the buttons themselves are kept.
function paintStrip(buttons, data, view) {
  const { values, level, places } = colouring(data, view);
  const stop = firstStop(buttons, data, view);
  buttons.forEach((button, index) => {
    const collapse = index === data.collapseAt;
    const wrong = view.wrong.includes(index);
    const number = shown(values[index], places);
    button.classList.toggle("collapse", collapse);
    button.classList.toggle("wrong", wrong);
    button.tabIndex = index === stop ? 0 : -1;
    button.setAttribute("aria-pressed", String(index === view.token));
    button.firstChild.style.setProperty("--level", level(values[index]));
    button.lastChild.textContent = `${collapse ? "▲ " : ""}${number}${wrong ? " ✗" : ""}`;
    const said = [`token ${index}: ${data.tokens[index].label}`, `probability ${shown(data.probability[index], 2)}`, `${view.colouring} ${number}`];
    if (collapse) said.push("largest collapse");
    if (wrong) said.push("marked as incorrect");
    button.setAttribute("aria-label", said.join(", "));
  });
}

function drawLegend(legend, data, view, act) {
  if (!data.arrays) return legend.replaceChildren();
  const { name, level, swatches, places } = colouring(data, view);
  const choice = make("select");
  choice.setAttribute("aria-label", "Colour of the tokens");
  for (const [key, { name: text }] of Object.entries(COLOURINGS)) {
    const option = make("option", "", text);
    option.value = key;
    option.selected = key === view.colouring;
    choice.append(option);
  }
  choice.disabled = data.live;
  choice.onchange = () => act.colour(choice.value);
  const drawn = swatches.map((value) => {
    const swatch = make("span", "swatch", shown(value, places).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, ""));
    swatch.style.setProperty("--level", level(value));
    return swatch;
  });
  const undefinedHere = view.colouring in data.reasons ? [make("span", "key", `undefined: ${data.reasons[view.colouring]}`)] : [];
  legend.replaceChildren(choice, ...drawn, ...undefinedHere, ...data.key.map((text) => make("span", "key", text)));
  legend.title = name;
}

// A long answer scrolls: show its largest collapse, or the last token while it is being generated.
function reveal(strip, button) {
  if (!strip.classList.contains("long") || !button) return;
  const above = button.offsetTop < strip.scrollTop;
  const below = button.offsetTop + button.offsetHeight > strip.scrollTop + strip.clientHeight;
  if (above || below) strip.scrollTop = button.offsetTop - strip.clientHeight / 2;
}
