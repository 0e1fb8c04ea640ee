// The box that explains what the pointer or the focus is on.

import { make } from "./dom.js";

const GAP = 8; // pixels: to what it explains, and to the window's edge

// Names with their values, one pair in a line.
export function factRows(facts) {
  return facts.map(([name, value]) => {
    const row = make("div", "row");
    row.append(make("span", "", name), make("span", "", value));
    return row;
  });
}

// Below the anchor, or above it where there is no room.
export function showTip(tip, children, anchor) {
  tip.replaceChildren(...children);
  tip.showPopover();
  const below = anchor.bottom + GAP;
  const top = below + tip.offsetHeight < window.innerHeight ? below : anchor.top - tip.offsetHeight - GAP;
  tip.style.left = `${Math.max(GAP, Math.min(anchor.left, window.innerWidth - tip.offsetWidth - GAP))}px`;
  tip.style.top = `${Math.max(GAP, top)}px`;
}
