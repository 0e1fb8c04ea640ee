// Words of the field in a text, each with its explanation on hover, on focus and on tap.

import { on } from "./events.js";

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

// Puts a text into a node in place of what it has; each word of the list is marked where it first stands.
export function explain(node, text, list) {
  const said = `${list?.length ?? 0} ${text}`;
  if (node.dataset.explained === said) return;
  node.dataset.explained = said;
  if (!list?.length) return void (node.textContent = text); // an answer that is still being generated
  const known = new Map(list.map(([name, explanation]) => [name.toLowerCase(), explanation]));
  const names = [...known.keys()].sort((one, other) => other.length - one.length);
  const any = new RegExp(`(?<![\\p{L}\\p{N}])((?:${names.map(escaped).join("|")})s?)(?![\\p{L}\\p{N}])`, "giu");
  const seen = new Set();
  node.replaceChildren(...text.split(any).map((part, place) => {
    const name = place % 2 ? [part.toLowerCase(), part.toLowerCase().replace(/s$/, "")].find((one) => known.has(one)) : undefined;
    if (name === undefined || seen.has(name)) return document.createTextNode(part);
    seen.add(name);
    return term([part], known.get(name));
  }));
}

// What stands for a word of the list, as the head of a column does: marked, or as it is while there is no list.
export function explained(parts, name, list) {
  const found = list?.find(([one]) => one === name);
  return found ? [term(parts, found[1])] : parts;
}

function term(parts, explanation) {
  const node = document.createElement("span");
  node.className = "term";
  node.tabIndex = 0;
  node.append(...parts);
  node.setAttribute("aria-description", explanation);
  const tip = tipOf(node);
  on(node, "mouseenter focus", () => {
    tip.textContent = explanation;
    tip.showPopover();
    place(tip, node);
  });
  on(node, "mouseleave blur", () => {
    if (!node.matches(":hover, :focus")) tip.hidePopover();
  });
  on(node, "keydown", (event) => {
    if (event.key === "Escape") node.blur();
  });
  return node;
}

// In front of everything, so that no box with a scroll bar cuts it, and gone with its word.
function tipOf(node) {
  const tip = document.createElement("span");
  tip.popover = "manual";
  tip.part = "explanation";
  tip.style.inset = "auto"; // not in the style sheet, which comes before what `place` says
  tip.setAttribute("aria-hidden", "true"); // it is the description of the word
  node.attachShadow({ mode: "open" }).append(document.createElement("slot"), tip);
  return tip;
}

// Below its word, or above where there is more room, and inside the window.
function place(tip, node) {
  const gap = 5;
  const { left, top, bottom } = node.getBoundingClientRect();
  const [wide, tall] = [tip.offsetWidth, tip.offsetHeight];
  tip.style.left = `${Math.max(gap, Math.min(left, document.documentElement.clientWidth - wide - gap))}px`;
  tip.style.top = `${top > window.innerHeight / 2 ? top - tall - gap : bottom + gap}px`;
}
