// Draws the tokens of one answer. Their text comes from a model: it is only ever set as textContent.

export default function ({ data, parentElement, setTriggerValue }) {
  const strip = parentElement.querySelector(".strip");
  const tip = parentElement.querySelector(".tip");
  const focused = parentElement.activeElement?.dataset?.index ?? document.activeElement?.dataset?.index;
  tip.hidePopover();

  const buttons = data.tokens.map((token, index) => {
    const button = drawToken(token, index, data);
    button.onmouseenter = button.onfocus = () => showTip(tip, button, token);
    button.onmouseleave = button.onblur = () => tip.hidePopover();
    button.onclick = () => {
      buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button && !isPressed(other))));
      tip.hidePopover(); // it would cover the maps that the click is about
      setTriggerValue("select", index);
    };
    button.onkeydown = (event) => {
      if (event.key === "Escape") tip.hidePopover();
      const target = neighbour(event.key, index, buttons.length);
      if (target === null) return;
      event.preventDefault();
      buttons.forEach((other, i) => { other.tabIndex = i === target ? 0 : -1; });
      buttons[target].focus();
    };
    return button;
  });

  const current = Number(focused ?? data.selected ?? data.collapse ?? 0);
  buttons.forEach((button, index) => { button.tabIndex = index === Math.min(current, buttons.length - 1) ? 0 : -1; });
  strip.replaceChildren(...buttons.flatMap((button, index) => (data.tokens[index].ends_line ? [button, lineBreak()] : [button])));
  strip.setAttribute("aria-busy", String(data.live));
  strip.classList.toggle("long", data.long);
  reveal(strip, buttons, data);
  if (focused !== undefined) buttons[focused]?.focus({ preventScroll: true });
  for (const name of ["source", "headline", "detail"]) parentElement.querySelector(`.${name}`).textContent = data[name];
  drawLegend(parentElement.querySelector(".legend"), data);
}

const isPressed = (button) => button.getAttribute("aria-pressed") === "true";

function neighbour(key, index, count) {
  const targets = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: count - 1 };
  return key in targets ? Math.max(0, Math.min(count - 1, targets[key])) : null;
}

function make(tag, className, text) {
  const node = document.createElement(tag);
  node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function lineBreak() {
  return make("span", "line");
}

function drawToken(token, index, data) {
  const button = make("button", index === data.collapse ? "token collapse" : "token");
  button.type = "button";
  button.disabled = data.live;
  button.dataset.index = index;
  button.setAttribute("aria-label", token.spoken);
  button.setAttribute("aria-pressed", String(index === data.selected));
  const text = make("span", "text");
  text.style.setProperty("--level", token.level);
  text.append(...token.parts.map(([part, mark]) => make("span", mark ? "mark" : "", part)));
  button.append(text, make("span", "number", index === data.collapse ? `▲ ${token.number}` : token.number));
  return button;
}

function showTip(tip, button, token) {
  if (!token.facts.length) return;
  const rows = token.facts.map(([name, value]) => {
    const row = make("div", "row");
    row.append(make("span", "", name), make("span", "", value));
    return row;
  });
  const alternatives = token.alternatives.map(([text, share, value, chosen]) => {
    const row = make("div", chosen ? "alternative chosen" : "alternative");
    const track = make("span", "track");
    const bar = make("div", "bar");
    bar.style.setProperty("--share", share);
    track.append(bar);
    row.append(make("span", "text", chosen ? `${text} ✓` : text), track, make("span", "value", value));
    return row;
  });
  tip.replaceChildren(
    make("div", "title", token.title), make("div", "subtitle", token.subtitle), ...rows,
    make("div", "heading", "Most probable here"), ...alternatives,
  );
  tip.showPopover();
  place(tip, button.getBoundingClientRect());
}

function place(tip, anchor) {
  const gap = 8;
  const left = Math.min(anchor.left, window.innerWidth - tip.offsetWidth - gap);
  const below = anchor.bottom + gap;
  const fits = below + tip.offsetHeight < window.innerHeight;
  tip.style.left = `${Math.max(gap, left)}px`;
  tip.style.top = `${fits ? below : Math.max(gap, anchor.top - tip.offsetHeight - gap)}px`;
}

function drawLegend(legend, data) {
  if (data.live) return legend.replaceChildren();
  const swatches = data.legend.swatches.map(([level, text]) => {
    const swatch = make("span", "swatch", text);
    swatch.style.setProperty("--level", level);
    return swatch;
  });
  legend.replaceChildren(
    make("span", "", data.legend.name), ...swatches, ...data.legend.key.map((text) => make("span", "", text)),
  );
}

// A long answer scrolls: bring its weak spot, or the last token of one that is growing, into sight once.
function reveal(strip, buttons, data) {
  const target = buttons[data.live ? buttons.length - 1 : data.selected ?? data.collapse];
  if (!data.long || !target || strip.dataset.revealed === data.source) return;
  strip.scrollTop = target.offsetTop - strip.offsetTop - strip.clientHeight / 2;
  if (!data.live) strip.dataset.revealed = data.source;
}
