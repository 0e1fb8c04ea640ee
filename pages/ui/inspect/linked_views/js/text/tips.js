// One token in full, and one cell in a line, in the box at the pointer.

import { make } from "../../../../shared/js/dom.js";
import { shown } from "../../../../shared/js/numbers.js";
import { factRows, showTip } from "../../../../shared/js/tip.js";
import { factsOf } from "../numbers/facts.js";
import { remarks } from "../numbers/tokens.js";

export function tokenTip(tip, data, view, token, anchor) {
  const notes = [`token ${token}`];
  if (data.tokens[token].bytes) notes.push(`bytes ${data.tokens[token].bytes}, a part of the character`);
  notes.push(...remarks(data, token));
  if (view.wrong.includes(token)) notes.push("marked as incorrect");
  const rows = factRows(factsOf(data, view, token));
  const heading = make("div", "heading", "Most probable tokens");
  const alternatives = data.tokens[token].alternatives.map(alternative);
  showTip(tip, [make("div", "title", data.tokens[token].label), make("div", "subtitle", notes.join(", ")), ...rows, heading, ...alternatives], anchor);
}

function alternative([text, share, chosen]) {
  const row = make("div", chosen ? "alternative chosen" : "alternative");
  const track = make("span");
  const bar = make("div", "bar");
  bar.style.setProperty("--share", share);
  track.append(bar);
  row.append(make("span", "text", chosen ? `${text} ✓` : text), track, make("span", "value", shown(share)));
  return row;
}

export function lineTip(tip, title, line, anchor) {
  showTip(tip, [make("div", "title", title), make("div", "subtitle", line)], anchor);
}
