// Words of the field in a text, each with its explanation on hover, on focus and on tap.

import { on } from "./events.js";

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

// Puts a text into a node in place of what it has; each word of the list is marked where it first stands.
export function explain(node, text, list) {
  if (node.dataset.explained === text) return;
  node.dataset.explained = text;
  if (!list?.length) return void (node.textContent = text); // an answer that is still being generated
  const known = new Map(list.map(([name, explanation]) => [name.toLowerCase(), explanation]));
  const names = [...known.keys()].sort((one, other) => other.length - one.length);
  const any = new RegExp(`(?<![\\p{L}\\p{N}])((?:${names.map(escaped).join("|")})s?)(?![\\p{L}\\p{N}])`, "giu");
  const seen = new Set();
  node.replaceChildren(...text.split(any).map((part, place) => {
    const name = place % 2 ? [part.toLowerCase(), part.toLowerCase().replace(/s$/, "")].find((one) => known.has(one)) : undefined;
    if (name === undefined || seen.has(name)) return document.createTextNode(part);
    seen.add(name);
    return term(part, known.get(name));
  }));
}

function term(text, explanation) {
  const node = document.createElement("span");
  node.className = "term";
  node.tabIndex = 0;
  node.textContent = text;
  node.dataset.explanation = explanation;
  node.setAttribute("aria-description", explanation);
  on(node, "mouseenter focus", () => {
    const { left, top } = node.getBoundingClientRect();
    node.classList.toggle("from-right", left > window.innerWidth / 2);
    node.classList.toggle("above", top > window.innerHeight / 2);
  });
  on(node, "keydown", (event) => {
    if (event.key === "Escape") node.blur();
  });
  return node;
}
